"""Rows are whole or absent, whatever stops the process that writes them and whatever happens to the files."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unmask.storage import arrays, files
from unmask.storage.arrays import Layout, load_rows, open_rows

ROWS = np.arange(24, dtype="<u2").reshape(6, 2, 2)
LAYOUT = Layout(file="rows.npy", shape=(2, 2), dtype=np.dtype("<u2"), num_labels=1, key=b"key")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "set"


def make(stop: int = 99, made: list[int] | None = None) -> arrays.Make:
    """Four rows and a line without one; give up at the ``stop``th."""

    def making(numbers: range) -> Iterator[arrays.Item]:
        lines: list[tuple[str, int | None]] = [("a", 0), ("b", 1), ("none", None), ("c", 2), ("d", 3)]
        for number in numbers:
            if number == stop:
                raise KeyboardInterrupt
            if made is not None:
                made.append(number)
            name, row = lines[number]
            yield ((), None) if row is None else ((name,), ROWS[row])

    return making


def names(lines: list[list[str]]) -> list[str | None]:
    return [line[0] if len(line) == 2 else None for line in lines]


def is_right(found: arrays.Rows) -> bool:
    return names(found.lines) == ["a", "b", None, "c", "d"] and np.array_equal(found.array, ROWS[:4])


def test_rows_are_an_ordinary_array_with_their_labels_beside_it(folder):
    assert is_right(open_rows(folder, LAYOUT, make(), 5))
    assert np.array_equal(np.load(folder / "rows.npy"), ROWS[:4])


def test_the_second_time_nothing_is_made(folder):
    open_rows(folder, LAYOUT, make(), 5)
    made: list[int] = []
    assert is_right(open_rows(folder, LAYOUT, make(made=made), 5))
    assert made == []


def test_no_rows_are_whole_too(folder):
    assert open_rows(folder, LAYOUT, make(), 0).array.shape == (0, 2, 2)
    assert load_rows(folder, LAYOUT) is not None


def test_without_a_file_the_index_alone_is_kept(folder):
    layout = Layout(file=None, shape=(2, 2), dtype=np.dtype("<u2"), num_labels=1)
    with pytest.raises(KeyboardInterrupt):
        open_rows(folder, layout, make(stop=2), 5)
    made: list[int] = []
    assert names(open_rows(folder, layout, make(made=made), 5).lines) == ["a", "b", None, "c", "d"]
    assert made == [2, 3, 4]
    assert not (folder / "rows.npy").exists()


@pytest.mark.parametrize("stop", range(5))
def test_what_was_stopped_goes_on(folder, stop):
    with pytest.raises(KeyboardInterrupt):
        open_rows(folder, LAYOUT, make(stop), 5)
    assert load_rows(folder, LAYOUT) is None
    made: list[int] = []
    assert is_right(open_rows(folder, LAYOUT, make(made=made), 5))
    assert made == list(range(stop, 5))


@pytest.mark.parametrize(
    ("file", "damage", "kept"),
    [
        ("rows.npy", lambda data: data + b"half", 4),
        ("rows.npy", lambda data: data[:-1], 3),
        ("rows.npy", lambda data: data[:-8] + bytes(8), 3),
        ("rows.npy", lambda data: data[:50], 0),
        ("index.jsonl", lambda data: data[:-1], 3),
        ("index.jsonl", lambda data: data + b"\0\xff\n", 4),
        ("index.jsonl", lambda data: b"[" * 100_000 + b"\n" + data, 0),
        ("index.jsonl", lambda data: b"", 0),
    ],
)
def test_what_a_loss_of_power_left_is_kept_up_to_what_does_not_fit(folder, file, damage, kept):
    with pytest.raises(KeyboardInterrupt):
        open_rows(folder, LAYOUT, make(stop=4), 5)
    path = folder.with_name(".set.partial") / file
    path.write_bytes(damage(path.read_bytes()))
    made: list[int] = []
    assert is_right(open_rows(folder, LAYOUT, make(made=made), 5))
    assert made == list(range(kept, 5))


def test_rows_begun_for_another_key_are_not_gone_on_with(folder):
    with pytest.raises(KeyboardInterrupt):
        open_rows(
            folder, Layout(file="rows.npy", shape=(2, 2), dtype=np.dtype("<u2"), num_labels=1), make(3), 5
        )
    made: list[int] = []
    assert is_right(open_rows(folder, LAYOUT, make(made=made), 5))
    assert made == list(range(5))


@pytest.mark.parametrize("file", ["rows.npy", "index.jsonl", "whole.json"])
def test_every_flipped_bit_is_noticed_or_harmless(folder, file):
    open_rows(folder, LAYOUT, make(), 5)
    path = folder / file
    whole, noticed = path.read_bytes(), 0
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        found = load_rows(folder, LAYOUT)
        noticed += found is None
        assert found is None or is_right(found), f"bit {place} of {file}"
    if file != "whole.json":
        assert noticed == 8 * len(whole)


@pytest.mark.parametrize("file", ["rows.npy", "index.jsonl", "whole.json"])
@pytest.mark.parametrize("length", [None, 0, 1, 50, -1])
def test_what_is_damaged_is_made_again(folder, file, length):
    open_rows(folder, LAYOUT, make(), 5)
    path = folder / file
    data = path.read_bytes()
    path.unlink()
    if length is not None:
        path.write_bytes(data[:length])
    assert is_right(open_rows(folder, LAYOUT, make(), 5))
    assert load_rows(folder, LAYOUT) is not None
    assert [path.name for path in folder.parent.iterdir()] == ["set"]


@pytest.mark.parametrize("other", [ROWS[:3], ROWS[:4].astype("<i4"), ROWS[:4].reshape(4, 4), ROWS[:4] + 1])
def test_another_array_in_its_place_is_noticed(folder, other):
    open_rows(folder, LAYOUT, make(), 5)
    np.save(folder / "rows.npy", other)
    assert load_rows(folder, LAYOUT) is None


def test_lines_lost_together_with_their_rows_are_missed(folder):
    open_rows(folder, LAYOUT, make(), 5)
    lines = (folder / "index.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "index.jsonl").write_bytes(b"".join(lines[:-1]))
    np.save(folder / "rows.npy", ROWS[:3])
    assert load_rows(folder, LAYOUT) is None


def test_rows_are_compared_again_only_when_the_file_may_have_changed(folder, monkeypatch):
    open_rows(folder, LAYOUT, make(), 5)
    compared = []
    hash_of = Layout.hash
    monkeypatch.setattr(Layout, "hash", lambda layout, row: compared.append(row) or hash_of(layout, row))
    assert load_rows(folder, LAYOUT) is not None
    assert compared == []
    os.utime(folder / "rows.npy")  # as a copy to another machine does
    for _ in range(2):
        assert load_rows(folder, LAYOUT) is not None
        assert len(compared) == 4


def test_where_nothing_may_be_written_rows_are_read_all_the_same(folder, monkeypatch):
    open_rows(folder, LAYOUT, make(), 5)
    (folder / "whole.json").unlink()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "write_json", refuse)
    found = load_rows(folder, LAYOUT)
    assert found is not None
    assert is_right(found)


WORKER = """
import os, signal, sys, time
from pathlib import Path
import numpy as np
from unmask.storage.arrays import Layout, open_rows

folder, die_at, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
layout = Layout(file="rows.npy", shape=(50,), dtype=np.dtype("<i8"))
made = 0

def make(numbers):
    global made
    for number in numbers:
        if number == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(seconds)
        made += 1
        yield (), np.full(50, number)

found = open_rows(folder, layout, make, 40)
print(made, bool((found.array == np.arange(40)[:, None]).all()))
"""


def start(folder: Path, die_at: int = -1, seconds: float = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(folder), str(die_at), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_of_several_processes_one_makes_the_rows_and_a_killed_one_is_succeeded(folder):
    with start(folder, die_at=7) as killed:
        assert killed.wait() == -signal.SIGKILL
    workers = [start(folder, seconds=0.005) for _ in range(3)]
    said = [worker.communicate(timeout=120)[0].split() for worker in workers]
    assert sorted(int(made) for made, _ in said) == [0, 0, 33]
    assert all(right == "True" for _, right in said)
    assert json.loads((folder / "whole.json").read_bytes())["lines"] == 40


def test_a_kill_at_any_instant_costs_no_row_that_was_written(folder):
    for milliseconds in (400, 500, 600):
        with start(folder, seconds=0.01) as worker:
            time.sleep(milliseconds / 1000)
            worker.kill()
    said = start(folder).communicate(timeout=120)[0].split()
    assert said[1] == "True"
