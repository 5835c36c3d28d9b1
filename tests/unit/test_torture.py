"""The harness that looks for failures finds them, keeps them, and goes on behind them."""

import json
import time

import pytest

from tests.torture import __main__ as torture
from tests.torture.campaign import Campaign, attempt, generator
from tests.torture.fuzz import Damage, Reader
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


def test_the_number_at_work_and_its_counts_are_known_to_whoever_watches(tmp_path):
    campaign = Brittle(tmp_path)
    campaign.counts["kills"] = 3
    campaign.run(tmp_path, "brittle", 5, 40, seconds=0.05)
    noted = json.loads((tmp_path / "brittle.current").read_text())
    assert noted.pop("number") > 40
    assert noted == {"kills": 3}


def test_mutations_are_many_and_repeatable():
    data = bytes(range(200))
    made = {mutated(data, generator(0, "m", number)) for number in range(300)}
    assert len(made) > 250
    assert mutated(data, generator(0, "m", 7)) == mutated(data, generator(0, "m", 7))
    mutated(b"", generator(0, "m", 0))


class Credulous(Damage):
    """Believes whatever stands in its file, and needs a t."""

    readers = {  # noqa: RUF012
        "text": Reader(
            lambda folder: (folder / "file").write_bytes(b"right") and None,
            lambda folder: (folder / "file").read_bytes().index(b"t") and (folder / "file").read_bytes(),
            verified=True,
        )
    }


def test_readers_that_break_or_take_damaged_bytes_for_right_ones_are_found(tmp_path):
    damage = Credulous(tmp_path)
    assert damage.judge(b"\0right") is None
    assert "without a word" in damage.judge(b"\0bright")
    assert "ValueError" in damage.judge(b"\0")
    assert damage.judge(b"\0right") is None  # what was damaged has been put back


def test_one_input_is_kept_for_each_place_that_fails(tmp_path):
    damage, known = Credulous(tmp_path), set()
    for number, data in enumerate((b"\0a", b"\0b", b"\0tt")):
        damage._keep(tmp_path / str(number), data, damage.judge(data), known)
    assert [path.name for path in sorted(tmp_path.glob("[0-9]"))] == ["0", "2"]
    assert (tmp_path / "2" / "INPUT").read_bytes() == b"\0tt"


@pytest.mark.parametrize(("script", "status"), [("import os; os.abort()", -6), ("while True: pass", -9)])
def test_a_process_that_dies_or_hangs_costs_its_input_alone(tmp_path, monkeypatch, script, status):
    monkeypatch.setattr(torture, "HANG_S", 0.3)
    begin = torture.subprocess.Popen

    def working(words, **streams):
        (tmp_path / "files.current").write_text('{"number": 17, "kills": 4}')
        return begin([words[0], "-c", script], **streams)

    monkeypatch.setattr(torture.subprocess, "Popen", working)
    counts = {"next": 10, "seconds": 0.0, "peak_mb": 0.0, "kills": 2}
    torture.take_turn(tmp_path, "files", 0, 1, counts)
    assert (counts["next"], counts["kills"]) == (18, 6)
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
