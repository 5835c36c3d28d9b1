"""The codec's losses, its augmentation and its average, as mathematics."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unmask.codec import augment
from unmask.codec.losses import adaptive_weight, discriminator_loss, generator_loss, usage
from unmask.training.ema import Ema


def test_lambda_is_the_ratio_of_gradient_norms():
    rec, adv = torch.tensor([3.0, 4.0]), torch.tensor([0.0, 20.0])
    assert adaptive_weight(rec, adv, math.inf) == pytest.approx(5 / 20.0001)


def test_lambda_is_clamped_and_survives_a_vanishing_gradient():
    rec, nothing = torch.ones(4), torch.zeros(4)
    assert adaptive_weight(rec, nothing, 1.0) == 1
    assert adaptive_weight(rec, nothing, math.inf) == pytest.approx(2 / 1e-4)


@pytest.mark.parametrize("kind", ["hinge", "logistic"])
def test_a_better_discriminator_has_a_smaller_loss_and_a_better_forger_too(kind):
    good, bad = torch.full((2, 1, 3, 3), 0.5), torch.full((2, 1, 3, 3), -0.5)
    assert discriminator_loss(good, bad, kind) < discriminator_loss(bad, good, kind)
    assert generator_loss(good, kind) < generator_loss(bad, kind)


def test_the_logistic_losses_are_the_papers_logarithms(rng):
    real, fake = torch.randn(4, 1, 2, 2, generator=rng), torch.randn(4, 1, 2, 2, generator=rng)
    paper = -(real.sigmoid().log().mean() + (1 - fake.sigmoid()).log().mean())
    torch.testing.assert_close(discriminator_loss(real, fake, "logistic"), paper)
    torch.testing.assert_close(generator_loss(fake, "logistic"), (1 - fake.sigmoid()).log().mean())


def test_perplexity_counts_equally_common_codes():
    counts = torch.tensor([5, 5, 5, 5, 0, 0, 0, 0])
    assert usage(counts) == pytest.approx({"codes_used": 0.5, "perplexity": 4.0})


CHANGES = [augment.brightness, augment.saturation, augment.contrast, augment.translation, augment.augment]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_augmentation_keeps_shape_and_passes_a_gradient(change, rng):
    images = torch.rand(3, 3, 16, 24, generator=rng, requires_grad=True)
    changed = change(images, rng)
    assert changed.shape == images.shape
    (gradient,) = torch.autograd.grad(changed.square().sum(), images)
    assert (gradient.flatten(1).abs().sum(1) > 0).all()


def test_augmentation_leaves_the_means_it_states(rng):
    image = torch.rand(1, 3, 8, 8, generator=rng)
    many = image.expand(20_000, -1, -1, -1)
    torch.testing.assert_close(augment.brightness(many, rng).mean(0), image[0], atol=0.01, rtol=0)
    saturated, contrasted = augment.saturation(many[:50], rng), augment.contrast(many[:50], rng)
    torch.testing.assert_close(saturated.mean(1), many[:50].mean(1))
    torch.testing.assert_close(contrasted.mean((1, 2, 3)), many[:50].mean((1, 2, 3)))


def test_translation_moves_by_whole_pixels_and_brings_in_black(rng):
    image = torch.rand(1, 3, 16, 16, generator=rng) + 1
    reach = 2
    padded = F.pad(image, (reach, reach, reach, reach))
    shifts = [padded[:, :, y : y + 16, x : x + 16] for y in range(5) for x in range(5)]
    seen = set()
    for moved in augment.translation(image.expand(200, -1, -1, -1), rng):
        matches = [i for i, shift in enumerate(shifts) if torch.equal(shift[0], moved)]
        assert len(matches) == 1
        seen.update(matches)
    assert len(seen) > 20, "nearly all of the 25 shifts occur in 200 draws"


def test_the_average_follows_its_closed_form(rng):
    """With constant decay d after warm-up, average_n = d·average + (1 − d)·weight, term by term."""
    module = nn.Linear(2, 1, bias=False)
    ema = Ema(module, decay=0.5)
    start = module.weight.detach().clone()
    weights = torch.randn(6, 1, 2, generator=rng)
    expected = start
    for n, weight in enumerate(weights):
        with torch.no_grad():
            module.weight.copy_(weight)
        ema.update(module)
        decay = min(0.5, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * weight
    torch.testing.assert_close(ema.module.weight, expected)
    assert not torch.allclose(ema.module.weight, weights[-1])
