"""The prior: one Transformer over codes, bidirectional for absorbing diffusion, causal if autoregressive.

It has no time input: the number of masked codes says it.

A prior that knows words takes rows of L + N ids: the words of a caption, then the codes of an image. Ids
below K are codes, K is MASK, and those above are words. Where a code stands no word is possible, nor the
other way round. Without words L is 0.
"""

import math
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmask.prior.attention import Attention, rotary_angles
from unmask.prior.config import PriorConfig
from unmask.prior.kv_cache import KVCache
from unmask.prior.patches import Patches
from unmask.rng import initialise


class Text(NamedTuple):
    """The part of a prior's rows that captions take."""

    length: int = 0
    """L, the words of a caption."""
    num_words: int = 0
    """V, the size of the vocabulary."""

    @property
    def num_ids(self) -> int:
        """Ids beyond the codes: MASK and the words."""
        return 1 + self.num_words if self.length else 0


NO_TEXT = Text()


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
    """(B, L + N) words and codes to logits over all ids, −∞ for what cannot be, which MASK is."""

    angles: Tensor | None
    kind: Tensor  # of each id: 0 a code, 1 a word, 2 MASK

    def __init__(
        self,
        config: PriorConfig,
        codebook_size: int,
        grid: tuple[int, int],
        rng: torch.Generator | None = None,
        text: Text = NO_TEXT,
    ) -> None:
        """Build the network for codes in [0, codebook_size), the id codebook_size itself being MASK."""
        super().__init__()
        self.config, self.codebook_size, self.grid, self.text = config, codebook_size, grid, text
        self.causal = config.kind == "autoregressive"
        # An autoregressive prior sees MASK in captions only; it starts from a vector of its own.
        self.tokens = nn.Embedding(codebook_size + max(text.num_ids, not self.causal), config.width)
        self.start = nn.Parameter(torch.zeros(config.width)) if self.causal else None
        learned = config.positions == "learned"
        num_learned = text.length + learned * self.num_positions  # words have no place in the grid
        self.positions = nn.Parameter(torch.zeros(num_learned, config.width)) if num_learned else None
        angles = None if learned else rotary_angles(grid, config.width // config.heads, text.length)
        self.register_buffer("angles", angles, persistent=False)
        self.patches = Patches(config, grid, text.length)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, codebook_size + text.num_ids, bias=False)
        ids = torch.arange(codebook_size + text.num_ids)
        kind = (ids > codebook_size).byte().masked_fill(ids == codebook_size, 2)
        self.register_buffer("kind", kind, persistent=False)
        if rng is not None:
            self._initialise(rng)

    @property
    def num_positions(self) -> int:
        """N, the codes of one picture."""
        return self.grid[0] * self.grid[1]

    @property
    def caption_length(self) -> int:
        """L, the words of a caption."""
        return self.text.length

    @property
    def row_length(self) -> int:
        """L + N, the words of a caption and the codes of its picture."""
        return self.text.length + self.num_positions

    @property
    def mask_id(self) -> int:
        """The id that stands for a code not known."""
        return self.codebook_size

    def forward(self, codes: Tensor, where: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """Logits (where.sum(), K), where words are wanted over all ids, at the wanted positions, row-major.

        codes: (B, L + N) int64, MASK where unknown.  where: (B, L + N) bool.  The last block's queries,
        its MLP and the head run at wanted positions only. ``rng`` turns dropout on. An autoregressive prior
        looks only at what stands before a position, so that MASK may stand from there on.
        """
        places, real = pack(where)
        wanted = real.nonzero(as_tuple=True)  # for both: finding them waits for a GPU
        return self._finish(self._gathered(codes, places, rng)[wanted], places[wanted], rng)

    def at(self, codes: Tensor, places: Tensor) -> Tensor:
        """(B, L + N) codes and (B, Q) places to (B, Q, K) logits: ``forward`` for rows of one length."""
        return self._finish(self._gathered(codes, places, None), places, None)

    def begin(self, batch: int) -> KVCache:
        """A function from the last code of each of ``batch`` new sequences to the logits of the next."""
        return KVCache(self, batch)

    def _embed(self, codes: Tensor) -> Tensor:
        """(B, L + N) codes to (B, L + N, D); autoregressive: shifted by one, behind the start vector."""
        if self.causal:
            last = self.tokens.num_embeddings - 1  # what follows a MASK among codes is never predicted
            before = codes[:, :-1].clamp(max=last)
            x = torch.cat([self._start(codes.shape[0]), self.tokens(before)], dim=1)
        else:
            x = self.tokens(codes)
        return x if self.positions is None else x + self._offsets

    @property
    def _offsets(self) -> Tensor:
        """(L + N, D) what learned positions add: to words only, where the codes' are rotary."""
        assert self.positions is not None, "asked for where there are any"
        return F.pad(self.positions, (0, 0, 0, self.row_length - len(self.positions)))

    def _start(self, batch: int) -> Tensor:
        assert self.start is not None, "only an autoregressive prior has a start"
        return self.start.expand(batch, 1, -1)

    @property
    def _blocks(self) -> list[Block]:
        return cast(list[Block], list(self.blocks))

    def _inner(self, x: Tensor, rng: torch.Generator | None) -> Tensor:
        """(B, L + N, D) through all blocks but the last, which run at patches where codes are merged."""
        y = self.patches.merge(x)
        for block in self._blocks[:-1]:
            y = self._whole(block, y, rng)
        return self.patches.spread(y, x)

    def _whole(self, block: Block, x: Tensor, rng: torch.Generator | None) -> Tensor:
        normed = block.norm1(x)
        q = block.attention.queries(normed, self.patches.angles)
        k, v = block.attention.keys_values(normed, self.patches.angles)
        y = block.attention(q, k, v, causal=self.causal)
        x = x + dropout(y, self.config.dropout, rng)
        return x + dropout(block.mlp(x), self.config.dropout, rng)

    def _gathered(self, codes: Tensor, places: Tensor, rng: torch.Generator | None) -> Tensor:
        """(B, N) codes to (B, Q, D) at (B, Q) places, up to the last MLP.

        The last block's keys and values are computed in full, its queries at these places only.
        """
        x, last = self._inner(self._embed(codes), rng), self._blocks[-1]
        normed = last.norm1(x)
        k, v = last.attention.keys_values(normed, self.angles)
        angles = None if self.angles is None else self.angles[places][:, None]  # (B, 1, Q, d/2)
        visible = None
        if self.causal:
            visible = (places[:, :, None] >= torch.arange(codes.shape[1], device=x.device))[:, None]
        y = last.attention(last.attention.queries(gather(normed, places), angles), k, v, visible)
        return gather(x, places) + dropout(y, self.config.dropout, rng)

    def _finish(self, x: Tensor, places: Tensor, rng: torch.Generator | None) -> Tensor:
        """(…, D) at (…) places through the last MLP to (…, K) logits; over all ids where words are wanted."""
        L = self.text.length
        x = self.norm(x + dropout(self._blocks[-1].mlp(x), self.config.dropout, rng))
        if not torch.compiler.is_compiling() and (not L or bool((places >= L).all())):
            return F.linear(x, self.head.weight[: self.codebook_size]).float()
        return self.possible(self.head(x).float(), places)

    def possible(self, logits: Tensor, places: Tensor) -> Tensor:
        """Logits over all ids at (…) places, −∞ for words among codes, codes among words, and MASK."""
        return logits.masked_fill((places < self.text.length)[..., None] != self.kind, -math.inf)

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
