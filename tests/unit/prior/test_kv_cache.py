"""A prior told one code at a time uses the weights of the prior, and leaves it alone.

That it computes what the prior does is tested with the prior, for all kinds of positions and norms.
"""

import pytest
import torch
from torch import nn

from unmask.prior.config import PriorConfig
from unmask.prior.kv_cache import merge_blocks, product
from unmask.prior.transformer import Transformer
from unmask.rng import generator, initialise


def linear(inputs, outputs, *, bias=True):
    layer = nn.Linear(inputs, outputs, bias=bias)
    initialise(layer, generator(outputs))
    return layer


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 8])
@pytest.mark.parametrize("outputs", [96, 48, 33], ids=lambda outputs: f"{outputs} columns")
def test_a_product_is_what_the_layer_computes(rows, outputs, bias):
    layer = linear(8, outputs, bias=bias)
    x = torch.randn(rows, 8, generator=generator(1))
    torch.testing.assert_close(merge_blocks(product(layer, rows=rows)(x)), layer(x), atol=1e-6, rtol=0)


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("block", [16, 4], ids=lambda block: f"blocks of {block}")
def test_layers_stand_side_by_side_in_blocks_as_wide_as_asked(rows, block):
    one, other = linear(8, 32), linear(8, 64)
    x = torch.randn(rows, 8, generator=generator(1))
    blocks = product(one, other, rows=rows, block=block)(x)
    assert blocks.shape == (96 // block, rows, block)
    torch.testing.assert_close(merge_blocks(blocks), torch.cat([one(x), other(x)], dim=1), atol=1e-6, rtol=0)


def test_it_takes_no_more_codes_than_there_are_positions():
    prior = Transformer(
        PriorConfig(kind="autoregressive", width=32, depth=1, heads=2), 64, (2, 2), generator(0)
    )
    next_logits = prior.begin(3)
    next_logits(None)
    for _ in range(3):
        next_logits(torch.zeros(3, dtype=torch.int64))
    with pytest.raises(AssertionError, match="a code for every position"):
        next_logits(torch.zeros(3, dtype=torch.int64))


def test_the_prior_itself_stays_as_it_was():
    prior = Transformer(
        PriorConfig(kind="autoregressive", width=64, depth=2, heads=2), 64, (4, 4), generator(0)
    )
    before = {name: value.clone() for name, value in prior.state_dict().items()}
    next_logits = prior.begin(2)
    next_logits(None)
    after = prior.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)
