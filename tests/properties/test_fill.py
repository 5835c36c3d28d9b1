"""The law of the sampler, by enumeration, and what it may not depend on."""

import itertools
from collections import Counter

import pytest
import torch

from unmask.diffusion.autoregressive import autoregress
from unmask.diffusion.fill import fill
from unmask.diffusion.first_pass import RememberedStart
from unmask.diffusion.schedule import even_plan, make_plan
from unmask.diffusion.settings import Settings
from unmask.errors import BundleError
from unmask.rng import generator

N, K = 4, 3
MASK = K
COUNT = 30_000  # draws for a law
ENOUGH = 137  # the 99.99 % point of χ² at the 80 degrees of freedom of 81 pictures


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

    def p(self, state):
        return self.logits[state].double().softmax(1)

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


def chi_square(drawn, law):
    assert sum(law.values()) == pytest.approx(1)
    seen, count = Counter(map(tuple, drawn.tolist())), len(drawn)
    return sum((seen[x] - count * p) ** 2 / (count * p) for x, p in law.items())


def draws_of(p, state, positions):
    """Every way to draw codes at some positions of a state, with its probability."""
    for codes in itertools.product(range(K), repeat=len(positions)):
        after, weight = list(state), 1.0
        for i, code in zip(positions, codes, strict=True):
            after[i] = code
            weight *= p[i, code].item()
        yield tuple(after), weight


def law_of_the_chain(table, num_steps):
    """P(x0), by running the paper's chain over every state: reveal with probability 1/t at t = S, …, 1."""
    states = {(MASK,) * N: 1.0}
    for t in range(num_steps, 0, -1):
        after = Counter()
        for state, weight in states.items():
            hidden = [i for i in range(N) if state[i] == MASK]
            for size in range(len(hidden) + 1):
                for chosen in itertools.combinations(hidden, size):
                    chance = weight * (1 / t) ** size * (1 - 1 / t) ** (len(hidden) - size)
                    for new, p in draws_of(table.p(state), state, chosen) if chance else ():
                        after[new] += chance * p
        states = after
    return states


@pytest.mark.parametrize("num_steps", [1, 2, 4, 8])
def test_the_law_of_fill_is_the_law_of_the_papers_chain(num_steps):
    plan = even_plan(range(COUNT), N, num_steps, seed=1)
    drawn = fill(RememberedStart(Table()), masked(COUNT), plan, Settings(), seed=1, batch=COUNT)
    assert chi_square(drawn, law_of_the_chain(Table(), num_steps)) < ENOUGH
    assert chi_square(drawn, law_of_the_chain(Table(seed=1), num_steps)) > 1000


def law_of_a_rule(table, reveal):
    """P(x0) when all masked codes are drawn in every pass and those that ``reveal`` names are kept."""
    law, states = Counter(), {(MASK,) * N: 1.0}
    while states:
        after = Counter()
        for state, weight in states.items():
            p, hidden = table.p(state), [i for i in range(N) if state[i] == MASK]
            for drawn, chance in draws_of(p, state, hidden):
                kept = reveal(p, hidden, drawn)
                new = tuple(drawn[i] if i in kept else state[i] for i in range(N))
                (after if MASK in new else law)[new] += weight * chance
        states = after
    return law


def test_the_law_of_confidence_is_maskgits():
    """Two codes of four, then one, then one: always those whose fresh draws are likeliest."""

    def surest(p, hidden, drawn):
        ranked = sorted(hidden, key=lambda i: -p[i, drawn[i]].item())
        return ranked[: {4: 2, 2: 1, 1: 1}[len(hidden)]]

    plan = torch.tensor([[1, 3, 2, 3]]).expand(COUNT, N)
    settings = Settings(order="confidence", choice_temperature=0)
    drawn = fill(Table(), masked(COUNT), plan, settings, seed=1, batch=COUNT)
    assert chi_square(drawn, law_of_a_rule(Table(), surest)) < ENOUGH
    assert chi_square(drawn, law_of_a_rule(Table(), lambda p, hidden, drawn: hidden[:2])) > 1000


def test_the_law_of_margins_is_that_of_the_farthest_ahead():
    """Which positions come first does not depend on what is drawn there."""

    def ahead(p, hidden, drawn):
        top = p.topk(2, dim=1).values
        ranked = sorted(hidden, key=lambda i: (top[i, 1] - top[i, 0]).item())
        return ranked[: {4: 2, 2: 1, 1: 1}[len(hidden)]]

    plan = torch.tensor([[1, 3, 2, 3]]).expand(COUNT, N)
    settings = Settings(order="margin", choice_temperature=0)
    drawn = fill(Table(), masked(COUNT), plan, settings, seed=1, batch=COUNT)
    assert chi_square(drawn, law_of_a_rule(Table(), ahead)) < ENOUGH
    assert chi_square(drawn, law_of_a_rule(Table(), lambda p, hidden, drawn: hidden[:2])) > 1000


def test_the_law_of_entropy_is_that_of_the_largest_sets_below_gamma():
    gamma = 1.0

    def certain(p, hidden, drawn):
        nats = {i: torch.special.entr(p[i]).sum().item() for i in hidden}
        ranked = sorted(hidden, key=nats.get)
        fits = [n for n in range(1, len(ranked) + 1) if sum(nats[i] for i in ranked[: n - 1]) <= gamma]
        return ranked[: max(fits)]

    plan, settings = torch.ones(COUNT, N, dtype=torch.int64), Settings(order="entropy", gamma=gamma)
    drawn = fill(Table(), masked(COUNT), plan, settings, seed=1, batch=COUNT)
    assert chi_square(drawn, law_of_a_rule(Table(), certain)) < ENOUGH
    assert chi_square(drawn, law_of_a_rule(Table(), lambda p, hidden, drawn: hidden)) > 1000


def subsets(items, size):
    """All subsets of a size, with the probability of each."""
    chosen = list(itertools.combinations(items, size))
    return [(subset, 1 / len(chosen)) for subset in chosen]


def exchanges(revealed, later, rescale):
    """Every (masked again, revealed instead) with its probability: σ = rescale · min(1, later / revealed)."""
    sigma = rescale * min(1.0, len(later) / max(len(revealed), 1))
    for size in range(len(revealed) + 1):
        for flagged in itertools.combinations(revealed, size):
            chance = sigma**size * (1 - sigma) ** (len(revealed) - size)
            fitting = min(size, len(later))
            for again, p in subsets(flagged, fitting):
                for early, q in subsets(later, fitting):
                    yield again, early, chance * p * q


def law_of_remasking(table, plan, rescale):
    """P(x0) over every state of (codes, plan), the plan's entries changing places."""
    law, states = Counter(), {((MASK,) * N, plan): 1.0}
    while states:
        after = Counter()
        for (state, steps), weight in states.items():
            hidden = [i for i in range(N) if state[i] == MASK]
            now = max(steps[i] for i in hidden)
            due = [i for i in hidden if steps[i] == now]
            revealed = [i for i in range(N) if state[i] != MASK]
            later = [i for i in hidden if steps[i] < now]
            for again, early, chance in exchanges(revealed, later, rescale):
                swapped = list(steps)
                for i, j in zip(again, early, strict=True):
                    swapped[i], swapped[j] = steps[j], steps[i]
                for drawn, p in draws_of(table.p(state), state, [*due, *early]) if chance else ():
                    new = tuple(MASK if i in again else drawn[i] for i in range(N))
                    if MASK in new:
                        after[new, tuple(swapped)] += weight * chance * p
                    else:
                        law[new] += weight * chance * p
        states = after
    return law


@pytest.mark.parametrize("rescale", [0.5, 1.0])
def test_the_law_of_remasking_is_that_of_codes_that_change_places(rescale):
    plan = (3, 2, 4, 1)
    plans = torch.tensor([plan]).expand(COUNT, N)
    drawn = fill(Table(), masked(COUNT), plans, Settings(remask=rescale), seed=1, batch=COUNT)
    assert chi_square(drawn, law_of_remasking(Table(), plan, rescale)) < ENOUGH
    assert chi_square(drawn, law_of_remasking(Table(), plan, 0.0)) > 500


def test_remasking_leaves_codes_that_ignore_each_other_as_they_are():
    table = Table()
    table.logits = table.logits[(MASK,) * N].expand_as(table.logits)
    p = table.p((MASK,) * N)
    law = dict(draws_of(p, (MASK,) * N, range(N)))
    plan, settings = even_plan(range(COUNT), N, 4, seed=3), Settings(remask=0.7)
    assert chi_square(fill(table, masked(COUNT), plan, settings, seed=3, batch=COUNT), law) < ENOUGH


def test_remasking_with_probability_zero_is_no_remasking():
    plan = even_plan(range(200), N, 4, seed=3)
    never, rarely, plain = (
        fill(Table(), masked(200), plan, settings, seed=3)
        for settings in (Settings(remask=1.0, remask_cap=0.0), Settings(remask=0.1), Settings())
    )
    assert torch.equal(never, plain)
    assert not torch.equal(rarely, plain)


class Stub:
    """A denoiser that knows nothing and counts the rows it is asked about."""

    mask_id = 5

    def __init__(self):
        self.rows = self.positions = 0

    def __call__(self, codes, where):
        self.rows += len(codes)
        self.positions += int(where.sum())
        assert (codes[where] == self.mask_id).all(), "only masked positions are asked about"
        return torch.zeros(int(where.sum()), self.mask_id)


RULES = {
    "plan": Settings(),
    "confidence": Settings(order="confidence"),
    "entropy": Settings(order="entropy", gamma=4.0),
    "remasking": Settings(remask=1.0, remask_cap=0.3),
    "both": Settings(order="confidence", remask=0.5),
}


@pytest.mark.parametrize("way", RULES)
@pytest.mark.parametrize("batch", [1, 7, 32])
def test_a_sample_does_not_depend_on_its_batch(batch, way):
    plan = even_plan(range(20), N, 3, seed=5)
    whole = fill(Table(), masked(20), plan, RULES[way], seed=5, batch=20)
    assert torch.equal(fill(Table(), masked(20), plan, RULES[way], seed=5, batch=batch), whole)
    assert torch.equal(fill(Table(), masked(8), plan[12:], RULES[way], seed=5, first=12), whole[12:])
    assert not torch.equal(fill(Table(), masked(20), plan, RULES[way], seed=6, batch=batch), whole)


@pytest.mark.parametrize("batch", [1, 7, 32])
def test_an_autoregressive_sample_does_not_depend_on_its_batch(batch):
    whole = autoregress(Table(), range(20), Settings(), seed=5)
    assert torch.equal(autoregress(Table(), range(20), Settings(), seed=5, batch=batch), whole)
    assert torch.equal(autoregress(Table(), range(12, 20), Settings(), seed=5, batch=batch), whole[12:])


@pytest.mark.parametrize("way", RULES)
def test_known_codes_never_change_and_no_mask_is_left(way):
    codes = torch.full((30, 16), Stub.mask_id)
    codes[:, 1::3] = torch.arange(30)[:, None] % 5
    seen = []
    plan = make_plan(range(30), (4, 4), Settings(steps=6, schedule="cosine"), seed=0)
    filled = fill(
        Stub(), codes, plan, RULES[way], seed=0, on_step=lambda now: seen.append(now[:, 1::3].clone())
    )
    assert all(torch.equal(now, codes[:, 1::3]) for now in seen)
    assert torch.equal(filled[:, 1::3], codes[:, 1::3])
    assert (filled < Stub.mask_id).all()


@pytest.mark.parametrize("way", RULES)
def test_what_is_planned_for_step_0_stays_masked_and_takes_no_part(way):
    plan = make_plan(range(8), (4, 4), Settings(steps=6, schedule="cosine"), seed=0)
    codes = torch.full((8, 16), Stub.mask_id)
    alone, beside = Stub(), Stub()
    never = torch.nn.functional.pad(plan, (0, 3)), torch.nn.functional.pad(codes, (0, 3), value=Stub.mask_id)
    filled = fill(alone, codes, plan, RULES[way], seed=0)
    longer = fill(beside, never[1], never[0], RULES[way], seed=0)
    assert torch.equal(longer[:, :16], filled)
    assert (longer[:, 16:] == Stub.mask_id).all()
    assert (alone.rows, alone.positions) == (beside.rows, beside.positions)


@pytest.mark.parametrize("way", ["plan", "confidence", "remasking", "both"])
def test_every_step_leaves_as_many_masked_as_planned(way):
    plan = make_plan(range(8), (4, 4), Settings(steps=5, schedule="cosine", order="halton"), seed=0)
    left = []
    fill(
        Stub(),
        torch.full((8, 16), Stub.mask_id),
        plan,
        RULES[way],
        seed=0,
        on_step=lambda now: left.append((now == Stub.mask_id).sum(1)),
    )
    assert len(left) == 5
    for step, count in zip(range(4, -1, -1), left, strict=True):
        assert torch.equal(count, (plan <= step).sum(1))


def test_images_take_only_the_passes_that_reveal_something_in_them():
    table, plan = Table(), torch.tensor([[9, 9, 9, 9], [8, 6, 2, 1], [7, 7, 3, 3]])
    fill(table, masked(3), plan, Settings(), seed=0, batch=3)
    assert table.rows == 1 + 4 + 2
    assert table.passes == 4


def test_256_steps_take_162_passes_and_each_position_is_asked_about_once():
    """256 positions fall on 256 steps like balls into urns: 256·(1 − (1 − 1/256)^256) = 162.1 are hit."""
    stub, plan = Stub(), even_plan(range(32), 256, 256, seed=0)
    fill(stub, torch.full((32, 256), Stub.mask_id), plan, Settings(), seed=0, batch=32)
    assert stub.rows / 32 == pytest.approx(162, abs=4)
    assert stub.positions == 32 * 256


def test_the_start_is_computed_once_for_all_pictures():
    table, plan = Table(), even_plan(range(40), N, 3, seed=0)
    plain = fill(table, masked(40), plan, Settings(), seed=0, batch=6)
    remembering = Table()
    start = RememberedStart(remembering)
    for part in (slice(0, 25), slice(25, 40)):
        filled = fill(start, masked(40)[part], plan[part], Settings(), seed=0, first=part.start, batch=6)
        assert torch.equal(filled, plain[part])
    assert remembering.rows == table.rows - 40 + 1


def test_what_on_step_sees_is_the_way_to_the_result():
    seen, plan = [], torch.tensor([[3, 2, 2, 1], [1, 1, 1, 1]])
    filled = fill(
        Table(), masked(2), plan, Settings(), seed=0, on_step=lambda codes: seen.append(codes.clone())
    )
    assert [(codes == MASK).sum(1).tolist() for codes in seen] == [[3, 0], [1, 0], [0, 0]]
    assert torch.equal(seen[-1], filled)
    after = []
    autoregress(Table(), range(2), Settings(), seed=0, on_step=lambda codes: after.append(codes.clone()))
    assert [(codes == MASK).sum().item() for codes in after] == [6, 4, 2, 0]


def test_temperature_zero_is_greedy():
    table, plan = Table(), torch.ones(1, N, dtype=torch.int64)
    greedy = fill(table, masked(1), plan, Settings(temperature=0), seed=3)
    assert torch.equal(greedy[0], table.logits[(MASK,) * N].argmax(1))


def test_low_temperatures_draw_likelier_codes():
    table, plan = Table(), torch.ones(4000, N, dtype=torch.int64)
    p = table.logits[(MASK,) * N].softmax(1)
    mean = [
        p.gather(1, fill(table, masked(4000), plan, Settings(temperature=t), seed=3, batch=4000).T).mean()
        for t in (0.3, 1.0, 2.0)
    ]
    assert mean[0] > mean[1] > mean[2]


def test_a_pair_of_temperatures_moves_from_the_first_code_to_the_last():
    """From 0 upwards the first code is greedy and the last is not; downwards it is nearly the reverse."""
    table, plan = Table(), torch.tensor([[4, 3, 2, 1]]).expand(500, N)
    up = fill(table, masked(500), plan, Settings(temperature=(0.0, 2.0)), seed=3)
    assert (up[:, 0] == table.logits[(MASK,) * N][0].argmax()).all()
    assert len(up[:, 3].unique()) == K
    constant = fill(table, masked(500), plan, Settings(temperature=(0.7, 0.7)), seed=3)
    assert torch.equal(constant, fill(table, masked(500), plan, Settings(temperature=0.7), seed=3))


def test_a_pair_of_temperatures_begins_with_the_first_code_to_draw_however_many_are_known():
    table, codes = Table(), masked(500)
    codes[:, :3] = 1
    last = fill(
        table, codes, torch.ones(500, N, dtype=torch.int64), Settings(temperature=(0.0, 2.0)), seed=3
    )[:, 3]
    assert (last == table.logits[(1, 1, 1, MASK)][3].argmax()).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_predictions_that_are_no_numbers_are_one_sentence(value):
    table = Table()
    table.logits[..., 1] = value
    with pytest.raises(BundleError, match="not numbers"):
        fill(table, masked(1), torch.ones(1, N, dtype=torch.int64), Settings(), seed=0)
    with pytest.raises(BundleError, match="not numbers"):
        autoregress(table, range(1), Settings(), seed=0)


def test_codes_of_probability_zero_are_never_drawn():
    table, plan = Table(), even_plan(range(300), N, 3, seed=0)
    table.logits[..., 1] = -float("inf")
    for way in RULES.values():
        assert (fill(table, masked(300), plan, way, seed=0) != 1).all()


def test_the_law_of_an_autoregressive_prior_is_its_chain_rule():
    law = {}
    for x in itertools.product(range(K), repeat=N):
        p = 1.0
        for i in range(N):
            p *= Table().p((*x[:i], *[MASK] * (N - i)))[i, x[i]].item()
        law[x] = p
    assert chi_square(autoregress(Table(), range(COUNT), Settings(), seed=2, batch=COUNT), law) < ENOUGH
