import itertools
import math

import pytest
import torch

from unmask.diffusion.likelihood import bits_by_picture, code_costs, cost_curve, join, likelihood_of
from unmask.diffusion.process import bound_from_curve
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator

K, GRID, N = 8, (3, 3), 9


def prior_of(kind):
    return Transformer(PriorConfig(kind=kind, width=16, depth=2, heads=2, init="gpt2"), K, GRID, generator(4))


@pytest.fixture
def codes(rng):
    return torch.randint(K, (6, N), generator=rng)


def test_costs_are_those_of_the_masked_codes(codes, rng):
    prior = prior_of("absorbing")
    masked = torch.rand(codes.shape, generator=rng) < 0.5
    costs = code_costs(prior, codes, masked)
    everywhere = torch.ones_like(masked)
    log_p = prior(torch.where(masked, K, codes), everywhere).log_softmax(1).view(*codes.shape, K)
    expected = -log_p.gather(2, codes[:, :, None]).squeeze(2)
    torch.testing.assert_close(costs, torch.where(masked, expected, 0))


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
def test_a_picture_scores_the_same_in_any_batch(codes, kind):
    prior = prior_of(kind)
    options = {"num_draws": 4, "num_steps": 16}
    score = likelihood_of(prior).score
    whole = score(codes, 0, **options)
    parts = join([score(codes[:2], 0, **options), score(codes[2:], 2, **options)])
    torch.testing.assert_close(whole.nats, parts.nats)


def test_an_autoregressive_prior_is_exact(codes):
    prior = prior_of("autoregressive")
    next_logits = prior.begin(len(codes))
    nats = torch.zeros(len(codes))
    for i in range(N):
        log_p = next_logits(codes[:, i - 1] if i else None).log_softmax(1)
        nats -= log_p.gather(1, codes[:, i : i + 1]).squeeze(1).detach()
    exact = likelihood_of(prior).score(codes, 0, num_draws=1, num_steps=9).nats
    torch.testing.assert_close(exact.float(), nats)


@pytest.mark.parametrize("num_steps", [4, 64, None])
def test_knowing_nothing_costs_log_k(codes, num_steps):
    prior = prior_of("absorbing")
    torch.nn.init.zeros_(prior.head.weight)
    score = likelihood_of(prior).score(codes, 0, num_draws=4, num_steps=num_steps)
    assert score.nats == pytest.approx([N * math.log(K)] * len(codes))


@pytest.mark.parametrize("num_steps", [3, None])
def test_the_estimate_is_unbiased_for_the_enumerated_bound(num_steps):
    """All masks of a 2×2 picture give the exact bound; 4,000 estimates agree with it on average."""
    config = PriorConfig(width=16, depth=2, heads=2)
    prior = Transformer(config, 3, (2, 2), generator(4))
    torch.nn.init.normal_(prior.positions, generator=generator(5))
    picture = torch.tensor([[0, 2, 1, 1]])
    masks = torch.tensor(list(itertools.product([False, True], repeat=4)))[1:]
    with torch.no_grad():
        costs = code_costs(prior, picture.expand(15, -1), masks).sum(1).double() / masks.sum(1)
    curve = torch.stack([costs[masks.sum(1) == n].mean() for n in range(1, 5)])
    exact = bound_from_curve(curve, num_steps)

    score = likelihood_of(prior).score(picture.expand(4000, -1), 0, num_draws=4, num_steps=num_steps)
    standard_error = score.nats.std() / math.sqrt(4000)
    assert abs(score.nats.mean() - exact) < 4 * standard_error
    assert standard_error < 0.01 * exact


def test_the_curve_is_the_enumerated_mean_cost_by_share_masked(codes):
    prior = prior_of("absorbing")
    masks = torch.tensor(list(itertools.product([False, True], repeat=N)))[1:]
    with torch.no_grad():
        costs = torch.stack([code_costs(prior, x.expand(len(masks), -1), masks).sum(1) for x in codes])
    means = (costs / masks.sum(1)).mean(0)
    exact = [means[masks.sum(1) == n].mean().item() for n in range(1, N + 1)]

    curve = cost_curve(likelihood_of(prior).score(codes, 0, num_draws=400, num_steps=None), N)
    assert curve["ratio"] == pytest.approx([n / N for n in range(1, N + 1)])
    assert curve["nats"] == pytest.approx(exact, rel=2e-3)
    for measured, true, error in zip(curve["nats"], exact, curve["error"], strict=True):
        assert abs(measured - true) < 4 * error
    fewer = cost_curve(likelihood_of(prior).score(codes, 0, num_draws=100, num_steps=None), N)
    assert fewer["error"] == pytest.approx([2 * error for error in curve["error"]], rel=0.25)


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
def test_codes_cost_in_the_mean_what_the_picture_costs(rng, kind):
    prior = Transformer(PriorConfig(kind=kind, width=16, depth=2, heads=2), 8, (3, 3), generator(4))
    codes = torch.randint(8, (40, 9), generator=rng)
    by_code = likelihood_of(prior).code_nats(codes, 0, num_pairs=100)
    score = likelihood_of(prior).score(codes, 0, num_draws=200, num_steps=None)
    mean = bits_by_picture(score, 9).mean().item()
    assert by_code.mean().item() / math.log(2) == pytest.approx(mean, rel=0.01)
    assert by_code.std() > 0.05
    torch.testing.assert_close(likelihood_of(prior).code_nats(codes[5:7], 5, num_pairs=100), by_code[5:7])


class Counter:
    """A prior that is the surer of code 0 the more codes it knows."""

    causal, mask_id = False, 8

    def __call__(self, codes, where, rng=None):
        known = (codes != self.mask_id).sum(1, keepdim=True).expand_as(codes)[where]
        return torch.nn.functional.pad(known[:, None].float(), (0, 7))


def test_a_code_costs_the_mean_over_how_many_are_masked():
    by_code = likelihood_of(Counter()).code_nats(torch.zeros(4, 9, dtype=torch.int64), 0, num_pairs=300)
    wanted = sum(math.log1p(7 * math.exp(masked - 9)) for masked in range(1, 10)) / 9
    assert by_code.mean().item() == pytest.approx(wanted, rel=0.04)
    unweighted = sum(n * math.log1p(7 * math.exp(n - 9)) for n in range(1, 10)) / 45
    assert unweighted > 1.2 * wanted  # what masks drawn evenly by size would give
