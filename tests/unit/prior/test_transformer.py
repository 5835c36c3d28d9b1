import pytest
import torch

from unmask.prior.config import PriorConfig
from unmask.prior.transformer import NO_TEXT, Text, Transformer, dropout, pack
from unmask.rng import generator

K, GRID = 10, (4, 4)
VARIANTS = [
    {"positions": positions, "qk_norm": qk_norm, "init": init}
    for positions, qk_norm, init in [
        ("learned", False, "torch"),
        ("learned", True, "torch"),
        ("rotary", False, "gpt2"),
        ("rotary", True, "gpt2"),
    ]
]


MERGED = [{"kind": "absorbing", "merge": 2, "positions": positions} for positions in ("learned", "rotary")]


def small_prior(kind, text=NO_TEXT, **variant):
    config = PriorConfig(kind=kind, width=32, depth=3, heads=2, **variant)
    prior = Transformer(config, K, GRID, generator(0), text)
    for parameter in (prior.start, prior.positions):  # they start at zero, where a test would see nothing
        if parameter is not None:
            torch.nn.init.normal_(parameter, generator=generator(1))
    return prior


@pytest.fixture
def codes(rng):
    return torch.randint(K, (5, 16), generator=rng)


@pytest.mark.parametrize(
    "variant",
    [variant | {"kind": kind} for kind in ("absorbing", "autoregressive") for variant in VARIANTS] + MERGED,
    ids=str,
)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_logits_where_wanted_equal_the_full_computation(variant, share, codes, rng):
    prior = small_prior(**variant)
    where = torch.rand(codes.shape, generator=rng) < share
    where[0, 3] = True
    full = prior(codes, torch.ones_like(where)).view(*codes.shape, K)
    torch.testing.assert_close(prior(codes, where), full[where], atol=1e-5, rtol=0)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_cached_causal_prior_equals_the_uncached(variant, count, codes):
    prior, codes = small_prior("autoregressive", **variant), codes[:count]
    full = prior(codes, torch.ones_like(codes, dtype=torch.bool)).view(*codes.shape, K)
    next_logits = prior.begin(len(codes))
    stepwise = torch.stack([next_logits(code) for code in [None, *codes[:, :-1].T]], dim=1)
    torch.testing.assert_close(stepwise, full, atol=1e-5, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_causal_prior_does_not_see_what_it_predicts(variant, codes):
    prior = small_prior("autoregressive", **variant)
    where = torch.zeros_like(codes, dtype=torch.bool)
    where[:, 7] = True
    before = prior(codes, where)
    changed = codes.clone()
    changed[:, 7:] = prior.mask_id
    torch.testing.assert_close(prior(changed, where), before)
    changed[:, 6] = (codes[:, 6] + 1) % K
    assert not torch.allclose(prior(changed, where), before)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_absorbing_prior_sees_every_known_code(variant, codes):
    prior = small_prior("absorbing", **variant)
    where = torch.zeros_like(codes, dtype=torch.bool)
    where[:, 7] = True
    before = prior(codes, where)
    for place in (0, 7, 15):
        changed = codes.clone()
        changed[:, place] = prior.mask_id
        assert not torch.allclose(prior(changed, where), before, atol=1e-6)


def test_rotary_positions_depend_on_offsets_alone():
    """Moving the whole pattern by a row and a column leaves every score between two cells as it was."""
    from unmask.prior.attention import rotary_angles, rotate

    angles = rotary_angles((6, 6), 8).view(6, 6, -1)
    q, k = torch.randn(2, 8, generator=generator(3))

    def score(a, b):
        return rotate(q[None], angles[a][None]) @ rotate(k[None], angles[b][None]).T

    torch.testing.assert_close(score((0, 1), (2, 3)), score((3, 2), (5, 4)))
    assert not torch.allclose(score((0, 1), (2, 3)), score((0, 1), (3, 2)))


def test_packing_puts_wanted_places_first_and_in_order():
    where = torch.tensor([[0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)
    places, real = pack(where)
    assert places[0, :2].tolist() == [1, 3]
    assert places[2].tolist() == [0, 1, 2]
    assert real.sum(1).tolist() == [2, 0, 3]


def test_dropout_keeps_the_mean_and_is_off_without_a_generator(rng):
    x = torch.ones(100_000)
    dropped = dropout(x, 0.25, rng)
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert abs(dropped.mean() - 1) < 4 * (0.25 / 0.75 / len(x)) ** 0.5
    assert dropout(x, 0.25, None) is x


class TestWords:
    """Three words of seven before the codes."""

    text = Text(3, 7)

    @pytest.fixture
    def rows(self, codes, rng):
        words = torch.randint(K + 1, K + 8, (len(codes), 3), generator=rng)
        words[0], words[1] = torch.arange(K + 1, K + 4), K  # the second has no caption
        return torch.cat([words, codes], dim=1)

    @pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    def test_logits_where_wanted_equal_the_full_computation(self, kind, variant, rows, rng):
        prior = small_prior(kind, self.text, **variant)
        where = torch.rand(rows.shape, generator=rng) < 0.3
        full = prior(rows, torch.ones_like(where)).view(*rows.shape, K + 8)
        torch.testing.assert_close(prior(rows, where), full[where], atol=1e-5, rtol=0)
        where[:, :3] = False  # codes alone are asked for
        torch.testing.assert_close(prior(rows, where), full[where][:, :K], atol=1e-5, rtol=0)

    @pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
    def test_only_words_are_possible_before_and_only_codes_after(self, kind, rows):
        prior = small_prior(kind, self.text)
        logits = prior(rows, torch.ones_like(rows, dtype=torch.bool)).view(*rows.shape, K + 8)
        possible = logits.isfinite()
        assert possible[:, :3, K + 1 :].all()
        assert possible[:, 3:, :K].all()
        assert possible.sum() == len(rows) * (3 * 7 + 16 * K)

    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    def test_the_cached_causal_prior_equals_the_uncached(self, variant, rows):
        prior = small_prior("autoregressive", self.text, **variant)
        full = prior(rows, torch.ones_like(rows, dtype=torch.bool)).view(*rows.shape, K + 8)
        next_logits = prior.begin(len(rows))
        cached = [next_logits(ids) for ids in [None, *rows[:, :-1].T]]
        torch.testing.assert_close(torch.stack(cached[:3], dim=1), full[:, :3], atol=1e-5, rtol=0)
        torch.testing.assert_close(torch.stack(cached[3:], dim=1), full[:, 3:, :K], atol=1e-5, rtol=0)

    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    def test_words_and_their_order_matter_to_codes_and_codes_to_words(self, variant, rows):
        prior = small_prior("absorbing", self.text, **variant)
        for parameter in prior.blocks.parameters():  # so large that nothing is lost in rounding
            torch.nn.init.normal_(parameter, std=0.3, generator=generator(2))
        where = torch.zeros_like(rows, dtype=torch.bool)
        where[:, [0, 9]] = True
        before = prior(rows, where).view(-1, 2, K + 8)[0]
        for changed in (rows[:, [0, 2, 1, *range(3, 19)]], rows.where(torch.arange(19) != 18, K)):
            after = prior(changed, where).view(-1, 2, K + 8)[0]
            assert not torch.allclose(after[0, K + 1 :], before[0, K + 1 :], atol=1e-6)
            assert not torch.allclose(after[1, :K], before[1, :K], atol=1e-6)


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
def test_a_prior_without_words_has_no_parameter_of_theirs(kind):
    names = {name: tuple(value.shape) for name, value in small_prior(kind).state_dict().items()}
    assert names["tokens.weight"] == (K + (kind == "absorbing"), 32)
    assert names["head.weight"] == (K, 32)
    assert names["positions"] == (16, 32)


def test_training_computes_the_same_logits_as_inference(codes):
    """In bfloat16, to its last bits: there training computes attention in another way."""
    prior, where = small_prior("absorbing"), torch.ones(codes.shape, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        trained = prior(codes, where)
        with torch.no_grad():
            torch.testing.assert_close(prior(codes, where), trained.detach(), atol=0.03, rtol=0.03)
