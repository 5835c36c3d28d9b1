import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from unmask.errors import BundleError
from unmask.storage import files

OURS = ("a", "inner", "surplus")


class Crash(BaseException):
    """Stands for a kill: nothing in the code under test may catch it after the first rename."""


def fill(target: Path, text: str) -> None:
    with files.replace_folder(target, OURS) as partial:
        (partial / "a").write_text(text)
        (partial / "inner").mkdir()
        (partial / "inner" / "b").write_text(text)


def content(target: Path) -> str:
    """What a folder holds, which must be of one version."""
    texts = {(target / "a").read_text(), (target / "inner" / "b").read_text()}
    assert len(texts) == 1
    return texts.pop()


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".*"))


def half_fill(target: Path) -> None:
    with files.replace_folder(target, OURS) as partial:
        (partial / "a").write_text("half")
        files.settle(target)  # as a reader may at any time: the half must not be taken for a whole
        raise Crash


def half_grow(target: Path) -> None:
    with files.grow_folder(target) as partial:
        (partial / "a").write_text("half")
        raise Crash


@contextmanager
def crash_behind_rename(number: int) -> Iterator[None]:
    """Crash behind the first, second, … rename of the block."""
    done = []
    rename = Path.rename

    def crashing(self: Path, target: Path) -> Path:
        result = rename(self, target)
        done.append(target)
        if len(done) == number:
            raise Crash
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", crashing)
        with pytest.raises(Crash):
            yield


class TestAFile:
    def test_is_replaced_whole(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(b"old")
        files.write_bytes(path, b"new")
        assert path.read_bytes() == b"new"
        assert hidden(tmp_path) == []

    def test_stays_as_it_was_when_the_disk_is_full(self, tmp_path, monkeypatch):
        path = tmp_path / "x"
        path.write_bytes(b"old")
        monkeypatch.setattr(os, "fsync", raise_no_room)
        with pytest.raises(OSError, match="No space"):
            files.write_bytes(path, b"new")
        assert path.read_bytes() == b"old"
        assert hidden(tmp_path) == []

    def test_is_on_the_disk_before_its_name_is(self, tmp_path, monkeypatch):
        events = []
        fsync, replace = os.fsync, Path.replace
        monkeypatch.setattr(os, "fsync", lambda fd: (events.append("flush"), fsync(fd)))
        monkeypatch.setattr(Path, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
        files.write_bytes(tmp_path / "x", b"new")
        assert events == ["flush", "rename", "flush"]

    def test_written_by_two_threads_is_one_of_the_two(self, tmp_path):
        path = tmp_path / "x"
        versions = [bytes([letter]) * 100_000 for letter in b"ab"]
        writers = [
            threading.Thread(target=lambda v=version: [files.write_bytes(path, v) for _ in range(20)])
            for version in versions
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert path.read_bytes() in versions
        assert hidden(tmp_path) == []

    def test_of_json_is_readable_and_refuses_what_json_has_not(self, tmp_path):
        files.write_json(tmp_path / "x.json", {"grün": [1, 2.5, None]})
        assert json.loads((tmp_path / "x.json").read_text()) == {"grün": [1, 2.5, None]}
        assert "grün" in (tmp_path / "x.json").read_text()
        with pytest.raises(ValueError, match="JSON"):
            files.write_json(tmp_path / "x.json", float("nan"))


class TestAnOutputThatIsNoFile:
    """Of a user's devices, pipes and links none is ever replaced; the devices here are the test's own."""

    def test_is_written_to_if_it_is_a_device(self, tmp_path):
        null = tmp_path / "null"
        try:
            os.mknod(null, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            files.write_bytes(null, b"")
        except PermissionError:
            pytest.skip("only root makes devices, and not everywhere")
        files.write_bytes(null, b"gone")
        assert stat.S_ISCHR(null.stat().st_mode)
        assert null.read_bytes() == b""
        assert [path.name for path in tmp_path.iterdir()] == ["null"]

    def test_is_written_to_if_it_is_a_pipe(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        read = []
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        reader.start()
        files.write_bytes(pipe, b"rows")
        reader.join()
        assert read == [b"rows"]
        assert pipe.is_fifo()

    def test_is_written_where_a_link_points_and_the_link_stays(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        link, target = tmp_path / "x", tmp_path / "elsewhere" / "y"
        link.symlink_to(target)
        for data in (b"new", b"newer"):  # the first time it points at nothing
            files.write_bytes(link, data)
            assert link.is_symlink()
            assert target.read_bytes() == data
        assert hidden(tmp_path) == hidden(tmp_path / "elsewhere") == []

    @pytest.mark.parametrize("redirected", [False, True])
    def test_is_written_behind_what_was_printed_if_it_is_standard_output(self, tmp_path, redirected):
        code = "from pathlib import Path; from unmask.storage.files import write_bytes\n"
        code += "print('a', flush=True); write_bytes(Path('/dev/stdout'), b'b\\n'); print('c')"
        with (tmp_path / "out").open("wb") as out:
            where = out if redirected else subprocess.PIPE
            done = subprocess.run([sys.executable, "-c", code], stdout=where, check=True)
        assert ((tmp_path / "out").read_bytes() if redirected else done.stdout) == b"a\nb\nc\n"
        assert Path("/dev/stdout").is_symlink()

    def test_is_no_place_for_a_folder(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(NotADirectoryError):
            fill(tmp_path / "pipe", "new")
        assert (tmp_path / "pipe").is_fifo()
        assert hidden(tmp_path) == []


class TestAFolder:
    def test_is_made_with_the_folders_above_it(self, tmp_path):
        fill(tmp_path / "deep" / "best", "new")
        assert content(tmp_path / "deep" / "best") == "new"

    def test_is_replaced_whole_and_leaves_nothing_beside_it(self, tmp_path):
        target = tmp_path / "best"
        fill(target, "old")
        (target / "surplus").touch()
        fill(target, "new")
        assert content(target) == "new"
        assert not (target / "surplus").exists()
        assert hidden(tmp_path) == []

    def test_keeps_what_we_did_not_make(self, tmp_path):
        target = tmp_path / "best"
        fill(target, "old")
        (target / "notes").mkdir()
        (target / "notes" / "today").write_text("mine")
        (target / "dangling").symlink_to("nowhere")
        os.mkfifo(target / "pipe")
        for renames in (1, 2):  # and so it does whenever it is killed
            with crash_behind_rename(renames):
                fill(target, "new")
            files.settle(target)
            files.sweep(tmp_path)
            assert content(target) == "new"
            assert (target / "notes" / "today").read_text() == "mine"
            assert (target / "dangling").is_symlink()
            assert (target / "pipe").is_fifo()

    def test_keeps_it_where_files_have_one_name_only(self, tmp_path, monkeypatch):
        fill(tmp_path / "best", "old")
        (tmp_path / "best" / "notes").write_text("mine")
        monkeypatch.setattr(os, "link", raise_not_permitted)
        fill(tmp_path / "best", "new")
        assert (tmp_path / "best" / "notes").read_text() == "mine"

    def test_stays_as_it_was_when_the_new_one_is_not_finished(self, tmp_path):
        target = tmp_path / "best"
        fill(target, "old")
        with pytest.raises(Crash):
            half_fill(target)
        assert content(target) == "old"
        assert hidden(tmp_path) == []

    def test_stays_as_it_was_when_the_disk_is_full(self, tmp_path, monkeypatch):
        target = tmp_path / "best"
        fill(target, "old")
        monkeypatch.setattr(os, "fsync", raise_no_room)
        with pytest.raises(OSError, match="No space"):
            fill(target, "new")
        assert content(target) == "old"
        assert hidden(tmp_path) == []

    def test_survives_a_kill_while_the_new_one_is_filled(self, tmp_path):
        target = tmp_path / "best"
        fill(target, "old")
        (tmp_path / ".best.partial").mkdir()
        (tmp_path / ".best.partial" / "a").write_text("half")
        files.settle(target)
        assert content(target) == "old"
        fill(target, "new")
        assert content(target) == "new"
        assert hidden(tmp_path) == []

    @pytest.mark.parametrize("renames", [1, 2])
    def test_is_the_new_one_after_a_kill_behind_any_rename(self, tmp_path, renames):
        target = tmp_path / "best"
        fill(target, "old")
        with crash_behind_rename(renames):
            fill(target, "new")
        files.settle(target)
        assert content(target) == "new"
        fill(target, "newer")
        assert content(target) == "newer"
        assert hidden(tmp_path) == []

    def test_takes_exactly_the_two_renames_tested_above(self, tmp_path, monkeypatch):
        fill(tmp_path / "best", "old")
        renamed = []
        rename = Path.rename
        monkeypatch.setattr(Path, "rename", lambda path, to: (renamed.append(to.name), rename(path, to)))
        fill(tmp_path / "best", "new")
        assert renamed == [".best.previous", "best"]

    def test_that_is_new_is_there_after_the_only_rename(self, tmp_path):
        with crash_behind_rename(1):
            fill(tmp_path / "best", "new")
        assert content(tmp_path / "best") == "new"

    def test_removed_by_hand_does_not_come_back(self, tmp_path):
        """A kill left the version before; a user who deletes the folder must not be given that one."""
        target = tmp_path / "best"
        fill(target, "old")
        with crash_behind_rename(2):
            fill(target, "new")
        files.remove_folder(target)
        files.settle(target)
        assert not target.exists()
        with pytest.raises(Crash):
            half_fill(target)
        assert not target.exists()

    def test_settled_by_a_reader_between_the_two_renames_is_the_new_one(self, tmp_path, monkeypatch):
        target = tmp_path / "best"
        fill(target, "old")
        rename = Path.rename

        def with_reader(self: Path, to: Path) -> Path:
            result = rename(self, to)
            if to.name == ".best.previous":
                monkeypatch.undo()
                files.settle(target)
            return result

        monkeypatch.setattr(Path, "rename", with_reader)
        fill(target, "new")
        assert content(target) == "new"
        assert hidden(tmp_path) == []

    def test_settled_by_a_reader_who_looked_long_ago_keeps_the_folder_in_place(self, tmp_path, monkeypatch):
        """The reader sees the state between the renames, sleeps, and acts while the next one is filled."""
        target = tmp_path / "best"
        fill(target, "new")
        with files.replace_folder(target, OURS) as partial:
            (partial / "a").write_text("half")
            with monkeypatch.context() as patch:
                patch.setattr(Path, "exists", lambda path: path != target)
                files.settle(target)
            assert content(target) == "new"
            (partial / "a").write_text("newer")
            (partial / "inner").mkdir()
            (partial / "inner" / "b").write_text("newer")
        assert content(target) == "newer"

    def test_behind_a_link_is_replaced_where_it_is(self, tmp_path):
        fill(tmp_path / "big disk" / "model", "old")
        (tmp_path / "best").symlink_to(tmp_path / "big disk" / "model")
        with crash_behind_rename(1):
            fill(tmp_path / "best", "new")
        files.settle(tmp_path / "best")
        assert content(tmp_path / "best") == "new"
        fill(tmp_path / "best", "newer")
        assert content(tmp_path / "big disk" / "model") == content(tmp_path / "best") == "newer"
        assert hidden(tmp_path / "big disk") == hidden(tmp_path) == []

    def test_may_be_where_one_stands(self, tmp_path, monkeypatch):
        (tmp_path / "best").mkdir()
        monkeypatch.chdir(tmp_path / "best")
        fill(Path(), "new")
        assert content(tmp_path / "best") == "new"

    def test_tells_its_versions_apart(self, tmp_path):
        target = tmp_path / "best"
        assert files.settle(target) is None
        fill(target, "old")
        old = files.settle(target)
        assert old is not None
        assert files.settle(target) == old
        fill(target, "new")
        assert files.settle(target) != old

    def test_is_taken_away_in_one_instant(self, tmp_path):
        fill(tmp_path / "best", "old")
        with crash_behind_rename(1):
            files.remove_folder(tmp_path / "best")
        assert hidden(tmp_path) == [".best.removed"]
        assert not (tmp_path / "best").exists()
        fill(tmp_path / "best", "new")
        files.remove_folder(tmp_path / "best")
        assert list(tmp_path.iterdir()) == []


class TestAFolderThatGrows:
    def test_is_gone_on_with_after_a_stop_and_takes_its_name_at_the_end(self, tmp_path):
        target = tmp_path / "set"
        with pytest.raises(Crash):
            half_grow(target)
        assert not target.exists()
        with files.grow_folder(target) as partial:
            assert (partial / "a").read_text() == "half"
            (partial / "b").write_text("the rest")
        assert sorted(path.name for path in target.iterdir()) == ["a", "b"]
        assert hidden(tmp_path) == []

    def test_is_on_the_disk_before_it_has_its_name(self, tmp_path, monkeypatch):
        flushed, flush = [], files._flush
        monkeypatch.setattr(files, "_flush", lambda path: flushed.append(path.name) or flush(path))
        with files.grow_folder(tmp_path / "set") as partial:
            (partial / "a").touch()
        assert flushed == ["a", ".set.partial", tmp_path.name]


class TestWhatKillsLeave:
    def test_is_settled_for_all_folders_of_a_place(self, tmp_path):
        for name in ("best", "step-1.5"):
            fill(tmp_path / name, "old")
            with crash_behind_rename(1):
                fill(tmp_path / name, "new")
        files.settle_within(tmp_path)
        assert {content(tmp_path / name) for name in ("best", "step-1.5")} == {"new"}

    def test_is_swept_away_without_touching_anything_else(self, tmp_path):
        fill(tmp_path / "best", "old")
        with crash_behind_rename(1):
            fill(tmp_path / "best", "new")
        (tmp_path / ".x.png.partial-123").touch()
        (tmp_path / ".step-1.partial").mkdir()
        (tmp_path / ".step-1.partial" / "a").touch()
        (tmp_path / ".step-0.removed").mkdir()
        (tmp_path / ".gitignore").touch()
        files.sweep(tmp_path)
        assert content(tmp_path / "best") == "new"
        assert hidden(tmp_path) == [".gitignore"]

    def test_in_a_place_that_does_not_exist_is_nothing(self, tmp_path):
        files.sweep(tmp_path / "nowhere")


def test_a_shortage_names_the_target_the_reason_and_both_amounts(tmp_path):
    place = tmp_path / "not" / "yet" / "there"
    with pytest.raises(BundleError) as error, files.writing(place, 12_345_678, BundleError, hint="make room"):
        raise OSError("No space left")
    text = str(error.value)
    assert str(tmp_path / "not" / "yet" / "there") in text
    assert "No space left" in text
    assert "12,345,678 bytes" in text
    assert "are free\n  make room" in text


def raise_no_room(_: int) -> None:
    raise OSError(28, "No space left on device")


def raise_not_permitted(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")
