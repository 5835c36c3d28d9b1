import threading

import numpy as np
import pytest
import torch

from unmask.data.batches import Batches, batch_indices, positions
from unmask.data.crops import Crop
from unmask.data.pixels import PixelSet
from unmask.errors import DataError


def pixel_set(count: int = 10, size: int = 4) -> PixelSet:
    """Picture i is i everywhere, but for its left half, which is 100 + i."""
    stored = (
        np.arange(count, dtype=np.uint8).reshape(-1, 1, 1, 1).repeat(size, 1).repeat(size, 2).repeat(3, 3)
    )
    stored[:, :, : size // 2] += 100
    return PixelSet(
        [str(i) for i in range(count)], np.arange(count), lambda rows: stored[rows], ["digest"] * count
    )


def numbers(images: torch.Tensor) -> list[int]:
    """Which pictures are in a batch, mirrored or not."""
    return [int((image * 255).round().min()) for image in images]


def test_a_batch_is_a_tensor_in_the_range_from_0_to_1():
    images = Batches(pixel_set(), batch=4, seed=0, flip=False).at(0)
    assert images.shape == (4, 3, 4, 4)
    assert images.dtype == torch.float32
    assert 0 <= images.min() <= images.max() <= 1


def test_a_batch_holds_the_pictures_of_its_indices():
    batches = Batches(pixel_set(), batch=4, seed=3, flip=False)
    for step in (0, 1, 2, 7):
        assert numbers(batches.at(step)) == batch_indices(step, count=10, batch=4, seed=3).tolist()


def test_epochs_are_shuffled_and_differ():
    epochs = [batch_indices(epoch, count=50, batch=50, seed=0).tolist() for epoch in range(3)]
    assert len({tuple(epoch) for epoch in epochs} | {tuple(range(50))}) == 4


def test_another_seed_gives_another_order():
    orders = [batch_indices(0, count=50, batch=50, seed=seed).tolist() for seed in (0, 1)]
    assert orders[0] != orders[1]


def test_the_order_of_a_seed_never_changes():
    """A run must go on with the pictures it would have seen, whatever version started it."""
    assert batch_indices(0, count=10, batch=12, seed=0).tolist() == [6, 3, 9, 4, 7, 8, 1, 0, 5, 2, 8, 2]


def test_half_of_the_pictures_are_mirrored_each_time_anew():
    plain = Batches(pixel_set(), batch=100, seed=0, flip=False).at(0)
    flipped = Batches(pixel_set(), batch=100, seed=0, flip=True).at(0)
    mirrored = torch.tensor([torch.equal(a, b.flip(-1)) for a, b in zip(plain, flipped, strict=True)])
    unchanged = torch.tensor([torch.equal(a, b) for a, b in zip(plain, flipped, strict=True)])
    assert (mirrored ^ unchanged).all()
    assert 30 < mirrored.sum() < 70
    of_one_picture = mirrored[[number == 0 for number in numbers(plain)]]
    assert 0 < of_one_picture.sum() < len(of_one_picture)


def test_ranks_together_see_what_one_process_would():
    """Flips and shifts included: two processes with batches of 3 are one process with batches of 6."""
    one = Batches(pixel_set(), batch=6, seed=5, flip=True, shift=1)
    two = [Batches(pixel_set(), batch=3, seed=5, flip=True, shift=1, rank=rank, world=2) for rank in (0, 1)]
    for step in range(5):
        assert torch.equal(one.at(step), torch.cat([batches.at(step) for batches in two]))


def test_random_crops_are_new_each_time_and_the_same_for_one_process_and_two():
    noise = np.random.default_rng(0).integers(0, 256, (12, 12, 3), dtype=np.uint8)
    whole = PixelSet(["a"], np.arange(1), lambda rows: noise[None][rows], ["a"], crop=Crop(4, (1.0, 3.0)))
    one = Batches(whole, batch=1, seed=5)
    crops = [one.at(step) for step in range(20)]
    assert len({crop.numpy().tobytes() for crop in crops}) == 20
    assert torch.equal(Batches(whole, batch=1, seed=5).at(7), crops[7])
    assert not torch.equal(Batches(whole, batch=1, seed=6).at(7), crops[7])
    pair = torch.cat([Batches(whole, batch=1, seed=5, rank=rank, world=2).at(3) for rank in (0, 1)])
    assert torch.equal(Batches(whole, batch=2, seed=5).at(3), pair)


def test_positions_are_those_of_the_endless_stream():
    assert list(positions(2, batch=3, rank=1, world=4)) == [27, 28, 29]


def test_the_next_batch_is_read_while_the_last_is_used():
    steps_read = []
    second = threading.Event()
    stored = pixel_set()

    class Watched(PixelSet):
        def read(self, indices, *draw):
            steps_read.append(len(steps_read))
            if len(steps_read) == 2:
                second.set()
            return stored.read(indices)

    watched = Watched(stored.names, np.arange(10), stored.read, [])
    Batches(watched, batch=4, seed=0, flip=False).at(0)
    assert second.wait(30)  # nobody has asked for step 1


def test_an_error_in_the_background_comes_at_its_own_step_and_not_for_good():
    fails = iter([False, True, False, False])
    stored = pixel_set()

    class Failing(PixelSet):
        def read(self, indices, *draw):
            if next(fails):
                raise DataError("gone")
            return stored.read(indices)

    batches = Batches(Failing(stored.names, np.arange(10), stored.read, []), batch=4, seed=0, flip=False)
    batches.at(0)
    with pytest.raises(DataError, match="gone"):
        batches.at(1)
    assert numbers(batches.at(1)) == batch_indices(1, count=10, batch=4, seed=0).tolist()
