"""Work that processes share comes to what one makes alone, however many they are and whatever they find."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from tests.together import Thread, together
from tests.untrained import untrained
from unmask.distributed import ALONE
from unmask.pipeline import Pipeline
from unmask.storage.arrays import Layout, load_rows, open_rows

LAYOUT = Layout(file="rows.npy", shape=(3,), dtype=np.dtype("<i8"), num_labels=1)


def rows_of(numbers, done=None):
    """A row for each number, but for every fifth; what was ``done`` is noted."""
    for number in numbers:
        if done is not None:
            done.append(number)
        yield (f"{number}",), None if number % 5 == 4 else np.full(3, number)


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("total", [0, 1, 7, 12, 13])
def test_shared_parts_are_those_of_one_process_and_come_in_order(world, total):
    """Some counts are divisible by the processes, some are not, and some leave a process without work."""
    parts: list[range] = []

    def work(numbers):
        parts.append(numbers)
        return [number**2 for number in numbers]

    first, *others = together(world, lambda group: list(group.share(work, range(2, 2 + total), 3)))
    shared, parts = sorted(parts, key=lambda part: part.start), []
    assert first == list(ALONE.share(work, range(2, 2 + total), 3)) == [n**2 for n in range(2, 2 + total)]
    assert shared == parts
    assert not any(others), "the first process writes, and the others keep nothing"


def test_what_the_first_finds_the_others_do_not_look_for():
    looked = []
    found = together(3, lambda group: group.agreed(lambda at: looked.append(at) or f"by {at}", group.rank))
    assert found == ["by 0"] * 3
    assert looked == [0]


@pytest.mark.parametrize("world", [2, 3])
def test_rows_made_together_are_the_rows_of_one_process(tmp_path, world):
    open_rows(tmp_path / "alone", LAYOUT, rows_of, 23, batch=4)
    by_rank: list[list[int]] = [[] for _ in range(world)]

    def work(group):
        mine = by_rank[group.rank]
        return open_rows(tmp_path / "set", LAYOUT, lambda n: rows_of(n, mine), 23, batch=4, processes=group)

    found = together(world, work)
    assert sorted(chain(*by_rank)) == list(range(23)), "each row is made once"
    assert all(by_rank)
    for name in ("rows.npy", "index.jsonl"):
        assert (tmp_path / "set" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert all(np.array_equal(rows.array, found[0].array) for rows in found)
    assert len(together(world, work)[-1].lines) == 23
    assert sum(map(len, by_rank)) == 23, "the second time nothing is made"


def test_rows_that_are_not_stored_stay_with_the_process_that_made_them(tmp_path, monkeypatch):
    """Three million pictures are 590 GB that nobody keeps: the first process is told their hashes."""
    told, gathered = [], Thread._gathered
    monkeypatch.setattr(Thread, "_gathered", lambda *given: told.extend(given[1]) or gathered(*given))
    open_rows(tmp_path / "stored", LAYOUT, rows_of, 23, batch=4)
    index = replace(LAYOUT, file=None)
    together(3, lambda group: open_rows(tmp_path / "set", index, rows_of, 23, batch=4, processes=group))
    assert len(told) == 23
    assert all(row is None for _, row in told)
    lines = [(tmp_path / name / "index.jsonl").read_bytes() for name in ("set", "stored")]
    assert lines[0] == lines[1]


def test_rows_that_two_processes_began_three_go_on_with(tmp_path):
    def stopped(numbers):
        if 16 in numbers:  # the first process's, after two turns of two parts
            raise KeyboardInterrupt
        return rows_of(numbers)

    with pytest.raises(KeyboardInterrupt):
        together(2, lambda group: open_rows(tmp_path / "set", LAYOUT, stopped, 23, batch=4, processes=group))
    assert load_rows(tmp_path / "set", LAYOUT) is None
    done: list[int] = []
    together(
        3,
        lambda group: open_rows(
            tmp_path / "set", LAYOUT, lambda n: rows_of(n, done), 23, batch=4, processes=group
        ),
    )
    assert sorted(done) == list(range(16, 23)), "what was gathered was kept"
    assert len(load_rows(tmp_path / "set", LAYOUT).lines) == 23


@pytest.mark.parametrize("world", [2, 3])
def test_bits_are_those_that_one_process_finds(world, monkeypatch, rng):
    monkeypatch.setattr("unmask.pipeline.BATCH", 2)
    model = Pipeline(untrained(), torch.device("cpu"))
    pictures = list(torch.randint(256, (5, 16, 16, 3), generator=rng, dtype=torch.uint8).numpy())
    alone = model.score(pictures, draws=2)
    assert together(world, lambda group: model.score(pictures, draws=2, processes=group)) == [alone] * world
    assert len(set(alone.bits)) == 5
