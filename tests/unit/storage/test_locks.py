import threading
import time
from pathlib import Path

from unmask.storage import locks


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*"))


class TestBeingAlone:
    def test_means_that_others_wait_and_leaves_nothing_behind(self, tmp_path):
        inside, most = [], []

        def work() -> None:
            for _ in range(10):
                with locks.alone(tmp_path / "new" / "set"):
                    inside.append(1)
                    time.sleep(0.001)  # others have their turn
                    most.append(len(inside))
                    inside.pop()

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert most == [1] * 40
        assert hidden(tmp_path / "new") == []

    def test_with_one_target_does_not_wait_for_another(self, tmp_path):
        with locks.alone(tmp_path / "a"), locks.alone(tmp_path / "b"):
            assert hidden(tmp_path) == [".a.lock", ".b.lock"]

    def test_is_not_prevented_by_what_a_kill_left(self, tmp_path):
        (tmp_path / ".set.lock").touch()
        with locks.alone(tmp_path / "set"):
            pass
        assert hidden(tmp_path) == []
