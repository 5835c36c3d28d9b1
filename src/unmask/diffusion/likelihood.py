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

from unmask.diffusion.process import antithetic_masks, count_shares, count_weights, stratified_counts
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
    ``num_draws`` passes, but at least 3; the causal twin takes one, and is exact.

    Two passes whose masks are each other's complement tell what every code costs when half are known. The
    others have mask counts spread over 1..N by ``count_shares``, masks in opposite pairs, and measure how
    much more or less the codes that they mask cost than in those two: which codes happen to be masked then
    matters little. The mean over masks of what is subtracted is known, so the estimate stays unbiased.
    """
    B, N = codes.shape
    if prior.causal:
        everything = torch.ones_like(codes, dtype=torch.bool)
        nats = code_costs(prior, codes, everything).cpu().double().sum(1)
        return Score(nats, torch.full((B, 1), N), (nats / N)[:, None])
    drawn = [_masks(N, _num_free(num_draws), seed, first + i) for i in range(B)]
    half, n, masked = (torch.stack(part) for part in zip(*drawn, strict=True))  # (B, N), (B, P), (B, P, N)
    sides = [code_costs(prior, codes, side.to(codes.device)).cpu().double() for side in (half, ~half)]
    usual = sides[0] + sides[1]  # (B, N)
    differences = torch.stack(
        [
            _mean_where(code_costs(prior, codes, mask.to(codes.device)).cpu().double() - usual, mask)
            for mask in masked.unbind(1)
        ],
        dim=1,
    )  # (B, P)
    weights = (count_weights(N, num_steps) / count_shares(N))[n]
    # The weights of all counts add up to N, so what is subtracted comes back as the plain sum.
    nats = usual.sum(1) + (weights * differences).mean(1)
    return Score(nats, n, differences + usual.mean(1, keepdim=True))


def unscored(prior: Transformer, count: int, num_draws: int) -> Score:
    """Zeros in place of ``score_codes``, for processes to add up what each has scored."""
    shape = (count, 1 if prior.causal else _num_free(num_draws))
    return Score(torch.zeros(count).double(), torch.zeros(shape).long(), torch.zeros(shape).double())


def _num_free(num_draws: int) -> int:
    """P, the passes beside the two that tell what codes cost when half are known."""
    return max(num_draws - 2, 1)


def _mean_where(costs: Tensor, mask: Tensor) -> Tensor:
    """(B, N) costs to the (B,) means over the positions of a mask."""
    return (costs * mask).sum(1) / mask.sum(1)


def _masks(num_codes: int, num_draws: int, seed: int, picture: int) -> tuple[Tensor, Tensor, Tensor]:
    """A half of the positions, and the mask counts and masks of the free draws."""
    rng = generator(seed, "score", picture)
    half = torch.rand(num_codes, generator=rng).argsort().argsort() < (num_codes + 1) // 2
    counts = stratified_counts(count_shares(num_codes), 1, num_draws, rng=rng)
    return half, counts[0], antithetic_masks(counts, num_codes, rng=rng)[0]


@torch.no_grad()
def code_nats(prior: Transformer, codes: Tensor, first: int, *, num_pairs: int, seed: int = 0) -> Tensor:
    """(B, N) nats of each code of pictures number ``first`` and on, over how much of the rest is known.

    A code is revealed when some n of N are still masked, each n as likely as any other. A mask of n codes
    holds a given one with probability n/N, hence the weights 1/n. Masks come in pairs, each other's
    complement: every code is seen as often. For an autoregressive prior it is what the code costs after those
    before it.
    """
    if prior.causal:
        return code_costs(prior, codes, torch.ones_like(codes, dtype=torch.bool)).cpu().double()
    B, N = codes.shape
    total, weight = torch.zeros(2, B, N, dtype=torch.float64)
    for pair in range(num_pairs):
        masked = torch.stack([_mask(N, seed, first + i, pair) for i in range(B)])
        for mask in (masked, ~masked):
            share = mask / mask.sum(1, keepdim=True).clamp(min=1).double()
            total += share * code_costs(prior, codes, mask.to(codes.device)).cpu().double()
            weight += share
    by_code: Tensor = total / weight
    return by_code


def _mask(num_codes: int, seed: int, picture: int, pair: int) -> Tensor:
    rng = generator(seed, "surprise", picture, pair)
    count = int(torch.randint(num_codes + 1, (), generator=rng))  # 0 too: its complement is everything
    return torch.rand(num_codes, generator=rng).argsort().argsort() < count


def join(scores: Iterable[Score]) -> Score:
    """Scores of several batches as one."""
    return Score(*(torch.cat(parts) for parts in zip(*scores, strict=True)))


def bits_per_code(score: Score, num_codes: int) -> tuple[float, float]:
    """The mean over pictures and its standard error."""
    bits = score.nats / (num_codes * math.log(2))
    error = bits.std().item() / math.sqrt(len(bits)) if len(bits) > 1 else math.nan
    return bits.mean().item(), error


def cost_curve(score: Score, num_codes: int) -> dict[str, list[float]]:
    """h(r): mean nats of a masked code by the share of codes masked, in bins that hold as many draws each.

    It tells what revealing a code costs early and late, which is what a sampling schedule is planned with.
    Every bin has its own draws of other pictures; so each picture counts by how far it is from its mean cost.
    ``error`` is the standard error of each mean, as if every bin had one more draw, as far off as draws of
    all bins usually are: a bin of a few that happen to agree is not sure.
    """
    level = score.nats / num_codes
    costs = (score.costs - level[:, None] + level.mean()).flatten()
    shares = count_shares(num_codes)
    middle = shares.cumsum(0) - shares / 2
    place = (middle * CURVE_BINS).long()[score.counts].flatten()
    number = torch.bincount(place, minlength=CURVE_BINS)

    def total(values: Tensor) -> Tensor:
        return torch.zeros(CURVE_BINS, dtype=torch.float64).index_add_(0, place, values.double())

    ratio, nats = total(score.counts.flatten() / num_codes) / number, total(costs) / number
    squares = total((costs - nats[place]).square())
    error = (squares + squares.sum() / len(place)).sqrt() / number
    seen = number > 0
    points = {"ratio": ratio, "nats": nats, "error": error}
    return {name: values[seen].tolist() for name, values in points.items()}
