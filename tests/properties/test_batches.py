"""Batches: whatever the sizes, an epoch is each picture once, and a restart changes nothing."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.data.batches import Batches, batch_indices
from unmask.data.pixels import PixelSet

counts = st.integers(1, 40)
batch_sizes = st.integers(1, 25)
worlds = st.integers(1, 5)
seeds = st.integers(0, 2**32)
quick = settings(max_examples=150, deadline=None, database=None)


def stream(num_places: int, *, count: int, batch: int, seed: int, world: int) -> list[int]:
    """What all ranks see together, step by step and rank by rank."""
    seen: list[int] = []
    step = 0
    while len(seen) < num_places:
        for rank in range(world):
            seen += batch_indices(step, count=count, batch=batch, seed=seed, rank=rank, world=world).tolist()
        step += 1
    return seen


@quick
@given(count=counts, batch=batch_sizes, world=worlds, seed=seeds)
def test_every_epoch_shows_each_picture_exactly_once(count, batch, world, seed):
    seen = stream(3 * count, count=count, batch=batch, seed=seed, world=world)
    for epoch in range(3):
        assert sorted(seen[epoch * count : (epoch + 1) * count]) == list(range(count))


@quick
@given(count=counts, batch=batch_sizes, world=worlds, seed=seeds)
def test_the_stream_does_not_depend_on_how_it_is_cut(count, batch, world, seed):
    cut = stream(2 * count, count=count, batch=batch, seed=seed, world=world)
    whole = stream(2 * count, count=count, batch=1, seed=seed, world=1)
    assert cut[: 2 * count] == whole[: 2 * count]


@settings(max_examples=40, deadline=None, database=None)
@given(
    count=counts,
    batch=batch_sizes,
    world=worlds,
    seed=seeds,
    views=st.fixed_dictionaries({"flip": st.booleans(), "shift": st.integers(0, 1)}),
    start=st.integers(0, 30),
    data=st.data(),
)
def test_a_loader_restored_at_any_step_continues_identically(count, batch, world, seed, views, start, data):
    rank = data.draw(st.integers(0, world - 1))
    stored = np.random.default_rng(0).integers(0, 256, (count, 2, 4, 3), dtype=np.uint8)
    pixels = PixelSet([""] * count, np.arange(count), lambda rows: stored[rows], [])

    def loader() -> Batches:
        return Batches(pixels, batch=batch, seed=seed, **views, rank=rank, world=world)

    uninterrupted = loader()
    images = [uninterrupted.at(step) for step in range(start + 3)]
    restored = loader()
    for step in range(start, start + 3):
        assert torch.equal(restored.at(step), images[step])
