"""A network for few rows computes what the original does, and leaves it alone."""

import pytest
import torch
from torch import nn

from unmask.prior.config import PriorConfig
from unmask.prior.few_rows import FewRows, for_few_rows
from unmask.prior.transformer import Transformer
from unmask.rng import generator, initialise


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(8,), (1, 8), (5, 8), (3, 2, 8)])
def test_it_computes_what_the_layer_does(shape, bias):
    layer = nn.Linear(8, 96, bias=bias)
    initialise(layer, generator(0))
    x = torch.randn(shape, generator=generator(1))
    few = for_few_rows(layer)
    assert isinstance(few, FewRows)
    torch.testing.assert_close(few(x), layer(x), atol=1e-6, rtol=0)


def test_a_layer_that_has_no_whole_number_of_blocks_stays():
    layer = nn.Linear(8, 33)
    assert for_few_rows(layer) is layer


def test_the_original_stays_as_it_was():
    prior = Transformer(
        PriorConfig(kind="autoregressive", width=32, depth=2, heads=2), 64, (4, 4), generator(0)
    )
    names = [name for name, _ in prior.named_modules()]
    few = for_few_rows(prior)
    assert any(isinstance(module, FewRows) for module in few.modules())
    assert [name for name, _ in prior.named_modules()] == names
    assert not any(isinstance(module, FewRows) for module in prior.modules())
    assert few.tokens.weight is prior.tokens.weight


def test_queries_keys_and_values_are_one_product_with_the_same_result():
    prior = Transformer(
        PriorConfig(kind="autoregressive", width=64, depth=1, heads=2, qk_norm=True), 64, (4, 4), generator(0)
    )
    attention, few = prior.blocks[0].attention, for_few_rows(prior).blocks[0].attention
    assert isinstance(few.qkv, FewRows)
    assert {"q", "kv"}.isdisjoint(name for name, _ in few.named_children())
    x = torch.randn(3, 1, 64, generator=generator(1))
    for one, other in zip(
        few.queries_keys_values(x, None), attention.queries_keys_values(x, None), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
