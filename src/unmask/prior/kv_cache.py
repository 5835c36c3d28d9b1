"""The KV cache: an autoregressive prior that takes one code of each sequence at a time.

A step is hundreds of operations on a few rows. Reading weights in between leaves nothing of them in the
processor's caches, so that the overhead of each operation counts: plain functions instead of modules, and
torch's own ways of moving axes instead of those of ``einops``, save a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from unmask.prior.attention import rotate

if TYPE_CHECKING:
    from unmask.prior.transformer import Block, Transformer

Rows = Callable[[Tensor], Tensor]
"""A function of the rows (B, D)."""


class KVCache:
    """From the codes so far, given one after the other, to the logits of the next.

    It caches the keys and values of all codes. Where copies of weights are faster it holds copies, so that
    later updates of the prior do not reach it.
    """

    def __init__(self, prior: Transformer, batch: int) -> None:
        self._prior, self._batch = prior, batch
        self._blocks = [CachedBlock(block, batch, prior.row_length) for block in prior._blocks]
        self._norm, self._head = norm(prior.norm), product(prior.head, rows=batch)
        self._offsets = None if prior.positions is None else prior._offsets
        self._length = 0

    def __call__(self, codes: Tensor | None) -> Tensor:
        """(B, K) logits of the next code, after one more (B,) code of each sequence; the first takes none."""
        prior, place = self._prior, self._length
        assert place < prior.row_length, "there is a code for every position"
        x = prior._start(self._batch).squeeze(1) if codes is None else prior.tokens(codes)  # (B, D)
        x = x if self._offsets is None else x + self._offsets[place]
        angles = None if prior.angles is None else prior.angles[place : place + 1]
        for block in self._blocks:
            x = block(x, place, angles)
        self._length += 1
        logits = merge_blocks(self._head(self._norm(x))).float()
        if place >= prior.text.length:
            return logits[:, : prior.codebook_size]
        return prior.possible(logits, torch.full((), place, device=x.device))


class CachedBlock:
    """A block of the prior for one position, with the keys and values of those before it."""

    def __init__(self, block: Block, batch: int, num_positions: int) -> None:
        self._attention = attention = block.attention
        self._norms_heads = not isinstance(attention.q_norm, nn.Identity)
        head_width = attention.q.in_features // attention.heads
        self._norm1, self._norm2 = norm(block.norm1), norm(block.norm2)
        self._qkv = product(attention.q, attention.kv, rows=batch, block=head_width)
        self._out = product(attention.out, rows=batch)
        self._widen, self._narrow = product(block.widen, rows=batch), product(block.narrow, rows=batch)
        # Room for all positions at once: growing it would copy everything for every code.
        self._keys = attention.q.weight.new_empty(attention.heads, batch, num_positions, head_width)
        self._one = (attention.heads, batch, 1, head_width)  # of those positions
        self._values = torch.empty_like(self._keys)

    def __call__(self, x: Tensor, place: int, angles: Tensor | None) -> Tensor:
        """(B, D) to (B, D); ``angles`` are the place's rotary ones, (1, d/2)."""
        q, k, v = self._qkv(self._norm1(x)).view(3, *self._one).unbind()  # (M, B, 1, d) each
        if self._norms_heads or angles is not None:
            q, k = rotate(self._attention.q_norm(q), angles), rotate(self._attention.k_norm(k), angles)
        self._keys.narrow(2, place, 1).copy_(k)
        self._values.narrow(2, place, 1).copy_(v)
        keys, values = self._keys.narrow(2, 0, place + 1), self._values.narrow(2, 0, place + 1)
        y = F.scaled_dot_product_attention(q, keys, values)  # (M, B, 1, d)
        x = x + merge_blocks(self._out(merge_blocks(y.squeeze(2))))
        return x + merge_blocks(self._narrow(F.gelu(merge_blocks(self._widen(self._norm2(x))))))


def norm(layer: nn.LayerNorm) -> Rows:
    """(B, D) to (B, D)."""
    shape, weight, bias, eps = list(layer.normalized_shape), layer.weight, layer.bias, layer.eps
    return lambda x: torch.layer_norm(x, shape, weight, bias, eps)


def product(*layers: nn.Linear, rows: int, block: int | None = None) -> Rows:
    """(B, in) to (n, B, block): linear layers in one product, their columns in blocks.

    A few rows take as long as reading the weights does. On a CPU, MKL reads blocks of columns that lie
    together up to twice as fast as one matrix; a single row, or another device, reads them fast as they are.
    """
    weights = [layer.weight.detach() for layer in layers]
    biases = [layer.bias.detach() for layer in layers if layer.bias is not None]
    bias = torch.cat(biases) if biases else None
    block = block or gcd(32, *(layer.out_features for layer in layers))
    if rows == 1 or block < 16 or weights[0].device.type != "cpu":
        weight = torch.cat(weights) if len(weights) > 1 else weights[0]
        return lambda x: F.linear(x, weight, bias).view(rows, -1, block).transpose(0, 1)
    blocks = torch.cat([rearrange(weight, "(n block) i -> n i block", block=block) for weight in weights])
    if bias is None:
        return lambda x: torch.bmm(x.expand(len(blocks), -1, -1), blocks)
    shift = rearrange(bias, "(n block) -> n 1 block", block=block)
    return lambda x: torch.bmm(x.expand(len(blocks), -1, -1), blocks).add_(shift)


def merge_blocks(blocks: Tensor) -> Tensor:
    """(n, B, block) to (B, n · block)."""
    return blocks.transpose(0, 1).flatten(1)
