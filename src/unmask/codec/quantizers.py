"""Three quantisers: latent vectors to codes, each with its own gradient estimator."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from unmask.codec.config import QuantizerConfig
from unmask.codec.kmeans import far_rows, kmeans, nearest_rows, spread_rows


class Quantized(NamedTuple):
    """Latents after quantisation, with what training needs of it."""

    latents: Tensor  # (B, E, h, w), equal to lookup(codes) but for Gumbel's mixtures, differentiable
    codes: Tensor  # (B, h, w) int64 in [0, K)
    loss: Tensor  # scalar, the quantiser's own term
    before: Tensor  # (B, E, h, w), the latents as the encoder gave them


class Quantizer(nn.Module):
    """The interface of a quantiser; the three kinds follow."""

    codebook: nn.Parameter  # (K, E), of those that have one

    def initialise(self, rng: torch.Generator) -> None:
        """Set the weights that do not start from torch's defaults."""

    def begin(self, latents: Callable[[int], Tensor], rng: torch.Generator) -> None:
        """Do what comes before the first step; ``latents`` encodes the training batch of a number."""

    def after_step(self, used: Tensor, latents: Tensor, rng: torch.Generator) -> bool:
        """Update after a step; return whether weights may have changed other than by gradients.

        used: (K,) bool, the codes of the step, in all processes.  latents: (B, E, h, w), this process's own.
        """
        return False

    def state(self) -> dict[str, Tensor]:
        """The state to resume from, besides the weights."""
        return {}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from ``state``."""

    def forward(self, latents: Tensor, step: int, rng: torch.Generator) -> Quantized:
        """(B, E, h, w) latents to their quantised selves, with a gradient."""
        raise AssertionError("each kind of quantiser has its own forward")

    def nearest(self, latents: Tensor) -> Tensor:
        """(B, E, h, w) latents to the (B, h, w) codes that stand for them."""
        raise AssertionError("each kind of quantiser has its own nearest")

    def lookup(self, codes: Tensor) -> Tensor:
        """(B, h, w) codes to the (B, E, h, w) latents that they stand for: rows of the codebook."""
        return rearrange(F.embedding(codes, self.codebook), "B h w E -> B E h w")


class Nearest(Quantizer):
    """The closest codebook vector; the gradient passes straight through (van den Oord et al., 2017)."""

    idle: Tensor  # (K,) int64: training steps since a code was last used

    def __init__(self, config: QuantizerConfig, code_width: int) -> None:
        super().__init__()
        self.config = config
        self.codebook = nn.Parameter(torch.empty(config.codebook_size, code_width))
        self.register_buffer("idle", torch.zeros(config.codebook_size, dtype=torch.int64), persistent=False)

    def initialise(self, rng: torch.Generator) -> None:
        """Start from codes drawn uniformly from [−1/K, 1/K]."""
        bound = 1 / self.config.codebook_size
        nn.init.uniform_(self.codebook, -bound, bound, generator=rng)

    @torch.no_grad()
    def begin(self, latents: Callable[[int], Tensor], rng: torch.Generator) -> None:
        """Make the codebook the k-means centres of the latents of ``kmeans_batches`` batches.

        Seeds and recycled codes are drawn where latents are far from all codes, not where they are many: of
        a drawing most latents are plain background, which needs few codes.
        """
        if self.config.kmeans_batches:
            rows = torch.cat([_rows(latents(batch)) for batch in range(self.config.kmeans_batches)])
            self.codebook.copy_(kmeans(rows, spread_rows(rows, self.config.codebook_size, rng), rng))

    def forward(self, latents: Tensor, step: int, rng: torch.Generator) -> Quantized:
        """L = a·‖sg[e] − q‖² + b·‖sg[q] − e‖² (paper: a = 1, b = 0.25), means over all elements."""
        latents = latents.float()
        codes = self.nearest(latents)
        quantized = self.lookup(codes)
        loss = self.config.codebook_weight * F.mse_loss(quantized, latents.detach())
        loss = loss + self.config.commitment_weight * F.mse_loss(latents, quantized.detach())
        return Quantized(latents + (quantized - latents).detach(), codes, loss, latents.detach())

    @torch.no_grad()
    def nearest(self, latents: Tensor) -> Tensor:
        """The code at the smallest Euclidean distance from each latent."""
        codes = nearest_rows(_rows(latents.float()), self.codebook)
        return rearrange(codes, "(B h w) -> B h w", h=latents.shape[2], w=latents.shape[3])

    @torch.no_grad()
    def after_step(self, used: Tensor, latents: Tensor, rng: torch.Generator) -> bool:
        """Move codes that were idle for ``recycle_after`` steps onto latents of this one, far from all codes.

        Which ones stays on the device, without synchronisation.
        """
        if not self.config.recycle_after:
            return False
        self.idle = torch.where(used, 0, self.idle + 1)
        dead = self.idle >= self.config.recycle_after
        far = far_rows(_rows(latents.float()), self.codebook, len(dead), rng)
        self.codebook.copy_(torch.where(dead[:, None], far, self.codebook))
        self.idle.masked_fill_(dead, 0)
        return True

    def state(self) -> dict[str, Tensor]:
        """How long each code has been idle."""
        return {"idle": self.idle}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from ``state``."""
        self.idle.copy_(state["idle"])


class Gumbel(Quantizer):
    """A softmax over all codes with Gumbel noise, harder as its temperature falls (Jang et al., 2017)."""

    def __init__(self, config: QuantizerConfig, code_width: int) -> None:
        super().__init__()
        self.config = config
        self.logits = nn.Conv2d(code_width, config.codebook_size, 1)
        self.codebook = nn.Parameter(torch.empty(config.codebook_size, code_width))

    def initialise(self, rng: torch.Generator) -> None:
        """Start from codes drawn from a normal distribution."""
        nn.init.normal_(self.codebook, generator=rng)

    def temperature(self, step: int) -> float:
        """From 1 to 1/16, falling geometrically over ``anneal_steps``."""
        return float(16 ** -min(step / self.config.anneal_steps, 1.0))

    def forward(self, latents: Tensor, step: int, rng: torch.Generator) -> Quantized:
        """A mixture of code vectors; L = weight · KL(softmax(logits) ‖ uniform).

        With a frozen codebook, where the decoder trains alone, what it will be given: the nearest codes.
        """
        if not self.codebook.requires_grad:
            codes = self.nearest(latents)
            return Quantized(self.lookup(codes), codes, latents.new_zeros(()), latents.detach())
        logits = self.logits(latents).float()  # (B, K, h, w)
        noise = torch.empty(logits.shape, device=rng.device).exponential_(generator=rng).log().neg()
        weights = F.softmax((logits + noise.to(logits.device)) / self.temperature(step), dim=1)
        mixed = torch.einsum("bkhw,ke->behw", weights, self.codebook)
        log_p = F.log_softmax(logits, dim=1)
        divergence = (log_p.exp() * (log_p + math.log(self.config.codebook_size))).sum(1).mean()
        return Quantized(mixed, logits.argmax(1), self.config.kl_weight * divergence, latents.detach())

    @torch.no_grad()
    def nearest(self, latents: Tensor) -> Tensor:
        """The code of the largest logit, without noise."""
        with torch.autocast(latents.device.type, enabled=False):  # in which many would be equal
            logits: Tensor = self.logits(latents.float())
        return logits.argmax(1)


class FiniteScalar(Quantizer):
    """A few bounded scalars, each rounded to its levels: nothing to collapse (Mentzer et al., 2023).

    The bound is not the paper's. There a shifted tanh spans the levels from the first to the last, so that
    rounding leaves the outermost ones half the room of the others; here a sigmoid gives each the same.
    """

    levels: Tensor  # (d,) values each scalar can take
    basis: Tensor  # (d,) place value of each scalar's digit in a code

    def __init__(self, config: QuantizerConfig, code_width: int) -> None:
        super().__init__()
        self.project_in = nn.Conv2d(code_width, len(config.levels), 1)
        self.project_out = nn.Conv2d(len(config.levels), code_width, 1)
        levels = torch.tensor(config.levels)
        basis = torch.cumprod(torch.cat([torch.ones(1, dtype=torch.int64), levels[:-1]]), 0)
        self.register_buffer("levels", levels, persistent=False)
        self.register_buffer("basis", basis, persistent=False)

    def forward(self, latents: Tensor, step: int, rng: torch.Generator) -> Quantized:
        """Rounding whose gradient is the identity; there is no loss of its own."""
        bounded = self._bounded(latents)
        digits = bounded + (bounded.round() - bounded).detach()
        return Quantized(self._out(digits), self._codes(digits), latents.new_zeros(()), latents.detach())

    @torch.no_grad()
    def nearest(self, latents: Tensor) -> Tensor:
        """The code whose digits are the rounded scalars."""
        return self._codes(self._bounded(latents).round())

    def lookup(self, codes: Tensor) -> Tensor:
        """Digits of the codes, projected to latents."""
        basis, levels = (rearrange(x, "d -> d 1 1") for x in (self.basis, self.levels))
        return self._out(((codes[:, None] // basis) % levels).float())

    def _bounded(self, latents: Tensor) -> Tensor:
        """(B, E, h, w) to (B, d, h, w) between −½ and levels − ½, where rounding makes digits of it."""
        levels = rearrange(self.levels, "d -> d 1 1")
        spread = torch.sigmoid(self.project_in(latents).float())
        return (spread * levels - 0.5).clamp(min=-0.499).minimum(levels - 0.501)

    def _out(self, digits: Tensor) -> Tensor:
        levels = rearrange(self.levels, "d -> d 1 1")
        latents: Tensor = self.project_out(2 * digits / (levels - 1) - 1)  # each scalar in [−1, 1]
        return latents

    def _codes(self, digits: Tensor) -> Tensor:
        return (digits.round().long() * rearrange(self.basis, "d -> d 1 1")).sum(1)


def _rows(latents: Tensor) -> Tensor:
    """(B, E, h, w) latents to (B·h·w, E)."""
    return rearrange(latents, "B E h w -> (B h w) E")


KINDS: dict[str, type[Nearest | Gumbel | FiniteScalar]] = {
    "nearest": Nearest,
    "gumbel": Gumbel,
    "fsq": FiniteScalar,
}


def make_quantizer(config: QuantizerConfig, code_width: int) -> Quantizer:
    """The quantiser that the configuration names."""
    return KINDS[config.kind](config, code_width)
