from dataclasses import replace

import pytest
import torch

from unmask.errors import ConfigError
from unmask.prior.config import PriorConfig
from unmask.prior.patches import Patches
from unmask.prior.transformer import Text, Transformer
from unmask.rng import generator

CONFIG = PriorConfig(width=8, depth=3, heads=2, positions="rotary", merge=2)
L, H, W = 3, 4, 6


@pytest.fixture
def patches():
    return Patches(CONFIG, (H, W), L)


def test_a_patch_is_made_of_the_codes_of_its_square_and_goes_back_to_them(patches, rng):
    x = torch.randn(1, L + H * W, 8, generator=rng)
    row, column = 1, 2
    square = [L + (2 * row + p) * W + 2 * column + q for p in (0, 1) for q in (0, 1)]
    place = L + row * (W // 2) + column
    merged = patches.merge(x)
    assert merged.shape == (1, L + H * W // 4, 8)
    torch.testing.assert_close(merged[0, place], patches.merged(x[0, square].flatten()))
    torch.testing.assert_close(merged[:, :L], x[:, :L])
    y = torch.zeros_like(merged)
    y[0, place] = torch.randn(8, generator=rng)
    changed = (patches.spread(y, x) != patches.spread(torch.zeros_like(y), x)).any(2)[0]
    assert changed.nonzero().flatten().tolist() == square


def test_codes_not_merged_are_left_alone_without_a_weight(rng):
    patches = Patches(PriorConfig(width=8, depth=1, heads=2), (H, W), L)
    x, y = torch.randn(2, 1, L + H * W, 8, generator=rng)
    assert patches.merge(x) is x
    assert patches.spread(y, x) is y
    assert not list(patches.parameters())


@pytest.mark.parametrize("length", [0, L])
def test_every_code_and_word_reaches_every_prediction(length):
    prior = Transformer(CONFIG, 10, (H, W), generator(0), Text(length, 4 if length else 0))
    embedded = torch.randn(1, prior.row_length, 8, generator=generator(1)).requires_grad_()
    wanted = 5
    prior._inner(embedded, None)[0, wanted].sum().backward()
    assert (embedded.grad.abs().sum(2) > 0).all()


def test_a_grid_that_does_not_divide_is_refused():
    with pytest.raises(ConfigError, match="3×4 codes do not divide"):
        Patches(CONFIG, (3, 4), 0)


def test_an_autoregressive_prior_sees_single_codes_in_any_case():
    assert Patches(replace(CONFIG, kind="autoregressive"), (3, 4), 0).side == 1
