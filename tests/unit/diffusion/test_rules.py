import math

import pytest
import torch

from unmask.diffusion.rules import confidence, entropy, exchange, highest, margin
from unmask.diffusion.settings import Settings
from unmask.rng import generator

A, N, K = 4, 12, 6


@pytest.fixture
def masked(rng):
    return torch.rand(A, N, generator=rng) < 0.7


@pytest.fixture
def log_p(masked, rng):
    return torch.randn(int(masked.sum()), K, generator=rng, dtype=torch.float64).mul(2).log_softmax(1)


NONE = torch.zeros(A, N, dtype=torch.float64)


def test_the_highest_are_taken_row_by_row():
    scores, among = (
        torch.tensor([[5.0, 1, 4, 3], [1, 2, 3, 4]]),
        torch.tensor([[0, 1, 1, 1], [1, 1, 0, 0]]).bool(),
    )
    assert highest(scores, among, torch.tensor([2, 1])).tolist() == [
        [False, False, True, True],
        [False, True, False, False],
    ]


def test_of_scores_that_are_all_the_lowest_as_many_are_taken():
    """Ties have a margin of log 0. A rule that takes nothing would never come to an end."""
    among = torch.tensor([[False, True, False, True]])
    lowest = torch.full((1, 4), -math.inf)
    assert highest(lowest, among, torch.tensor([1])).tolist() == [[False, True, False, False]]
    assert torch.equal(highest(lowest, among, torch.tensor([2])), among)


def test_confidence_takes_the_planned_number_of_the_likeliest(masked, log_p):
    drawn, counts = log_p.argmin(1), torch.tensor([1, 3, 2, 4])
    chosen = confidence(log_p, drawn, masked, counts, NONE, Settings(choice_temperature=4.5))
    assert torch.equal(chosen.sum(1), counts)
    sure = torch.full((A, N), math.inf).double().masked_scatter(masked, log_p.min(1).values)
    for row in range(A):
        assert sure[row][chosen[row]].min() > sure[row][masked[row] & ~chosen[row]].max()


def test_noise_on_the_confidence_falls_with_what_stays_masked(masked, log_p, rng):
    """Of a large temperature chance alone decides; when nothing stays masked, or at 0, it has no say."""
    drawn, counts = log_p.argmax(1), torch.full((A,), 3)
    noise = torch.rand(A, N, generator=rng, dtype=torch.float64)
    noisy = confidence(log_p, drawn, masked, counts, noise, Settings(choice_temperature=1e9))
    assert torch.equal(noisy, highest(noise, masked, counts))
    quiet = confidence(log_p, drawn, masked, counts, noise, Settings(choice_temperature=0.0))
    assert not torch.equal(noisy, quiet)
    assert torch.equal(
        confidence(log_p, drawn, masked, masked.sum(1), noise, Settings(choice_temperature=1e9)), masked
    )


def test_margin_takes_the_planned_number_of_those_farthest_ahead(masked, log_p):
    drawn, counts = log_p.argmin(1), torch.tensor([1, 3, 2, 4])
    chosen = margin(log_p, drawn, masked, counts, NONE, Settings())
    assert torch.equal(chosen.sum(1), counts)
    ordered = log_p.exp().sort(dim=1, descending=True).values
    ahead = torch.full((A, N), math.inf).double().masked_scatter(masked, ordered[:, 0] - ordered[:, 1])
    for row in range(A):
        assert ahead[row][chosen[row]].min() > ahead[row][masked[row] & ~chosen[row]].max()


def test_a_code_that_is_as_likely_as_the_next_comes_last():
    """However likely both are: 0.45 and 0.45 against 0.3 and 0.2."""
    masked, counts = torch.ones(1, 2, dtype=torch.bool), torch.tensor([1])
    log_p = torch.tensor([[0.45, 0.45, 0.1, 0.0], [0.3, 0.2, 0.25, 0.25]]).log()
    zero = torch.zeros(1, 2, dtype=torch.float64)
    assert margin(log_p, log_p.argmax(1), masked, counts, zero, Settings()).tolist() == [[False, True]]
    assert confidence(log_p, log_p.argmax(1), masked, counts, zero, Settings()).tolist() == [[True, False]]


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0, 1e9])
def test_entropy_takes_the_largest_set_that_gamma_allows(masked, log_p, gamma):
    counts = torch.ones(A)
    chosen = entropy(log_p, log_p.argmax(1), masked, counts, NONE, Settings(gamma=gamma))
    nats = torch.special.entr(log_p.exp()).sum(1)
    each = torch.full((A, N), math.inf).double().masked_scatter(masked, nats)
    for row in range(A):
        taken = each[row][chosen[row]]
        assert len(taken) >= 1
        assert taken.sum() - taken.max() <= gamma
        others = each[row][masked[row] & ~chosen[row]]
        if len(others):
            assert others.min() >= taken.max()
            assert taken.sum() > gamma  # with one more, which would then be the maximum, it is too much
        else:
            assert len(taken) == masked[row].sum()


@pytest.mark.parametrize(
    ("rescale", "cap", "num_revealed", "num_later"),
    [(1.0, 1.0, 90, 20), (0.3, 1.0, 90, 30), (1.0, 0.05, 60, 50), (0.5, 0.2, 60, 50), (0.2, 1.0, 30, 80)],
)
def test_codes_are_remasked_with_the_probability_of_remdm(rescale, cap, num_revealed, num_later):
    """σ_max = min(1, (1 − α_s)/α_t), of N = 120 codes α_t = revealed/N and 1 − α_s = later/N."""
    rows, size = 2000, 120
    revealed = torch.arange(size).expand(rows, -1) < num_revealed
    later = torch.arange(size).expand(rows, -1) >= size - num_later
    uniform = torch.rand(rows, size, generator=generator(0), dtype=torch.float64)
    again, early = exchange(revealed, later, uniform, rescale=rescale, cap=cap)
    assert (again <= revealed).all()
    assert (early <= later).all()
    assert torch.equal(again.sum(1), early.sum(1))
    largest = min(1.0, (num_later / size) / (num_revealed / size))
    sigma = rescale * min(cap, largest)
    # the few draws of more codes than there are places are cut to the number of places
    few = torch.distributions.Binomial(num_revealed, sigma).sample((20_000,)).clamp(max=num_later).mean()
    expected = few.item() if rescale * min(1.0, cap / largest) > 0.9 else sigma * num_revealed
    error = math.sqrt(num_revealed * sigma * (1 - sigma) / rows)
    assert again.sum(1).double().mean().item() == pytest.approx(expected, abs=5 * error)


def test_places_are_changed_with_any_that_wait_alike():
    rows = 6000
    revealed, later = (
        torch.tensor([mask]).bool().expand(rows, -1) for mask in ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1])
    )
    uniform = torch.rand(rows, 5, generator=generator(0), dtype=torch.float64)
    again, early = exchange(revealed, later, uniform, rescale=0.5, cap=1.0)
    shares = early.double().mean(0)[2:] / again.double().mean(0).sum()
    assert shares.tolist() == pytest.approx([1 / 3] * 3, abs=0.03)
