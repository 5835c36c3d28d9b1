"""Variations: a share of the codes is masked again and filled in, which is the process there and back."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.untrained import K, untrained
from unmask.data.pictures import encoded
from unmask.data.provenance import read
from unmask.diffusion.inpaint import choose_positions, refill
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError
from unmask.pipeline import Pipeline
from unmask.rng import generator

MASK, STATES = 2, list(itertools.product(range(2), repeat=4))


@pytest.fixture(scope="module")
def model():
    return Pipeline(untrained(), torch.device("cpu"))


@pytest.fixture(scope="module")
def picture():
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


class Exact:
    """The denoiser of a known distribution over 2×2 codes of two kinds: its true conditionals."""

    mask_id = MASK

    def __init__(self):
        self.p = torch.rand(len(STATES), generator=generator(0, "joint"), dtype=torch.float64) ** 3
        self.p /= self.p.sum()

    def __call__(self, codes, where):
        states = torch.tensor(STATES)
        fits = ((codes[:, None] == MASK) | (codes[:, None] == states)).all(2) * self.p  # (B, 16)
        one = torch.einsum("bs,sn->bn", fits, states.double()) / fits.sum(1, keepdim=True)
        return torch.stack([1 - one, one], dim=2)[where].log()


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_there_and_back_keeps_what_the_model_draws_distributed_as_it_was(share):
    """A Gibbs step of blocks that are drawn at random; with a wrong mask or chain it would drift."""
    exact, count = Exact(), 4000
    drawn = torch.multinomial(exact.p, count, replacement=True, generator=generator(0, "start"))
    codes = torch.tensor(STATES)[drawn]
    again = choose_positions(torch.ones(4, dtype=torch.bool), share, count, seed=1)
    assert len(again.unique(dim=0)) > 1  # every row forgets its own
    one_by_one = Settings(schedule="cosine")
    varied = refill(exact, codes.masked_fill(again, MASK), (2, 2), one_by_one, seed=2, batch=count).codes
    assert torch.equal(varied[~again], codes[~again])
    assert not torch.equal(varied, codes)
    seen = torch.bincount(varied @ torch.tensor([8, 4, 2, 1]), minlength=16).double()
    chi2 = ((seen - count * exact.p).square() / (count * exact.p)).sum()
    assert chi2 < 15 + 4 * 30**0.5  # mean and four standard deviations with 15 degrees of freedom


@given(st.lists(st.booleans(), min_size=1, max_size=20).filter(any), st.floats(0.01, 1), st.integers(0, 9))
def test_a_share_is_forgotten_and_nothing_else(among, share, seed):
    among = torch.tensor(among)
    again = choose_positions(among, share, 3, seed=seed)
    assert not again[:, ~among].any()
    wanted = share * among.sum()
    assert ((again.sum(1) >= wanted - 1e-6) & (again.sum(1) < wanted + 1 + 1e-6)).all()
    assert torch.equal(choose_positions(among, share, 5, seed=seed)[:3], again)
    dearest = choose_positions(among, share, 3, seed=seed, nats=torch.arange(len(among)).double())
    assert (dearest == dearest[0]).all()
    kept = among & ~dearest[0]
    assert not kept.any() or dearest[0].nonzero().min() > kept.nonzero().max()


def codes_of(model, pictures):
    return torch.stack(
        [
            model.codec.encode(torch.from_numpy(np.array(one)).permute(2, 0, 1)[None] / 255)[0]
            for one in pictures
        ]
    )


def test_a_variation_draws_its_share_of_codes_and_keeps_the_others(model, picture):
    seen = []
    model.vary(picture, strength=0.3, count=3, seed=4, on_step=lambda codes: seen.append(codes.clone()))
    before, last = codes_of(model, [picture]).flatten(1), seen[-1]
    assert ((last != before).sum(1) <= 5).all()  # of 16
    assert (last != before).any(1).all()
    assert len({tuple(row) for row in (seen[0] == K).tolist()}) == 3


def test_those_that_the_model_thinks_least_of_are_the_dearest(model, picture):
    from unmask.diffusion.likelihood import likelihood_of
    from unmask.generation.edits import varied

    seen = []
    model.vary(picture, strength=0.25, unlikely=True, seed=4, steps=1, on_step=seen.append, count=2)
    edit = varied(model.editor.to_draw("edit"), picture, 0.25, unlikely=True)
    codes = codes_of(model, [picture]).flatten(1)
    nats = likelihood_of(model.prior).code_nats(codes, 0, num_pairs=4, seed=4)[0]
    (dearest,) = choose_positions(torch.ones(16, dtype=torch.bool), 0.25, 1, seed=0, nats=nats)
    assert torch.equal((seen[-1] != codes).any(0) | dearest, dearest)
    assert edit.num_drawn == dearest.sum() == 4


def test_at_full_strength_nothing_of_the_picture_is_left(model, picture):
    (one,) = model.vary(picture, strength=1, count=1, seed=3)
    (other,) = model.inpaint(Image.new("RGB", (16, 16)), (0, 0, 16, 16), count=1, seed=3)
    assert one.tobytes() == other.tobytes()


def test_a_part_can_be_varied_as_well(model, picture):
    (varied,) = model.inpaint(picture, (0, 0, 8, 16), strength=0.5, seam=0, count=1, seed=3)
    before, after = np.asarray(picture), np.asarray(varied)
    assert np.array_equal(before[:, 8:], after[:, 8:])
    assert not np.array_equal(before, after)


def test_a_variation_says_what_it_is(model, picture):
    first, second = model.vary(picture, strength=0.4, count=2, seed=3, steps=2)
    said = read(encoded(second))
    assert (said.task, said.strength, said.number, said.box) == ("vary", 0.4, 1, None)
    assert read(encoded(first)) == replace(said, number=0)


@pytest.mark.parametrize("strength", [0, -1, 1.5, float("nan")])
def test_no_share_at_all_is_refused(model, picture, strength):
    with pytest.raises(ConfigError, match="strength"):
        model.vary(picture, strength=strength)
