"""Samples are found to be of their captions as often as they are, and chance is chance."""

import pytest
import torch

from unmask.evaluation.retrieval import retrieval
from unmask.rng import generator

N, D, CANDIDATES = 400, 6, 50
REAL = torch.randn(N, D, generator=generator(0, "real"))


def noise(turns=4):
    return torch.randn(turns * N, D, generator=generator(0, "noise"))


def test_samples_that_have_nothing_to_do_with_their_captions_are_found_by_chance():
    found = retrieval(noise(), REAL, CANDIDATES)
    assert found.value == pytest.approx(1 / CANDIDATES, abs=4 * found.standard_error)
    assert 0 < found.standard_error < 0.01


def test_samples_like_the_images_of_their_captions_are_found():
    near = REAL.repeat(3, 1) + 0.01 * noise(3)
    assert retrieval(near, REAL, CANDIDATES).value > 0.98
    assert retrieval(near.roll(1, 0), REAL, CANDIDATES).value < 0.1  # of their neighbours' captions


def test_the_share_is_that_of_captions_whose_samples_are_right():
    right = torch.arange(4 * N)[:, None] % N < N // 4  # a quarter of the captions, all samples of them
    samples = torch.where(right, REAL.repeat(4, 1), 100 + noise())
    found = retrieval(samples, REAL, N)  # all are candidates: far samples share one nearest image
    assert found.value == pytest.approx(0.25, abs=2 / N)
    assert found.standard_error == pytest.approx((0.25 * 0.75 / N) ** 0.5, rel=0.05)


def test_of_images_that_are_equal_none_is_the_nearest():
    assert retrieval(REAL[:1].repeat(3, 1), REAL[:1].repeat(3, 1), 2).value == 0
