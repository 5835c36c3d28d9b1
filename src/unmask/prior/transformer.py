"""The prior: one Transformer over codes, bidirectional for absorbing diffusion, causal if autoregressive.

It has no time input: which codes are masked says all there is to know of the time.
"""

import math
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmask.prior.attention import Attention, rotary_angles
from unmask.prior.config import PriorConfig
from unmask.prior.kv_cache import KVCache
from unmask.rng import initialise


class Block(nn.Module):
    """Attention and an MLP, each normalised before and added after.

    ``widen`` and ``narrow`` are the MLP's two layers: saved tensors have these names.
    """

    def __init__(self, config: PriorConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config.width, config.heads, config.qk_norm)
        self.norm2 = nn.LayerNorm(config.width)
        self.widen = nn.Linear(config.width, 4 * config.width)
        self.narrow = nn.Linear(4 * config.width, config.width)

    def mlp(self, x: Tensor) -> Tensor:
        """(…, D) to (…, D), position by position."""
        y: Tensor = self.narrow(F.gelu(self.widen(self.norm2(x))))
        return y


class Transformer(nn.Module):
    """(B, N) codes to logits over K codes, never over MASK."""

    angles: Tensor | None

    def __init__(
        self,
        config: PriorConfig,
        codebook_size: int,
        grid: tuple[int, int],
        rng: torch.Generator | None = None,
    ) -> None:
        """Build the network for codes in [0, codebook_size), the id codebook_size itself being MASK."""
        super().__init__()
        self.config, self.codebook_size, self.grid = config, codebook_size, grid
        self.causal = config.kind == "autoregressive"
        # An autoregressive prior never sees MASK; it starts from a vector of its own instead.
        self.tokens = nn.Embedding(codebook_size + (not self.causal), config.width)
        self.start = nn.Parameter(torch.zeros(config.width)) if self.causal else None
        learned = config.positions == "learned"
        self.positions = nn.Parameter(torch.zeros(self.num_positions, config.width)) if learned else None
        angles = None if learned else rotary_angles(grid, config.width // config.heads)
        self.register_buffer("angles", angles, persistent=False)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, codebook_size, bias=False)
        if rng is not None:
            self._initialise(rng)

    @property
    def num_positions(self) -> int:
        """N, the codes of one picture."""
        return self.grid[0] * self.grid[1]

    @property
    def mask_id(self) -> int:
        """The id that stands for a code not known."""
        return self.codebook_size

    def forward(self, codes: Tensor, where: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """Logits (where.sum(), K) at the wanted positions, row-major.

        codes: (B, N) int64, MASK where unknown.  where: (B, N) bool.  The last block's queries, its MLP and
        the head run at wanted positions only. ``rng`` turns dropout on. An autoregressive prior looks only at
        the codes before a position, so that MASK may stand from there on.
        """
        places, real = pack(where)
        return self._finish(self._gathered(codes, places, rng)[real], rng)

    def at(self, codes: Tensor, places: Tensor) -> Tensor:
        """(B, N) codes and (B, Q) places to (B, Q, K) logits: ``forward`` for rows of one length."""
        return self._finish(self._gathered(codes, places, None), None)

    def hide(self, codes: Tensor, masked: Tensor) -> Tensor:
        """(B, N) codes as the network may be shown them when it is asked for those where ``masked``.

        An autoregressive prior looks only at what is before a position: nothing needs hiding from it.
        """
        return codes if self.causal else torch.where(masked, self.mask_id, codes)

    def begin(self, batch: int) -> KVCache:
        """A function from the last code of each of ``batch`` new sequences to the logits of the next."""
        return KVCache(self, batch)

    def _embed(self, codes: Tensor) -> Tensor:
        """(B, N) codes to (B, N, D); autoregressive: shifted by one, behind the start vector."""
        if self.causal:
            before = codes[:, :-1].clamp(max=self.codebook_size - 1)  # what follows a MASK is never asked for
            x = torch.cat([self._start(codes.shape[0]), self.tokens(before)], dim=1)
        else:
            x = self.tokens(codes)
        return x if self.positions is None else x + self.positions

    def _start(self, batch: int) -> Tensor:
        assert self.start is not None, "only an autoregressive prior has a start"
        return self.start.expand(batch, 1, -1)

    @property
    def _blocks(self) -> list[Block]:
        return cast(list[Block], list(self.blocks))

    def _whole(self, block: Block, x: Tensor, rng: torch.Generator | None) -> Tensor:
        normed = block.norm1(x)
        q = block.attention.queries(normed, self.angles)
        k, v = block.attention.keys_values(normed, self.angles)
        y = block.attention(q, k, v, causal=self.causal)
        x = x + dropout(y, self.config.dropout, rng)
        return x + dropout(block.mlp(x), self.config.dropout, rng)

    def _gathered(self, codes: Tensor, places: Tensor, rng: torch.Generator | None) -> Tensor:
        """(B, N) codes to (B, Q, D) at (B, Q) places, up to the last MLP.

        The last block's keys and values are computed in full, its queries at these places only.
        """
        x = self._embed(codes)
        *blocks, last = self._blocks
        for block in blocks:
            x = self._whole(block, x, rng)
        normed = last.norm1(x)
        k, v = last.attention.keys_values(normed, self.angles)
        angles = None if self.angles is None else self.angles[places][:, None]  # (B, 1, Q, d/2)
        visible = None
        if self.causal:
            visible = (places[:, :, None] >= torch.arange(codes.shape[1], device=x.device))[:, None]
        y = last.attention(last.attention.queries(gather(normed, places), angles), k, v, visible)
        return gather(x, places) + dropout(y, self.config.dropout, rng)

    def _finish(self, x: Tensor, rng: torch.Generator | None) -> Tensor:
        """(…, D) through the last MLP to (…, K) logits."""
        return self._head(x + dropout(self._blocks[-1].mlp(x), self.config.dropout, rng))

    def _head(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.norm(x))
        return logits.float()

    def _initialise(self, rng: torch.Generator) -> None:
        initialise(self, rng)
        if self.config.init == "gpt2":
            for module in self.modules():
                if isinstance(module, nn.Linear | nn.Embedding):
                    nn.init.normal_(module.weight, 0.0, 0.02, generator=rng)
                if isinstance(module, nn.Linear) and module.bias is not None:
                    nn.init.zeros_(module.bias)
            for block in self._blocks:
                for layer in (block.attention.out, block.narrow):
                    nn.init.normal_(layer.weight, 0.0, 0.02 / math.sqrt(2 * self.config.depth), generator=rng)
            if self.positions is not None:
                nn.init.normal_(self.positions, 0.0, 0.02, generator=rng)


def pack(where: Tensor) -> tuple[Tensor, Tensor]:
    """(B, N) bool to the places wanted, (B, Q) padded to the longest row, and which of them are real."""
    counts = where.sum(1)
    longest = int(counts.max())
    places = (~where).to(torch.uint8).argsort(dim=1, stable=True)[:, :longest]  # wanted ones first, in order
    return places, torch.arange(longest, device=where.device) < counts[:, None]


def gather(x: Tensor, places: Tensor) -> Tensor:
    """(B, N, D) at (B, Q) places to (B, Q, D)."""
    return x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))


def dropout(x: Tensor, share: float, rng: torch.Generator | None) -> Tensor:
    """Drop a share of the entries and scale up the rest; nothing without a generator."""
    if rng is None or share == 0:
        return x
    kept = torch.rand(x.shape, generator=rng, device=rng.device) >= share
    return x * kept.to(x.device) / (1 - share)
