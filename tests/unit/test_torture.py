"""The harness that looks for failures finds them, keeps them, and goes on behind them."""

import time

import pytest

from tests.torture import __main__ as torture
from tests.torture.campaign import Campaign, attempt, generator, run_trials
from tests.torture.files import Damage, Reader
from tests.torture.mutate import mutated


class Brittle(Campaign):
    """Fails at every third number."""

    def trial(self, rng, folder):
        (folder / "input").write_bytes(rng.randbytes(4))
        assert int(folder.name.rpartition("-")[2]) % 3, "a third"


def test_a_failing_input_is_kept_with_its_reason_and_others_are_not(tmp_path):
    for number in range(7):
        attempt(Brittle(tmp_path), tmp_path, "brittle", 5, number)
    kept = sorted(path.name for path in (tmp_path / "failures").iterdir())
    assert kept == ["brittle-5-0", "brittle-5-3", "brittle-5-6"]
    folder = tmp_path / "failures" / "brittle-5-3"
    assert "a third" in (folder / "WHY.txt").read_text()
    assert (folder / "input").read_bytes() == generator(5, "brittle", 3).randbytes(
        4
    )  # so it can be done again


def test_the_number_at_work_is_known_to_whoever_watches(tmp_path):
    following = run_trials(Brittle(tmp_path), tmp_path, "brittle", 5, 40, seconds=0.05)
    assert following > 40
    assert (tmp_path / "brittle.current").read_text() == str(following - 1)


def test_mutations_are_many_and_repeatable():
    data = bytes(range(200))
    made = {mutated(data, generator(0, "m", number)) for number in range(300)}
    assert len(made) > 250
    assert mutated(data, generator(0, "m", 7)) == mutated(data, generator(0, "m", 7))
    mutated(b"", generator(0, "m", 0))


def test_a_reader_that_takes_damaged_bytes_for_right_ones_is_found(tmp_path):
    class Credulous(Damage):
        readers = {  # noqa: RUF012
            "text": Reader(
                lambda folder: (folder / "file").write_bytes(b"right") and None,
                lambda folder: (folder / "file").read_bytes(),
                verified=True,
            )
        }

    (tmp_path / "home").mkdir()
    assert "without a word" in attempt(Credulous(tmp_path / "home"), tmp_path, "text", 0, 0)


@pytest.mark.parametrize(("script", "status"), [("import os; os.abort()", -6), ("while True: pass", -9)])
def test_a_process_that_dies_or_hangs_costs_its_input_alone(tmp_path, monkeypatch, script, status):
    monkeypatch.setattr(torture, "HANG_S", 0.3)
    begin = torture.subprocess.Popen

    def working(words, **streams):
        (tmp_path / "files.current").write_text("17")
        return begin([words[0], "-c", script], **streams)

    monkeypatch.setattr(torture.subprocess, "Popen", working)
    counts = {"next": 10, "seconds": 0.0, "peak_mb": 0.0}
    torture.take_turn(tmp_path, "files", 0, 1, counts)
    assert counts["next"] == 18
    assert str(status) in (tmp_path / "failures/files-0-17/WHY.txt").read_text()


def test_a_campaign_goes_on_where_it_stopped(tmp_path, monkeypatch):
    starts = []

    def turn(out, name, seed, seconds, counts):
        starts.append(counts["next"])
        counts["next"] += 5
        counts["seconds"] += 1
        time.sleep(0.4)

    monkeypatch.setattr(torture, "take_turn", turn)
    assert torture.oversee(tmp_path, ["files"], 0, 1.2) == 0
    (tmp_path / "failures/files-0-1").mkdir(parents=True)
    assert torture.oversee(tmp_path, ["files"], 0, 1.2) == 1
    assert starts == sorted(set(starts))
    assert [path.name for path in (tmp_path / "failures").iterdir()] == ["files-0-1"]
