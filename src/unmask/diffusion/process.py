"""Absorbing diffusion as mathematics: masking, the bound on the likelihood, the losses.

Notation of the paper: x0 are clean codes (B, N), xt the same with some absorbed into MASK, and t in 1..T is
the time. The network's *costs* at (x0, xt) are (B, N): −log p(x0_i | xt) in nats where a code is masked, 0
where it is known. A masked set of size n is uniform among its equals, so every loss here is a weighting of

    h(n) = mean cost of a masked code when n of N are masked.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Network = Callable[[Tensor, Tensor, torch.Generator | None], Tensor]
"""(B, N) codes, MASK where unknown, and (B, N) bool, where to look, to the logits (where.sum(), K) there."""


def absorb(x0: Tensor, t: Tensor, num_steps: int, mask_id: int, *, rng: torch.Generator) -> Tensor:
    """Draw x_t ~ q(x_t | x_0): every code is absorbed into MASK with probability t/T, on its own.

    x0: (B, N) int64 codes.  t: (B,) int64 in 1..T.  Returns x_t: (B, N) int64.
    """
    draws = torch.rand(x0.shape, generator=rng, device=rng.device).to(x0.device)
    return torch.where(draws < (t / num_steps)[:, None], mask_id, x0)


def absorb_exactly(x0: Tensor, counts: Tensor, mask_id: int, *, rng: torch.Generator) -> Tensor:
    """x0 with ``counts`` codes of each row, chosen uniformly, absorbed into MASK.

    x0: (B, N) int64 codes.  counts: (B,) int64 in 0..N.  Returns (B, N) int64.
    """
    order = torch.rand(x0.shape, generator=rng, device=rng.device).argsort(dim=1).argsort(dim=1)
    return torch.where(order.to(x0.device) < counts[:, None], mask_id, x0)


def draw_times(
    batch: int, num_steps: int, *, stratified: bool, rng: torch.Generator, times: str = "uniform"
) -> Tensor:
    """(B,) times in 1..T, each uniform, or T·cos(πu/2) of a uniform u; stratified, spread over the batch."""
    if times == "uniform" and not stratified:
        return torch.randint(1, num_steps + 1, (batch,), generator=rng, device=rng.device)
    places = torch.randperm(batch, generator=rng, device=rng.device) if stratified else 0
    strata = batch if stratified else 1
    u = (places + torch.rand(batch, generator=rng, device=rng.device)) / strata  # (B,) uniform on [0, 1)
    shares = u if times == "uniform" else torch.cos(u * (math.pi / 2))
    return (shares * num_steps).long().clamp(max=num_steps - 1) + 1


def time_weights(t: Tensor, num_steps: int, times: str) -> Tensor:
    """(B,) how much rarer each time is drawn than if all were equally likely: 1/(T·p(t))."""
    if times == "uniform":
        return torch.ones_like(t, dtype=torch.float32)
    later, earlier = torch.acos((t - 1) / num_steps), torch.acos(t / num_steps)
    return math.pi / 2 / num_steps / (later - earlier)


def corrupt(
    x0: Tensor,
    num_steps: int,
    mask_id: int,
    *,
    masking: str,
    stratified: bool,
    rng: torch.Generator,
    times: str = "uniform",
) -> tuple[Tensor, Tensor]:
    """Draw times t and noisy codes x_t at them: (B, N) and (B,).

    Of masking "fixed" exactly the share t/T of the codes is absorbed, instead of each on its own. That is
    possible only at times that make it a whole number of codes, so t goes up to the next of these.
    """
    t = draw_times(len(x0), num_steps, stratified=stratified, rng=rng, times=times).to(x0.device)
    if masking == "random":
        return absorb(x0, t, num_steps, mask_id, rng=rng), t
    N = x0.shape[1]
    counts = (t * N / num_steps).ceil().long()
    return absorb_exactly(x0, counts, mask_id, rng=rng), counts * num_steps / N


def absorb_words(words: Tensor, mask_id: int, *, rng: torch.Generator) -> Tensor:
    """(B, L) words with some absorbed: of a fifth of the captions all, of two fifths none, else any share.

    So every conditional is learnt, best those that are sampled: given the whole caption, or none.
    """
    draws = torch.rand(len(words), 2, generator=rng, device=rng.device).to(words.device)
    share = torch.where(draws[:, 0] < 0.2, 1.0, torch.where(draws[:, 0] < 0.6, 0.0, draws[:, 1]))
    absorbed = torch.rand(words.shape, generator=rng, device=rng.device).to(words.device) < share[:, None]
    return torch.where(absorbed, mask_id, words)


def cross_entropy(
    network: Network,
    x0: Tensor,
    xt: Tensor,
    masked: Tensor,
    *,
    rng: torch.Generator | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """(B, N) costs: −log p(x0_i | xt) in nats where masked, 0 elsewhere.

    xt: (B, N) int64, what the network is shown.  masked: (B, N) bool.  ``rng`` turns dropout on.
    """
    logits = network(xt, masked, rng)
    if label_smoothing and logits.isinf().any():  # spread over what is possible
        log_p, possible = logits.log_softmax(1), ~logits.isinf()
        evenly = -log_p.masked_fill(~possible, 0).sum(1) / possible.sum(1)
        costs = torch.lerp(F.nll_loss(log_p, x0[masked], reduction="none"), evenly, label_smoothing)
    else:
        costs = F.cross_entropy(logits, x0[masked], reduction="none", label_smoothing=label_smoothing)
    return torch.zeros(x0.shape, device=x0.device).masked_scatter(masked, costs)


def loss(kind: str, costs: Tensor, masked: Tensor, t: Tensor, num_steps: int) -> Tensor:
    """(B,) training losses in nats a code, from the network's costs.

    costs: (B, N), zero where not masked.  masked: (B, N) bool.  t: (B,) in 1..T.
    """
    N = costs.shape[1]
    if kind == "elbo":  # T/t makes one uniform t an unbiased draw of the whole sum over t of 1/t
        return costs.sum(1) * (num_steps / t) / N
    if kind == "reweighted":  # (T − t + 1)/T, as the paper's appendix derives it
        return costs.sum(1) * ((num_steps - t + 1) / num_steps) / N
    assert kind == "mlm"
    return costs.sum(1) / masked.sum(1).clamp(min=1)


def count_weights(num_codes: int, num_steps: int | None) -> Tensor:
    """(N + 1,) weights w(n) such that the T-step bound on −log p(x0) is Σ_n w(n)·h(n).

    w(n) = Σ_t (1/t)·n·Binomial(n; N, t/T). As T grows this becomes 1 for every n ≥ 1: the average over all
    orders of an autoregressive model, which ``num_steps=None`` gives exactly.
    """
    n = torch.arange(num_codes + 1, dtype=torch.float64)
    if num_steps is None:
        return (n > 0).double()
    t = torch.arange(1, num_steps + 1, dtype=torch.float64)[:, None]
    p = t / num_steps
    log_choose = math.lgamma(num_codes + 1) - torch.lgamma(n + 1) - torch.lgamma(num_codes - n + 1)
    log_binomial = log_choose + torch.xlogy(n, p) + torch.xlogy(num_codes - n, 1 - p)  # (T, N + 1)
    return (log_binomial.exp() / t).sum(0) * n


def bound_from_curve(curve: Tensor, num_steps: int | None) -> Tensor:
    """(…,) bounds in nats from (…, N) values h(1), …, h(N)."""
    weights = count_weights(curve.shape[-1], num_steps)[1:].to(curve)
    return (curve * weights).sum(-1)


def count_shares(num_codes: int) -> Tensor:
    """(N + 1,) shares of its passes that an estimate of the bound spends on each mask count: the arcsine law.

    A few masked codes are a small sample, and when nearly all are masked the cost changes fastest with their
    number. So both ends get more passes than the middle.
    """
    n = torch.arange(num_codes + 1, dtype=torch.float64)
    shares = (n * (num_codes + 1 - n)).rsqrt().masked_fill(n == 0, 0)
    return shares / shares.sum()


def stratified_counts(shares: Tensor, batch: int, num_draws: int, *, rng: torch.Generator) -> Tensor:
    """(B, num_draws) mask counts, one from each of ``num_draws`` parts of equal share.

    Each row's mean over its draws of any function of the count is unbiased for its mean under the shares.
    """
    parts = torch.arange(num_draws, device=rng.device)
    u = torch.rand(batch, num_draws, generator=rng, device=rng.device, dtype=torch.float64)
    counts = torch.searchsorted(shares.cumsum(0), (parts + u) / num_draws, right=True)
    return counts.clamp(max=len(shares) - 1)


def antithetic_masks(counts: Tensor, num_codes: int, *, rng: torch.Generator) -> Tensor:
    """(B, P) counts to (B, P, N) masks of those sizes; neighbours in P take opposite ends of one order.

    Each mask alone is uniform among those of its size, so estimates stay unbiased; together a pair covers the
    positions more evenly than two independent masks.
    """
    B, P = counts.shape
    draws = torch.rand(B, (P + 1) // 2, num_codes, generator=rng, device=rng.device)
    order = draws.argsort(dim=2).argsort(dim=2)  # the place of each position in a random order
    both = torch.stack([order, num_codes - 1 - order], dim=2).flatten(1, 2)[:, :P]
    return both < counts[:, :, None]
