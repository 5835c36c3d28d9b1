"""Linear layers for a few rows at a time, such as one code of each picture."""

from copy import copy
from typing import TypeVar, cast

import torch
from einops import rearrange
from torch import Tensor, nn

from unmask.prior.attention import Attention

BLOCK = 32
Module = TypeVar("Module", bound=nn.Module)


class FewRows(nn.Module):
    """What a linear layer computes, from its weights in blocks of columns that lie together.

    A few rows take as long as reading the weights does, and MKL reads such blocks up to twice as fast as one
    matrix.
    """

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.blocks = rearrange(layer.weight.detach(), "(n block) i -> n i block", block=BLOCK).contiguous()
        self.bias = None if layer.bias is None else layer.bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) to (…, out)."""
        rows = x.reshape(-1, x.shape[-1]).expand(len(self.blocks), -1, -1)
        y = torch.bmm(rows, self.blocks).transpose(0, 1).reshape(*x.shape[:-1], -1)  # (…, n · block)
        return y if self.bias is None else y.add_(self.bias)


def for_few_rows(network: Module) -> Module:
    """The same network, fast for a few rows on a CPU: copies of its linear weights, all else shared.

    It does not learn, and does not see what the original learns.
    """
    if isinstance(network, nn.Linear):
        fits = network.weight.device.type == "cpu" and network.out_features % BLOCK == 0
        return cast(Module, FewRows(network)) if fits else network
    children = dict(network.named_children())
    if isinstance(network, Attention):
        children["qkv"] = _beside(children.pop("q"), children.pop("kv"))
    same = copy(network)
    same._modules = {name: for_few_rows(child) for name, child in children.items()}
    return same


def _beside(*layers: nn.Module) -> nn.Linear:
    """One layer that computes what several do of the same rows: one product of a few rows beats two."""
    linear = [cast(nn.Linear, layer) for layer in layers]
    joined = nn.Linear(linear[0].in_features, sum(layer.out_features for layer in linear), device="meta")
    joined.weight = nn.Parameter(torch.cat([layer.weight.detach() for layer in linear]))
    joined.bias = nn.Parameter(torch.cat([layer.bias.detach() for layer in linear]))
    return joined
