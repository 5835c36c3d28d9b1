"""The bound, by enumeration: a 2×2 grid, three codes, every mask and every clean picture in sight."""

import itertools
import math

import pytest
import torch

from unmask.diffusion.process import (
    absorb,
    absorb_exactly,
    antithetic_masks,
    bound_from_curve,
    corrupt,
    count_shares,
    count_weights,
    draw_times,
    loss,
    stratified_counts,
    time_weights,
)
from unmask.rng import generator

N, K, T = 4, 3, 5
MASK = K
SUBSETS = torch.tensor(list(itertools.product([False, True], repeat=N)))  # (2^N, N)


class Table:
    """A network without training: any table from masked pictures to logits is a valid one."""

    def __init__(self, seed: int) -> None:
        self.logits = torch.randn(
            (K + 1,) * N + (N, K), generator=generator(seed, "table"), dtype=torch.float64
        )

    def costs(self, x0, xt):
        """(B, N): −log p(x0_i | xt) where masked, else 0."""
        log_p = self.logits[tuple(xt.T)].log_softmax(-1)
        costs = -log_p.gather(2, x0[:, :, None]).squeeze(2)
        return torch.where(xt == MASK, costs, 0)


@pytest.fixture
def table():
    return Table(0)


@pytest.fixture
def x0():
    return torch.tensor([[0, 2, 1, 1]])


def exact_curve(table, x0):
    """h(1..N): mean cost of a masked code over all masks of each size."""
    xt = torch.where(SUBSETS, MASK, x0)
    costs = table.costs(x0.expand(len(SUBSETS), -1), xt).sum(1)
    sizes = SUBSETS.sum(1)
    return torch.stack([(costs[sizes == n] / n).mean() for n in range(1, N + 1)])


def exact_bound(table, x0, num_steps):
    """Σ_t (1/t) E_q[Σ_masked −log p], the expectation by summing over all 2^N masks."""
    xt = torch.where(SUBSETS, MASK, x0)
    costs = table.costs(x0.expand(len(SUBSETS), -1), xt).sum(1)
    total = 0.0
    for t in range(1, num_steps + 1):
        p = t / num_steps
        weights = torch.where(SUBSETS, p, 1 - p).double().prod(1)
        total += (weights * costs).sum() / t
    return total


@pytest.mark.parametrize("num_steps", [1, 2, 5, 40])
def test_the_bound_from_the_curve_is_the_bound(table, x0, num_steps):
    torch.testing.assert_close(
        bound_from_curve(exact_curve(table, x0), num_steps), exact_bound(table, x0, num_steps)
    )


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("times", ["uniform", "cosine"])
def test_one_random_time_is_an_unbiased_draw_of_the_bound(table, x0, rng, times, stratified):
    many = x0.expand(200_000, -1)
    t = draw_times(len(many), T, stratified=stratified, times=times, rng=rng)
    xt = absorb(many, t, T, MASK, rng=rng)
    estimates = N * loss("elbo", table.costs(many, xt), xt == MASK, t, T) * time_weights(t, T, times)
    standard_error = estimates.std() / math.sqrt(len(estimates))
    assert abs(estimates.mean() - exact_bound(table, x0, T)) < 4 * standard_error
    assert standard_error < 0.01 * estimates.mean()


def test_the_bound_is_above_the_cost_of_the_chain_it_bounds(table):
    """Summed over all clean pictures, the probabilities that the bound promises stay below one."""
    pictures = torch.tensor(list(itertools.product(range(K), repeat=N)))
    promised = sum(math.exp(-exact_bound(table, picture[None], T)) for picture in pictures)
    assert promised <= 1
    assert promised > 0.05


def test_without_end_of_steps_the_bound_is_the_mean_over_all_orders(table, x0):
    """T → ∞: E over orders σ of Σ_i −log p(x_σi | x_σ1 … x_σ(i−1)), enumerated over the 4! orders."""
    total = 0.0
    for order in itertools.permutations(range(N)):
        xt = torch.full_like(x0, MASK)
        for place in order:
            total += table.costs(x0, xt)[0, place]
            xt[0, place] = x0[0, place]
    over_orders = total / math.factorial(N)
    curve = exact_curve(table, x0)
    torch.testing.assert_close(bound_from_curve(curve, None), over_orders)
    gaps = [abs(bound_from_curve(curve, steps) - over_orders) for steps in (10, 100, 1000)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]


@pytest.mark.parametrize("num_steps", [1, 7, 256, None])
def test_a_network_that_knows_nothing_costs_log_k_a_code(num_steps):
    """Uniform logits: h(n) = log K for every n, and the bound is N log K whatever the data and T."""
    curve = torch.full((16,), math.log(K), dtype=torch.float64)
    assert bound_from_curve(curve, num_steps) == pytest.approx(16 * math.log(K))


def test_count_weights_add_up_to_the_number_of_codes():
    """Σ_n w(n) = Σ_t (1/t) E[n] = Σ_t (1/t)·N·t/T = N."""
    for num_codes, num_steps in ((1, 1), (16, 4), (256, 256), (256, None)):
        assert count_weights(num_codes, num_steps).sum() == pytest.approx(num_codes)


def test_the_reweighted_loss_weighs_a_time_as_the_paper_says(table, x0):
    xt = torch.where(SUBSETS[9:10], MASK, x0)
    costs = table.costs(x0, xt)
    values = [loss("reweighted", costs, xt == MASK, torch.tensor([t]), T) for t in range(1, T + 1)]
    expected = [costs.sum() / N * (T - t + 1) / T for t in range(1, T + 1)]
    torch.testing.assert_close(torch.cat(values), torch.stack(expected))


def test_mlm_is_the_mean_over_the_masked(table, x0):
    xt = torch.where(SUBSETS[9:10], MASK, x0)
    value = loss("mlm", table.costs(x0, xt), xt == MASK, torch.tensor([3]), T)
    assert value == pytest.approx((table.costs(x0, xt).sum() / SUBSETS[9].sum()).item())


def test_codes_are_absorbed_one_by_one_with_probability_t_over_T(rng):
    x0 = torch.zeros(20_000, 8, dtype=torch.int64)
    t = torch.arange(1, T + 1).repeat(len(x0) // T)
    masked = absorb(x0, t, T, MASK, rng=rng) == MASK
    for time in range(1, T + 1):
        share, p, n = masked[t == time].double().mean(), time / T, 8 * len(x0) / T
        assert abs(share - p) <= 4 * math.sqrt(p * (1 - p) / n)
    joint = (masked[t == 2][:, 0] & masked[t == 2][:, 1]).double().mean()
    assert joint == pytest.approx(0.16, abs=0.02), "two positions are independent"


def test_an_exact_count_masks_that_many_uniformly(rng):
    x0 = torch.zeros(12_000, 6, dtype=torch.int64)
    counts = torch.arange(len(x0)) % 7
    masked = absorb_exactly(x0, counts, MASK, rng=rng) == MASK
    assert torch.equal(masked.sum(1), counts)
    assert masked.double().mean(0) == pytest.approx([0.5] * 6, abs=0.02)


def test_stratified_times_are_uniform_and_spread(rng):
    times = torch.stack([draw_times(10, 20, stratified=True, rng=rng) for _ in range(4000)])
    assert ((times.sort(1).values - 1) // 2 == torch.arange(10)).all(), "one time from each tenth"
    shares = torch.bincount(times[:, 0], minlength=21)[1:] / len(times)
    assert shares == pytest.approx([1 / 20] * 20, abs=4 * math.sqrt(0.05 * 0.95 / 4000))


def test_cosine_times_mask_nearly_all_more_often(rng):
    """Of MaskGIT's T·cos(πu/2), P(t/T > x) = arccos(x)·2/π."""
    times = draw_times(100_000, 256, stratified=False, times="cosine", rng=rng)
    assert times.min() >= 1
    assert times.max() == 256
    assert (times > 192).double().mean() == pytest.approx(math.acos(0.75) * 2 / math.pi, abs=0.006)


@pytest.mark.parametrize(("num_codes", "num_steps"), [(4, 4), (4, 16), (6, 12)])
def test_masks_of_a_fixed_share_give_the_bound_exactly(num_codes, num_steps):
    """With every time once in a batch, the loss is the mean of h(n), whether steps outnumber codes or not."""
    h = torch.rand(num_codes + 1, generator=generator(0))
    x0 = torch.zeros(num_steps, num_codes, dtype=torch.int64)
    xt, t = corrupt(x0, num_steps, 9, masking="fixed", stratified=True, rng=generator(1))
    masked = xt == 9
    costs = masked * h[masked.sum(1)][:, None]
    bound = loss("elbo", costs, masked, t, num_steps).mean()
    torch.testing.assert_close(bound, h[1:].mean())


def test_stratified_counts_follow_their_shares(rng):
    shares = count_shares(6)
    assert shares[0] == 0
    assert shares.sum() == pytest.approx(1)
    counts = stratified_counts(shares, 20_000, 3, rng=rng)
    seen = torch.bincount(counts.flatten(), minlength=7) / counts.numel()
    assert seen == pytest.approx(shares.tolist(), abs=0.01)
    assert (counts.sort(1).values == counts).all(), "one count from each third, in order"


@pytest.mark.parametrize("num_draws", [1, 2, 3, 4, 8])
def test_the_stratified_antithetic_estimate_is_unbiased(table, x0, num_draws, rng):
    rounds = 40_000
    shares = count_shares(N)
    counts = stratified_counts(shares, rounds, num_draws, rng=rng)
    masked = antithetic_masks(counts, N, rng=rng)
    assert torch.equal(masked.sum(2), counts)
    xt = torch.where(masked, MASK, x0).flatten(0, 1)
    costs = table.costs(x0.expand(len(xt), -1), xt).sum(1).view(rounds, num_draws)
    estimates = (costs / counts / shares[counts]).mean(1)
    standard_error = estimates.std() / math.sqrt(rounds)
    assert abs(estimates.mean() - bound_from_curve(exact_curve(table, x0), None)) < 4 * standard_error
