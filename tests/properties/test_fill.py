"""The law of the sampler, by enumeration, and what it may not depend on."""

import itertools
from collections import Counter

import pytest
import torch

from unmask.diffusion.schedule import even_plan
from unmask.errors import ConfigError
from unmask.rng import generator
from unmask.sampling.autoregressive import autoregress
from unmask.sampling.fill import fill

N, K = 4, 3
MASK = K


class Table:
    """A denoiser without training: any table from masked pictures to logits is a valid one."""

    mask_id = MASK
    num_positions = N

    def __init__(self, seed=0):
        self.logits = 2 * torch.randn((K + 1,) * N + (N, K), generator=generator(seed, "table"))
        self.passes = 0
        self.rows = 0

    def __call__(self, codes, where):
        self.passes += 1
        self.rows += len(codes)
        return self.logits[tuple(codes.T)][where]

    def begin(self, batch):
        state = torch.full((batch, N), MASK)
        place = itertools.count()

        def next_logits(codes):
            i = next(place)
            if codes is not None:
                state[:, i - 1] = codes
            return self.logits[tuple(state.T)][:, i]

        return next_logits


def masked(count):
    return torch.full((count, N), MASK)


def law_of_the_chain(table, num_steps):
    """P(x0), by running the paper's chain over every state: reveal with probability 1/t at t = S, …, 1."""
    states = {(MASK,) * N: 1.0}
    for t in range(num_steps, 0, -1):
        after = Counter()
        for state, p in states.items():
            probabilities = table.logits[state].double().softmax(1)
            hidden = [i for i in range(N) if state[i] == MASK]
            choices = [
                [(MASK, 1 - 1 / t), *((k, probabilities[i, k].item() / t) for k in range(K))] for i in hidden
            ]
            for outcome in itertools.product(*choices):
                weight, new = p, list(state)
                for i, (code, q) in zip(hidden, outcome, strict=True):
                    weight *= q
                    new[i] = code
                if weight:
                    after[tuple(new)] += weight
        states = after
    return states


@pytest.mark.parametrize("num_steps", [1, 2, 4, 8])
def test_the_law_of_fill_is_the_law_of_the_papers_chain(num_steps):
    """χ² over the 81 pictures on 100,000 draws; its 99.99 % point at 80 degrees of freedom is 137."""
    table, count = Table(), 100_000
    plan = even_plan(range(count), N, num_steps, seed=1)
    drawn = Counter(map(tuple, fill(table, masked(count), plan, seed=1, batch=count).tolist()))
    expected = law_of_the_chain(table, num_steps)
    assert sum(expected.values()) == pytest.approx(1)
    chi = sum((drawn[x] - count * p) ** 2 / (count * p) for x, p in expected.items())
    assert chi < 137
    other = law_of_the_chain(Table(seed=1), num_steps)
    assert sum((drawn[x] - count * p) ** 2 / (count * p) for x, p in other.items()) > 1000


@pytest.mark.parametrize("batch", [1, 7, 32])
def test_a_sample_does_not_depend_on_its_batch(batch):
    plan = even_plan(range(20), N, 3, seed=5)
    whole = fill(Table(), masked(20), plan, seed=5, batch=20)
    assert torch.equal(fill(Table(), masked(20), plan, seed=5, batch=batch), whole)
    assert torch.equal(fill(Table(), masked(8), plan[12:], seed=5, first=12), whole[12:])
    assert torch.equal(
        autoregress(Table(), range(20), seed=5, batch=batch), autoregress(Table(), range(20), seed=5)
    )


def test_known_codes_never_change():
    codes = masked(50)
    codes[:, 1] = torch.arange(50) % K
    filled = fill(Table(), codes, even_plan(range(50), N, 4, seed=0), seed=0)
    assert torch.equal(filled[:, 1], codes[:, 1])
    assert (filled < K).all()


def test_images_take_only_the_passes_that_reveal_something_in_them():
    table, plan = Table(), torch.tensor([[9, 9, 9, 9], [8, 6, 2, 1], [7, 7, 3, 3]])
    fill(table, masked(3), plan, seed=0, batch=3)
    assert table.rows == 1 + 4 + 2
    assert table.passes == 4


def test_a_picture_at_256_steps_takes_162_passes():
    """256 positions fall on 256 steps like balls into urns: 256·(1 − (1 − 1/256)^256) = 162.1 are hit."""
    distinct = [len(row.unique()) for row in even_plan(range(64), 256, 256, seed=0)]
    assert sum(distinct) / len(distinct) == pytest.approx(162, abs=4)


def test_temperature_zero_is_greedy_and_below_it_is_refused():
    table, plan = Table(), torch.ones(1, N, dtype=torch.int64)
    greedy = fill(table, masked(1), plan, seed=3, temperature=0)
    assert torch.equal(greedy[0], table.logits[(MASK,) * N].argmax(1))
    with pytest.raises(ConfigError, match="negative"):
        fill(table, masked(1), plan, seed=3, temperature=-1)


def test_low_temperatures_draw_likelier_codes():
    table, plan = Table(), torch.ones(4000, N, dtype=torch.int64)
    p = table.logits[(MASK,) * N].softmax(1)
    mean = [
        p.gather(1, fill(table, masked(4000), plan, seed=3, temperature=t, batch=4000).T).mean()
        for t in (0.3, 1.0, 2.0)
    ]
    assert mean[0] > mean[1] > mean[2]


def test_the_twins_law_is_its_chain_rule():
    table, count = Table(), 100_000
    drawn = Counter(map(tuple, autoregress(table, range(count), seed=2, batch=count).tolist()))
    chi = 0.0
    for x in itertools.product(range(K), repeat=N):
        p = 1.0
        for i in range(N):
            p *= table.logits[(*x[:i], *[MASK] * (N - i))][i].double().softmax(0)[x[i]].item()
        chi += (drawn[x] - count * p) ** 2 / (count * p)
    assert chi < 137
