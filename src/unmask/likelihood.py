"""How many bits a prior needs for a picture's codes: a bound for absorbing diffusion, exact for its twin.

Every draw is addressed by (seed, picture): a picture is scored with the same masks whenever it is scored and
whatever batch it is in, so that two checkpoints differ by their weights alone.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unmask.diffusion.process import antithetic_masks, count_weights, stratified_counts
from unmask.prior.transformer import Transformer
from unmask.rng import generator

CURVE_BINS = 32


class Score(NamedTuple):
    """What the codes of some pictures cost."""

    nats: Tensor  # (n,) of each picture, all its codes together
    counts: Tensor  # (n, P) masked codes in each draw
    costs: Tensor  # (n, P) mean nats of a masked code in each draw


def code_costs(
    prior: Transformer,
    x0: Tensor,
    masked: Tensor,
    *,
    network: nn.Module | None = None,
    rng: torch.Generator | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """(B, N): −log p(x0_i | what the prior may see of the rest) in nats where masked, 0 elsewhere.

    Training passes the prior as its engine wrapped it (``network``), dropout (``rng``) and label smoothing.
    """
    # The causal twin looks only at what stands before a position: nothing needs hiding from it.
    shown = x0 if prior.causal else torch.where(masked, prior.mask_id, x0)
    logits = (network or prior)(shown, masked, rng)
    costs = F.cross_entropy(logits, x0[masked], reduction="none", label_smoothing=label_smoothing)
    return torch.zeros(x0.shape, device=x0.device).masked_scatter(masked, costs)


@torch.no_grad()
def score_codes(
    prior: Transformer, codes: Tensor, first: int, *, num_draws: int, num_steps: int | None, seed: int = 0
) -> Score:
    """Score pictures number ``first``, ``first + 1``, … of a set, given their (B, N) codes.

    The bound is that of the chain of ``num_steps`` steps, or of its limit with None. A picture takes
    ``num_draws`` passes, mask counts spread evenly over 1..N, masks in opposite pairs; the causal twin takes
    one, and is exact.
    """
    B, N = codes.shape
    if prior.causal:
        everything = torch.ones_like(codes, dtype=torch.bool)
        nats = code_costs(prior, codes, everything).double().sum(1)
        return Score(nats, torch.full((B, 1), N), (nats / N)[:, None])
    counts, masks = zip(*(_masks(N, num_draws, seed, first + i) for i in range(B)), strict=True)
    n, masked = torch.stack(counts), torch.stack(masks).to(codes.device)  # (B, P), (B, P, N)
    sums = torch.stack([code_costs(prior, codes, m).double().sum(1) for m in masked.unbind(1)], dim=1)
    costs = sums.cpu() / n
    weights = count_weights(N, num_steps)[n]
    return Score((N * weights * costs).mean(1), n, costs)


def _masks(num_codes: int, num_draws: int, seed: int, picture: int) -> tuple[Tensor, Tensor]:
    rng = generator(seed, "score", picture)
    counts = stratified_counts(1, num_draws, num_codes, rng=rng)
    return counts[0], antithetic_masks(counts, num_codes, rng=rng)[0]


def join(scores: Iterable[Score]) -> Score:
    """Scores of several batches as one."""
    return Score(*(torch.cat(parts) for parts in zip(*scores, strict=True)))


def bits_per_code(score: Score, num_codes: int) -> tuple[float, float]:
    """The mean over pictures and its standard error."""
    bits = score.nats / (num_codes * math.log(2))
    error = bits.std().item() / math.sqrt(len(bits)) if len(bits) > 1 else math.nan
    return bits.mean().item(), error


def cost_curve(score: Score, num_codes: int) -> dict[str, list[float]]:
    """h(r): mean nats of a masked code by the share of codes masked, in equal bins of that share.

    It tells what revealing a code costs early and late, which is what a sampling schedule is planned with.
    """
    bins = min(CURVE_BINS, num_codes)
    place = ((score.counts - 1) * bins // num_codes).flatten()
    total = torch.zeros(bins, dtype=torch.float64).index_add_(0, place, score.costs.double().flatten())
    ratio = torch.zeros(bins, dtype=torch.float64).index_add_(
        0, place, score.counts.double().flatten() / num_codes
    )
    number = torch.bincount(place, minlength=bins)
    seen = number > 0
    return {"ratio": (ratio / number)[seen].tolist(), "nats": (total / number)[seen].tolist()}
