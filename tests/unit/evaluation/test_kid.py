"""KID is that of torchmetrics, without its random subsets."""

import pytest
import torch

from unmask.errors import DataError
from unmask.evaluation import distances
from unmask.evaluation.kid import kid, pairs_of


def test_real_pictures_have_the_kid_of_torchmetrics(photograph_features, oracle):
    """Our value over all pairs is theirs over one subset that is everything."""
    astronaut_cat, cup_rocket = (features.double() for features in photograph_features)
    poly_mmd = oracle("torchmetrics.image.kid").poly_mmd
    wanted = poly_mmd(astronaut_cat, cup_rocket).item()
    real, fake = photograph_features
    assert kid(pairs_of(real), fake).value == pytest.approx(wanted, rel=1e-6)
    assert wanted > 0.01


@pytest.mark.parametrize("chunk", [5, 4096])
def test_the_size_of_a_block_does_not_matter(rng, monkeypatch, chunk):
    real, fake = torch.randn(40, 6, generator=rng), torch.randn(30, 6, generator=rng)
    wanted = kid(pairs_of(real), fake)
    monkeypatch.setattr(distances, "CHUNK", chunk)
    assert kid(pairs_of(real), fake) == pytest.approx(wanted, rel=1e-9)


def test_it_is_unbiased_whatever_the_counts(rng):
    """Over 400 pairs of small sets from one distribution the mean is 0, though their FIDs are all above."""
    values = torch.tensor(
        [
            kid(
                pairs_of(torch.randn(9, 4, generator=rng)), torch.randn(6, 4, generator=rng), replicates=0
            ).value
            for _ in range(400)
        ]
    )
    standard_error = values.std() / 20
    assert abs(values.mean()) < 4 * standard_error
    assert standard_error < 0.1


def test_one_picture_is_refused_in_a_sentence():
    with pytest.raises(DataError, match="1 samples"):
        kid(pairs_of(torch.zeros(5, 3)), torch.zeros(1, 3))
    with pytest.raises(DataError, match=r"1 real .* too few"):
        pairs_of(torch.zeros(1, 3))
