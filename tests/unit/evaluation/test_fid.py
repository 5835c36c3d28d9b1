"""The Fréchet distance against closed forms, against the textbook formula, and on real features."""

import math

import numpy as np
import pytest
import scipy.linalg
import torch

from unmask.errors import DataError
from unmask.evaluation import distances
from unmask.evaluation.fid import Moments, fid, frechet_distance, moments_of


def in_batches(features: torch.Tensor, batch: int) -> Moments:
    return sum(map(Moments.of, features.split(batch)), start=Moments.none(features.shape[1]))


def gaussian(mean: torch.Tensor, covariance: torch.Tensor) -> Moments:
    return Moments(2, mean.double(), covariance.double())


def textbook(a: torch.Tensor, b: torch.Tensor) -> float:
    """The formula as it is written, and as pytorch-fid and torch-fidelity compute it: with a matrix root."""
    (mean_a, cov_a), (mean_b, cov_b) = ((x.mean(0), np.cov(x, rowvar=False)) for x in (a.numpy(), b.numpy()))
    root = scipy.linalg.sqrtm(cov_a @ cov_b).real
    return float(((mean_a - mean_b) ** 2).sum() + np.trace(cov_a + cov_b - 2 * root))


@pytest.fixture
def crops(photograph_features) -> tuple[torch.Tensor, torch.Tensor]:
    astronaut_cat, cup_rocket = photograph_features
    return astronaut_cat.double(), cup_rocket.double()


def test_moments_are_numpys(rng):
    features = 5 + torch.randn(100, 7, generator=rng)
    moments = in_batches(features, 13)
    assert moments.count == 100
    assert np.allclose(moments.mean, features.double().numpy().mean(0), atol=1e-12)
    assert np.allclose(moments.covariance(), np.cov(features.double().numpy(), rowvar=False), atol=1e-12)


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_batches_and_shares_do_not_matter(rng, batch):
    features = 1000 + torch.randn(100, 5, generator=rng)  # far from 0, where a sum of squares would fail
    whole = moments_of(features)
    merged = in_batches(features[:30], batch) + in_batches(features[30:], batch) + Moments.none(5)
    assert torch.allclose(merged.mean, whole.mean, rtol=1e-12)
    assert torch.allclose(merged.covariance(), whole.covariance(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("count", [3, 50])
def test_a_set_is_at_distance_zero_from_itself(rng, count):
    moments = moments_of(torch.randn(count, 20, generator=rng))
    assert frechet_distance(moments, moments) < 1e-12 * moments.covariance().trace()


def test_commuting_covariances_have_a_closed_form(rng):
    """With S_a, S_b diagonal in one basis the distance is ‖μ_a − μ_b‖² + Σ (√λ_a − √λ_b)²."""
    basis, _ = torch.linalg.qr(torch.randn(30, 30, generator=rng, dtype=torch.float64))
    values_a, values_b = torch.rand(2, 30, generator=rng, dtype=torch.float64) * 10
    mean_a, mean_b = torch.randn(2, 30, generator=rng, dtype=torch.float64)
    a = gaussian(mean_a, basis @ values_a.diag() @ basis.T)
    b = gaussian(mean_b, basis @ values_b.diag() @ basis.T)
    wanted = (mean_a - mean_b).square().sum() + (values_a.sqrt() - values_b.sqrt()).square().sum()
    assert frechet_distance(a, b) == pytest.approx(wanted.item(), rel=1e-10)


def test_in_one_dimension_it_is_the_wasserstein_distance_of_two_normals():
    a = gaussian(torch.tensor([1.0]), torch.tensor([[4.0]]))
    b = gaussian(torch.tensor([3.0]), torch.tensor([[9.0]]))
    assert frechet_distance(a, b) == pytest.approx((3 - 1) ** 2 + (3 - 2) ** 2)


def test_it_is_symmetric_where_ranks_differ(rng):
    a, b = moments_of(torch.randn(10, 40, generator=rng)), moments_of(torch.randn(200, 40, generator=rng))
    assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a), rel=1e-12)


def test_real_features_give_the_textbook_value(crops):
    a, b = (features[:, ::16] for features in crops)  # 128 of 2048: sqrtm takes a minute for all
    wanted = textbook(a, b)
    assert frechet_distance(moments_of(a), moments_of(b)) == pytest.approx(wanted, rel=1e-4)
    assert wanted > 1


def test_all_2048_real_features_give_a_distance_that_their_mean_and_spread_bound(crops):
    a, b = (moments_of(features) for features in crops)
    means = (a.mean - b.mean).square().sum().item()
    assert means < frechet_distance(a, b) < means + (a.covariance() + b.covariance()).trace().item()


def test_real_pictures_have_the_fid_of_torchmetrics(crops, oracle):
    fewer = [features[:, ::16] for features in crops]  # theirs needs more pictures than features for digits
    given = torch.nn.Identity()
    given.num_features = fewer[0].shape[1]
    metric = oracle("torchmetrics.image.fid").FrechetInceptionDistance(feature=given)
    metric.set_dtype(torch.float64)
    for features, real in zip(fewer, (True, False), strict=True):
        metric.update(features, real=real)
    real, fake = fewer
    assert fid(moments_of(real), fake).value == pytest.approx(metric.compute().item(), rel=1e-4)


def test_it_streams_and_stays_the_same_in_any_batch(crops, monkeypatch):
    real, fake = (features[:, ::16] for features in crops)
    whole = fid(moments_of(real), fake, replicates=2)
    monkeypatch.setattr(distances, "CHUNK", 5)
    assert fid(moments_of(real), fake, replicates=2) == pytest.approx(whole, rel=1e-6)


def test_one_picture_has_no_fid():
    with pytest.raises(DataError, match=r"too few.* 2 or more"):
        fid(moments_of(torch.zeros(5, 3)), torch.zeros(1, 3))


def test_fewer_than_two_pictures_are_refused_in_a_sentence():
    one = moments_of(torch.zeros(1, 3))
    for few, count in ((one, 1), (Moments.none(3), 0)):
        with pytest.raises(DataError, match=f"2 images or more, and there are {count}"):
            frechet_distance(few, moments_of(torch.eye(3)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_features_that_are_no_numbers_are_refused_in_a_sentence(bad):
    features = torch.zeros(5, 3)
    features[2, 1] = bad
    with pytest.raises(DataError, match=r"1 of 5 .* not finite"):
        Moments.of(features)
