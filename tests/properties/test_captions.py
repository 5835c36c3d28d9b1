"""Words and codes in one row: every conditional law of the sampler, and of guidance, by enumeration."""

import itertools
import math
from collections import Counter

import pytest
import torch

from unmask.diffusion.autoregressive import autoregress
from unmask.diffusion.fill import fill
from unmask.diffusion.first_pass import RememberedStart
from unmask.diffusion.guidance import Conditioned, Guided, GuidedContinuer, with_words, without_context
from unmask.diffusion.schedule import even_plan
from unmask.diffusion.settings import Settings
from unmask.rng import generator

L, N, K = 1, 4, 3  # a word, then the codes of a 2×2 grid
MASK, WORDS = K, (4, 5)
POSSIBLE = [WORDS] * L + [range(K)] * N
COUNT, STEPS = 10_000, 4


class Table:
    """A denoiser without training: any table from masked rows to logits is a valid one."""

    mask_id = MASK

    def __init__(self, seed=0):
        shape = (MASK + 3,) * L + (K + 1,) * N
        logits = 2 * torch.randn(*shape, L + N, MASK + 3, generator=generator(seed, "table"))
        possible = torch.tensor([[id in ids for id in range(MASK + 3)] for ids in POSSIBLE])
        self.logits = logits.masked_fill(~possible, -math.inf)
        self.rows = []

    def __call__(self, rows, where):
        self.rows.append(len(rows))
        return self.logits[tuple(rows.T)][where]

    def p(self, state):
        return self.logits[state].double().softmax(1)


class Exaggerated(Table):
    """What guidance is to say: p₀^(1−w) · p^w, normalised, p₀ being told another word or none."""

    def __init__(self, weight, untold=MASK, seed=0):
        super().__init__(seed)
        self.weight, self.untold = weight, untold

    def p(self, state):
        return exaggerated(super().p(state), super().p((self.untold, *state[1:])), self.weight)


def exaggerated(told, untold, weight):
    """The closed form at each position."""
    p = torch.where(told > 0, untold ** (1 - weight) * told**weight, 0)
    return p / p.sum(1, keepdim=True)


def law(table, start):
    """P(row), by running the paper's chain from a row: masked ids are revealed with probability 1/t."""
    states = {start: 1.0}
    for t in range(STEPS, 0, -1):
        after = Counter()
        for state, weight in states.items():
            p = table.p(state)
            hidden = [i for i in range(L + N) if state[i] == MASK]
            for size in range(len(hidden) + 1):
                for chosen in itertools.combinations(hidden, size):
                    chance = weight * (1 / t) ** size * (1 - 1 / t) ** (len(hidden) - size)
                    if not chance:
                        continue
                    for ids in itertools.product(*(POSSIBLE[i] for i in chosen)):
                        new, likely = list(state), chance
                        for i, id in zip(chosen, ids, strict=True):
                            new[i] = id
                            likely *= p[i, id].item()
                        after[tuple(new)] += likely
        states = after
    return states


def drawn(denoise, start, seed=1):
    rows = torch.tensor(start).expand(COUNT, -1)
    plan = even_plan(range(COUNT), rows.shape[1], STEPS, seed=seed)
    return fill(denoise, rows, plan, Settings(), seed=seed, batch=COUNT)


def chi_square(rows, law):
    """χ² over its degrees of freedom, in their standard deviations."""
    assert sum(law.values()) == pytest.approx(1)
    seen, count = Counter(map(tuple, rows.tolist())), len(rows)
    assert set(seen) <= set(law), "only what is possible"
    # cells too rare for χ² are one
    often = {x: p for x, p in law.items() if count * p >= 5}
    cells = [(seen[x], p) for x, p in often.items()]
    rest = 1 - sum(often.values())
    cells += [(count - sum(n for n, _ in cells), rest)] if count * rest >= 5 else []
    value, freedom = sum((n - count * p) ** 2 / (count * p) for n, p in cells), len(cells) - 1
    return (value - freedom) / math.sqrt(2 * freedom)


STARTS = {
    "codes given a word": (5, MASK, MASK, MASK, MASK),
    "a word given codes": (MASK, 2, 0, 1, 1),
    "both": (MASK,) * 5,
    "a part of the codes given the rest": (4, 2, MASK, MASK, 1),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_the_law_of_fill_is_that_of_the_chain(start):
    rows = drawn(Table(), start)
    assert chi_square(rows, law(Table(), start)) < 4
    assert chi_square(rows, law(Table(seed=1), start)) > 20


def test_a_word_that_is_given_leaves_a_denoiser_of_codes():
    start = STARTS["codes given a word"]
    codes = drawn(Conditioned(Table(), words=torch.tensor(start[:L])), start[L:])
    rows = torch.cat([torch.full((COUNT, L), start[0]), codes], dim=1)
    assert chi_square(rows, law(Table(), start)) < 4


def test_a_row_may_be_given_its_own_word(rng):
    text = torch.tensor([[4], [5], [MASK]])
    codes = torch.randint(K, (3, N), generator=rng)
    where = torch.rand(3, N, generator=rng) < 0.5
    wanted = torch.cat([torch.zeros(3, L, dtype=torch.bool), where], dim=1)
    said = Table()(torch.cat([text, codes], dim=1), wanted)
    assert torch.equal(Conditioned(Table(), words=text)(codes, where), said[:, :K])


def test_a_remembered_start_says_the_same_of_rows_with_words(rng):
    """Whether only codes are wanted, and have K columns, or words too."""

    class Narrow(Table):
        def __call__(self, rows, where):
            return super().__call__(rows, where)[:, : None if where[:, :L].any() else K]

    rows = torch.tensor([[MASK] * 5, [5, *[MASK] * 4], [4, 0, 1, MASK, MASK], [MASK] * 5])
    for where in (rows == MASK, (rows == MASK) & (torch.arange(5) >= L)):
        said, wanted = RememberedStart(Narrow())(rows, where), Table()(rows, where)
        assert torch.equal(said[:, :K], wanted[:, :K])
        assert (wanted[:, K:] == -math.inf).all() or torch.equal(said, wanted)


def guided(weight, untold=MASK):
    return Guided(Table(), weight, blank=with_words(torch.tensor([untold])), num_words=L)


class TestGuidance:
    start = STARTS["codes given a word"]

    @pytest.mark.parametrize("weight", [0.0, 1.0, 2.0, 3.5])
    def test_its_law_is_the_closed_form(self, weight):
        rows = drawn(guided(weight), self.start)
        assert chi_square(rows, law(Exaggerated(weight), self.start)) < 4
        assert chi_square(rows, law(Exaggerated(weight + 0.5), self.start)) > 8

    def test_weight_0_is_unconditional_and_weight_1_conditional(self, rng):
        rows = torch.cat([torch.full((64, L), 5), torch.randint(K + 1, (64, N), generator=rng)], dim=1)
        where = rows == MASK
        blank = torch.cat([torch.full((64, L), MASK), rows[:, L:]], dim=1)
        assert torch.equal(guided(0.0)(rows, where), Table()(blank, where))
        torch.testing.assert_close(guided(1.0)(rows, where), Table()(rows, where))

    def test_negative_text_takes_the_place_of_none(self):
        rows = drawn(guided(2.0, untold=4), self.start)
        assert chi_square(rows, law(Exaggerated(2.0, untold=4), self.start)) < 4
        assert chi_square(rows, law(Exaggerated(2.0), self.start)) > 8

    def test_it_makes_one_pass_of_twice_the_rows(self):
        table = Table()
        rows = torch.tensor(self.start).expand(7, -1)
        Guided(table, 2.0, blank=with_words(torch.tensor([MASK])))(rows, rows == MASK)
        assert table.rows == [14]

    def test_a_ramp_goes_from_all_masked_to_none(self):
        rows = torch.tensor([[5, MASK, MASK, MASK, MASK], [5, 0, 1, 2, MASK]])
        where = rows == MASK
        said = guided((3.0, 1.0))(rows, where)
        torch.testing.assert_close(said[:4], guided(3.0)(rows[:1], where[:1]))
        torch.testing.assert_close(said[4:], guided(1.5)(rows[1:], where[1:]))

    def test_a_weight_that_moves_begins_with_the_first_code_to_draw_however_many_are_known(self):
        rows = torch.tensor([[4, 0, 1, MASK, MASK], [4, 0, 1, MASK, 2]])
        where = rows == MASK
        part = Guided(Table(), (3.0, 1.0), blank=with_words(torch.tensor([MASK])), num_words=L, num_drawn=2)
        said = part(rows, where)
        torch.testing.assert_close(said[:2], guided(3.0)(rows[:1], where[:1]))
        torch.testing.assert_close(said[2:], guided(2.0)(rows[1:], where[1:]))

    def test_a_weaker_prior_may_guide(self):
        class Autoguided(Table):
            def p(self, state):
                return exaggerated(super().p(state), weaker.p(state), 2.0)

        weaker = Table(seed=1)
        rows = drawn(Guided(Table(), 2.0, guide=weaker), self.start)
        assert chi_square(rows, law(Autoguided(), self.start)) < 4

    def test_the_surroundings_of_an_edit_may_guide(self):
        """The same row with what stays masked: p₀ knows nothing but what was drawn."""
        start = STARTS["a part of the codes given the rest"]
        known = torch.tensor(start) != MASK

        class WithoutContext(Table):
            def p(self, state):
                blank = tuple(MASK if stays else id for stays, id in zip(known.tolist(), state, strict=True))
                return exaggerated(super().p(state), super().p(blank), 2.0)

        rows = drawn(Guided(Table(), 2.0, blank=without_context(known, MASK)), start)
        assert chi_square(rows, law(WithoutContext(), start)) < 4

    def test_an_autoregressive_prior_is_guided_alike(self):
        class Raster(Table):
            num_positions = N

            def begin(self, batch):
                state, place = torch.full((batch, L + N), MASK), itertools.count()

                def next_logits(last):
                    i = next(place)
                    if last is not None:
                        state[:, i - 1] = last
                    return self.logits[tuple(state.T)][:, i]

                return next_logits

        words = torch.full((COUNT, L), 5)
        prior = GuidedContinuer(Raster(), 2.0, torch.tensor([MASK]))
        codes = autoregress(prior, range(COUNT), Settings(), seed=1, words=words, batch=COUNT)
        exact, states = Exaggerated(2.0), {self.start: 1.0}
        for i in range(L, L + N):
            states = {
                (*state[:i], code, *state[i + 1 :]): weight * exact.p(state)[i, code].item()
                for state, weight in states.items()
                for code in range(K)
            }
        assert chi_square(torch.cat([words, codes], dim=1), states) < 4
