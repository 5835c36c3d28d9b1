"""Standard errors are about as large as what they stand for: the spread over draws of the samples."""

import math

import pytest
import torch

from unmask.evaluation.estimate import halves
from unmask.evaluation.fid import fid, moments_of
from unmask.evaluation.kid import kid, pairs_of
from unmask.evaluation.prdc import balls_of, prdc
from unmask.rng import generator


def test_a_replicate_is_half_of_the_samples_and_the_first_all_of_them():
    weights = halves(101, 8, seed=0)
    assert weights.sum(0).tolist() == [101, *([50] * 8)]
    assert len({tuple(column.tolist()) for column in weights.T}) == 9
    assert torch.equal(weights, halves(101, 8, seed=0))
    assert not torch.equal(weights, halves(101, 8, seed=1))


def test_the_spread_of_halves_is_the_standard_error_of_a_mean(rng):
    samples = torch.randn(1000, generator=rng).double()
    weights = halves(1000, 2000, seed=0)
    means = samples @ weights / weights.sum(0)
    assert means[1:].std().item() == pytest.approx(samples.std().item() / math.sqrt(1000), rel=0.06)


@pytest.mark.parametrize("name", ["fid", "kid", "precision", "density", "coverage"])
def test_it_is_the_spread_over_new_samples(name):
    """24 sets of samples against one reference: the mean standard error is right within a factor of 2."""

    def measure(fake):
        if name == "fid":
            return fid(moments_of(real), fake)
        return kid(pairs_of(real), fake) if name == "kid" else prdc(balls_of(real), fake)[name]

    real = torch.randn(300, 12, generator=generator(0, "real"))
    drawn = (0.9 * torch.randn(150, 12, generator=generator(0, "fake", i)) + 0.3 for i in range(24))
    figures = torch.tensor([measure(fake) for fake in drawn]).double()
    spread, claimed = figures[:, 0].std().item(), figures[:, 1].mean().item()
    assert 0.5 < claimed / spread < 2
    assert spread < figures[:, 0].mean() / 2


def test_three_samples_have_no_standard_error():
    few, more = torch.eye(3), torch.eye(9)
    assert math.isnan(fid(moments_of(few), few).standard_error)
    assert math.isnan(fid(moments_of(more), more, replicates=0).standard_error)
