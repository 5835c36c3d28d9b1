"""Precision, recall, density and coverage are those of the package prdc, and mean what they should."""

import pytest
import torch

from unmask.errors import DataError
from unmask.evaluation import distances
from unmask.evaluation.prdc import balls_of, prdc


def values(real, fake, k=3):
    return {name: figure.value for name, figure in prdc(balls_of(real, k), fake).items()}


@pytest.fixture(scope="module")
def theirs(oracle):
    compute = oracle("prdc").compute_prdc
    return lambda real, fake, k=3: compute(real.double().numpy(), fake.double().numpy(), k)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_real_pictures_score_as_in_the_package_prdc(photograph_features, theirs, k):
    astronaut_cat, cup_rocket = photograph_features
    real, mixed = astronaut_cat[::2], torch.cat([astronaut_cat[1::2], cup_rocket[::4]])
    assert values(real, mixed, k) == pytest.approx(theirs(real, mixed, k), abs=1e-6)
    assert 0 < values(real, mixed, k)["precision"] < 1


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_features_in_many_blocks_score_as_in_the_package_prdc(rng, theirs, monkeypatch, scale):
    """Far from 0, where products of float32 are wrong in the third digit, comparisons are still exact."""
    monkeypatch.setattr(distances, "CHUNK", 64)
    real = scale + torch.randn(300, 16, generator=rng)
    fake = scale + 0.8 * torch.randn(210, 16, generator=rng) + 0.2
    assert values(real, fake) == pytest.approx(theirs(real, fake), abs=1e-6)


@pytest.mark.parametrize("chunk", [7, 100, 4096])
def test_the_size_of_a_block_does_not_matter(rng, monkeypatch, chunk):
    real, fake = torch.randn(2, 120, 8, generator=rng)
    wanted = prdc(balls_of(real), fake)
    monkeypatch.setattr(distances, "CHUNK", chunk)
    assert prdc(balls_of(real), fake) == wanted


def test_a_set_against_itself_scores_one(rng):
    """A point on the border of a ball is outside: of its k neighbours a ball holds all but the last."""
    features = torch.randn(100, 8, generator=rng)
    assert values(features, features) == {"precision": 1, "recall": 1, "density": 1, "coverage": 1}


def test_a_tight_cluster_is_precise_and_recalls_little(rng):
    real = torch.randn(400, 8, generator=rng)
    figures = values(real, 0.01 * torch.randn(400, 8, generator=rng))
    assert figures["precision"] == 1
    assert figures["density"] > 1
    assert figures["recall"] < 0.05
    assert figures["coverage"] < 0.3


def test_samples_that_are_far_away_score_nothing(rng):
    real, fake = torch.randn(50, 8, generator=rng), 100 + torch.randn(50, 8, generator=rng)
    assert values(real, fake) == {"precision": 0, "recall": 0, "density": 0, "coverage": 0}


def test_copies_of_one_picture_have_balls_without_inside(rng):
    real = torch.randn(50, 8, generator=rng)
    assert values(real, real[:1].repeat(10, 1))["recall"] == 0


@pytest.mark.parametrize(("num_real", "num_fake"), [(3, 9), (9, 3)])
def test_fewer_pictures_than_neighbours_are_refused_in_a_sentence(num_real, num_fake):
    with pytest.raises(DataError, match=r"too few.* 4 or more"):
        prdc(balls_of(torch.zeros(num_real, 2)), torch.zeros(num_fake, 2))


def test_features_that_are_no_numbers_are_refused_in_a_sentence(rng):
    fake = torch.randn(9, 4, generator=rng)
    fake[2, 1] = torch.nan
    with pytest.raises(DataError, match=r"1 of 9 .* not finite"):
        prdc(balls_of(torch.randn(9, 4, generator=rng)), fake)


def test_features_of_two_kinds_are_refused_in_a_sentence():
    with pytest.raises(DataError, match="4 features each and the samples 5"):
        prdc(balls_of(torch.zeros(9, 4)), torch.zeros(9, 5))
