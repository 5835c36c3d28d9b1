"""Probes of a model, and a DDPM to compare it with."""

import numpy as np
import pytest
import torch

from unmask.data.pixels import PixelSet
from unmask.reproduce import ddpm, probes
from unmask.reproduce.run import discs
from unmask.rng import generator


@pytest.mark.parametrize("size", [16, 32, 64])
def test_boxes_lie_within_the_picture_with_something_known_below_them(size):
    """Else what is known around a box and what is known above it would be the same."""
    boxes = {probes.box(number, size) for number in range(8)}
    assert len(boxes) == 4
    for left, top, edge in boxes:
        assert left >= 0
        assert left + edge <= size
        assert top + edge < size


def test_those_that_take_turns_are_timed_in_every_round_but_the_first():
    order = []
    seconds = probes.take_turns({name: lambda name=name: order.append(name) for name in "ab"})
    assert order == ["a", "b"] * (1 + probes.ROUNDS)
    assert {name: len(each) for name, each in seconds.items()} == {"a": probes.ROUNDS, "b": probes.ROUNDS}


@pytest.mark.slow
def test_a_ddpm_learns_noise_and_draws_pictures(rng):
    pixels = discs(32, 16)
    everything = PixelSet([""] * 32, np.arange(32), lambda rows: pixels[rows], [""])
    network = ddpm.unet(16, rng)
    before = network.conv_out.weight.clone()
    scheduler, steps = ddpm.train(everything, network, 0.01, rng)
    assert steps >= 1
    assert not torch.equal(before, network.conv_out.weight)
    drawn = ddpm.sample(network, scheduler, 3, 16, rng)
    assert drawn.shape == (3, 16, 16, 3)
    assert drawn.dtype == np.uint8


@pytest.mark.slow
def test_a_ddpm_is_a_function_of_its_seed():
    one, same, another = (ddpm.unet(16, generator(seed)).conv_in.weight for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, another)


def test_discs_are_all_different():
    pictures = discs(20, 16)
    assert len({picture.tobytes() for picture in pictures}) == 20
    assert pictures[:, 0, 0].min() == 255  # discs do not reach the corners
