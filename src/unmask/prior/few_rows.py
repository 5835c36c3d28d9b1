"""Linear layers for a few rows at a time, such as one code of each picture."""

from copy import copy
from typing import TypeVar, cast

import torch
from einops import rearrange
from torch import Tensor, nn

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
        bias = torch.zeros(layer.out_features) if layer.bias is None else layer.bias.detach()
        self.bias = rearrange(bias.to(self.blocks), "(n block) -> n 1 block", block=BLOCK)

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) to (…, out)."""
        rows = x.reshape(-1, x.shape[-1]).expand(len(self.blocks), -1, -1)
        y = torch.baddbmm(self.bias, rows, self.blocks)
        return y.transpose(0, 1).reshape(*x.shape[:-1], -1)  # (rows, n · block)


def for_few_rows(network: Module) -> Module:
    """The same network, fast for a few rows on a CPU: copies of its linear weights, all else shared.

    It does not learn, and does not see what the original learns.
    """
    if isinstance(network, nn.Linear):
        fits = network.weight.device.type == "cpu" and network.out_features % BLOCK == 0
        return cast(Module, FewRows(network)) if fits else network
    same = copy(network)
    same._modules = {name: for_few_rows(child) for name, child in network.named_children()}
    return same
