"""How likely codes are under a prior: a bound for absorbing diffusion, exact for an autoregressive prior.

``likelihood_of`` looks at the kind of a prior, and so chooses how it is trained and scored.

Every draw of a score is addressed by (seed, image): an image is scored with the same masks whenever it is
scored and whatever batch it is in, so that two checkpoints differ by their weights alone.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from unmask.diffusion import process
from unmask.diffusion.fill import Denoiser
from unmask.diffusion.process import Network, antithetic_masks, count_shares, count_weights, stratified_counts
from unmask.rng import generator
from unmask.training.config import DiffusionConfig

CURVE_BINS = 32


class Prior(Denoiser, Protocol):
    """A network that can be scored, of codes alone, or of codes or words given the others."""

    @property
    def caption_length(self) -> int:
        """L, the words before the codes of a row."""

    @property
    def causal(self) -> bool:
        """Whether a position sees those before it alone."""


class Score(NamedTuple):
    """Negative log-likelihoods of the codes of some images."""

    nats: Tensor  # (n,) of each picture, all its codes together
    counts: Tensor  # (n, P) masked codes in each draw
    costs: Tensor  # (n, P) mean nats of a masked code in each draw


class Noise(NamedTuple):
    """The random generators of a training step."""

    masks: torch.Generator  # the same in all processes
    dropout: torch.Generator  # each process's own


def likelihood_of(prior: Prior) -> "Bound":
    """The training loss and score of this prior."""
    return Exact(prior) if prior.causal else Bound(prior)


def code_costs(prior: Prior, codes: Tensor, masked: Tensor) -> Tensor:
    """(B, N): −log p(code | what the prior may see of the rest) in nats where masked, 0 elsewhere."""
    shown = codes if prior.causal else torch.where(masked, prior.mask_id, codes)

    def network(codes: Tensor, where: Tensor, rng: torch.Generator | None) -> Tensor:
        return prior(codes, where).to(codes.device, torch.float32)  # a canvas answers in float64 on the CPU

    return process.cross_entropy(network, codes, shown, masked)


class Bound:
    """The likelihood of codes under an absorbing prior: a bound, estimated over masks."""

    def __init__(self, prior: Prior) -> None:
        self._prior = prior

    def loss(
        self, network: Network, x0: Tensor, config: DiffusionConfig, rows: slice, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """The training loss of some rows of a batch, and the bound in nats per code: two scalars.

        ``network`` is the prior as the engine wrapped it.  x0: (B, L + N), of all processes: times and masks
        are drawn for them as one, so that it does not matter how many processes share them. An image without
        a caption is a row whose words are MASK.
        """
        T, L, mask_id = config.steps, self._prior.caption_length, self._prior.mask_id
        xt, t = process.corrupt(
            x0[:, L:],
            T,
            mask_id,
            masking=config.masking,
            stratified=config.stratified,
            times=config.times,
            rng=noise.masks,
        )
        xt = torch.cat([process.absorb_words(x0[:, :L], mask_id, rng=noise.masks), xt], dim=1) if L else xt
        x0, xt, t = (tensor[rows] for tensor in (x0, xt, t))
        masked = (xt == mask_id) & (x0 != mask_id)
        costs = process.cross_entropy(
            network, x0, xt, masked, rng=noise.dropout, label_smoothing=config.label_smoothing
        )
        codes = costs[:, L:], masked[:, L:], t, T
        loss, elbo = process.loss(config.loss, *codes).mean(), process.loss("elbo", *codes).detach()
        bound = (elbo * process.time_weights(t, T, config.times)).mean()
        return _with_words(loss, costs[:, :L], masked[:, :L], config), bound

    def score(
        self, codes: Tensor, first: int, *, num_draws: int, num_steps: int | None, seed: int = 0
    ) -> Score:
        """Score images number ``first``, ``first + 1``, … of a set, given their (B, N) codes.

        The bound is that of the chain of ``num_steps`` steps, or of its limit with None, and takes
        ``num_draws`` passes, but at least 3.

        Two passes with complementary masks give the cost of every code when half are known. The
        others have mask counts spread over 1..N by ``count_shares``, masks in opposite pairs, and measure how
        much more or less the codes that they mask cost than in those two: which codes happen to be masked
        then matters little. The mean over masks of what is subtracted is known, so the estimate stays
        unbiased.
        """
        B, N = codes.shape
        drawn = [_masks(N, max(num_draws - 2, 1), seed, first + i) for i in range(B)]
        half, n, masked = map(torch.stack, zip(*drawn, strict=True))  # (B, N), (B, P), (B, P, N)
        usual = self._costs(codes, half) + self._costs(codes, ~half)  # (B, N)
        differences = torch.stack(
            [_mean_where(self._costs(codes, mask) - usual, mask) for mask in masked.unbind(1)], dim=1
        )  # (B, P)
        weights = (count_weights(N, num_steps) / count_shares(N))[n]
        # The weights of all counts add up to N, so what is subtracted comes back as the plain sum.
        nats = usual.sum(1) + (weights * differences).mean(1)
        return Score(nats, n, differences + usual.mean(1, keepdim=True))

    def code_nats(self, codes: Tensor, first: int, *, num_pairs: int, seed: int = 0) -> Tensor:
        """(B, N) nats of each code of images number ``first`` and on, over how much of the rest is known.

        A code is revealed when some n of N are still masked, each n as likely as any other. A mask of n codes
        holds a given one with probability n/N, hence the weights 1/n. Masks come in pairs, each other's
        complement: every code is seen as often.
        """
        B, N = codes.shape
        total, weight = torch.zeros(2, B, N, dtype=torch.float64)
        for pair in range(num_pairs):
            masked = torch.stack([_mask(N, seed, first + i, pair) for i in range(B)])
            for mask in (masked, ~masked):
                share = mask / mask.sum(1, keepdim=True).clamp(min=1).double()
                total += share * self._costs(codes, mask)
                weight += share
        by_code: Tensor = total / weight
        return by_code

    @torch.no_grad()
    def _costs(self, codes: Tensor, masked: Tensor) -> Tensor:
        return code_costs(self._prior, codes, masked.to(codes.device)).cpu().double()


class Exact(Bound):
    """The likelihood under an autoregressive prior: exact, in one pass over all codes."""

    def loss(
        self, network: Network, x0: Tensor, config: DiffusionConfig, rows: slice, noise: Noise
    ) -> tuple[Tensor, Tensor]:
        """The mean cost of a code, which is the likelihood itself; a tenth of the captions is not shown."""
        L, mask_id = self._prior.caption_length, self._prior.mask_id
        if L:
            rng = noise.masks
            hidden = torch.rand(len(x0), 1, generator=rng, device=rng.device).to(x0.device) < 0.1
            x0 = torch.cat([x0[:, :L].masked_fill(hidden, mask_id), x0[:, L:]], dim=1)
        x0 = x0[rows]
        known = x0 != mask_id
        costs = process.cross_entropy(
            network, x0, x0, known, rng=noise.dropout, label_smoothing=config.label_smoothing
        )
        codes = costs[:, L:].mean()
        return _with_words(codes, costs[:, :L], known[:, :L], config), codes.detach()

    def score(
        self, codes: Tensor, first: int, *, num_draws: int, num_steps: int | None, seed: int = 0
    ) -> Score:
        """The exact cost of all codes, without random masks."""
        nats = self.code_nats(codes, first, num_pairs=0).sum(1)
        no_draws = torch.zeros(len(codes), 0)
        return Score(nats, no_draws.long(), no_draws.double())

    def code_nats(self, codes: Tensor, first: int, *, num_pairs: int, seed: int = 0) -> Tensor:
        """What each code costs after those before it."""
        return self._costs(codes, torch.ones_like(codes, dtype=torch.bool))


def _with_words(codes: Tensor, costs: Tensor, wanted: Tensor, config: DiffusionConfig) -> Tensor:
    """The loss of the codes and, by its share, the mean cost of a word, (B, L) where ``wanted``."""
    if not wanted.shape[1]:
        return codes
    return torch.lerp(codes, costs.sum() / wanted.sum().clamp(min=1), config.text_share)


def _mean_where(costs: Tensor, mask: Tensor) -> Tensor:
    """(B, N) costs to the (B,) means over the positions of a mask."""
    return (costs * mask).sum(1) / mask.sum(1)


def _masks(num_codes: int, num_draws: int, seed: int, picture: int) -> tuple[Tensor, Tensor, Tensor]:
    """A half of the positions, and the mask counts and masks of the free draws."""
    rng = generator(seed, "score", picture)
    half = torch.rand(num_codes, generator=rng).argsort().argsort() < (num_codes + 1) // 2
    counts = stratified_counts(count_shares(num_codes), 1, num_draws, rng=rng)
    return half, counts[0], antithetic_masks(counts, num_codes, rng=rng)[0]


def _mask(num_codes: int, seed: int, picture: int, pair: int) -> Tensor:
    rng = generator(seed, "surprise", picture, pair)
    count = int(torch.randint(num_codes + 1, (), generator=rng))  # 0 too: its complement is everything
    return torch.rand(num_codes, generator=rng).argsort().argsort() < count


def join(scores: Iterable[Score]) -> Score:
    """Scores of several batches as one."""
    return Score(*(torch.cat(parts) for parts in zip(*scores, strict=True)))


def bits_by_picture(score: Score, num_codes: int) -> Tensor:
    """(n,) bits per code."""
    return score.nats / (num_codes * math.log(2))


def cost_curve(score: Score, num_codes: int) -> dict[str, list[float]]:
    """h(r): mean nats of a masked code by the share of codes masked, in bins that hold as many draws each.

    Sampling schedules are planned with it: it says what revealing a code costs early and late.
    Every bin has its own draws of other images; so each image counts by how far it is from its mean cost.
    ``error`` is the standard error of each mean, as if every bin had one more draw, as far off as draws of
    all bins usually are: a few draws that happen to agree prove little. Exact scores take no draws, and
    have no curve.
    """
    if not score.counts.numel():
        return {}
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
