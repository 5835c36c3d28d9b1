"""Quantisers: exact look-ups, gradients that pass, codebooks that live."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.codec.config import QuantizerConfig
from unmask.codec.kmeans import far_rows, kmeans, nearest_rows, random_rows, spread_rows
from unmask.codec.quantizers import FiniteScalar, Gumbel, Nearest
from unmask.errors import ConfigError
from unmask.rng import generator, initialise

WIDTH = 6


def nearest_quantizer(rng, num_codes=12, **settings):
    quantizer = Nearest(QuantizerConfig(codebook_size=num_codes, **settings), WIDTH)
    torch.nn.init.normal_(quantizer.codebook, generator=rng)
    return quantizer


def latents_of(rng, *, size=3):
    return torch.randn(2, WIDTH, size, size, generator=rng, requires_grad=True)


def test_the_nearest_code_is_the_same_in_mixed_precision(rng):
    rows, centres = torch.randn(500, 8, generator=rng), torch.randn(200, 8, generator=rng)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = nearest_rows(rows, centres)
    assert torch.equal(mixed, nearest_rows(rows, centres))


@given(seed=st.integers(0, 2**32), num_rows=st.integers(1, 40), num_centres=st.integers(1, 20))
def test_the_nearest_code_is_the_nearest_by_brute_force(seed, num_rows, num_centres):
    rng = generator(seed)
    rows = torch.randn(num_rows, WIDTH, generator=rng)
    centres = torch.randn(num_centres, WIDTH, generator=rng)
    distances = (rows[:, None] - centres[None]).norm(dim=2)
    chosen = distances.gather(1, nearest_rows(rows, centres)[:, None]).squeeze(1)
    torch.testing.assert_close(chosen, distances.min(1).values, rtol=0, atol=1e-5)


def test_quantised_latents_are_the_codes_latents(rng):
    quantizer = nearest_quantizer(rng)
    quantized = quantizer(latents_of(rng), 0, rng)
    torch.testing.assert_close(quantized.latents, quantizer.lookup(quantized.codes))


def test_the_gradient_passes_straight_through_to_the_encoder(rng):
    quantizer, latents = nearest_quantizer(rng), latents_of(rng)
    direction = torch.randn(latents.shape, generator=rng)
    (gradient,) = torch.autograd.grad((quantizer(latents, 0, rng).latents * direction).sum(), latents)
    torch.testing.assert_close(gradient, direction)


def test_each_loss_term_moves_its_own_side_with_its_own_weight(rng):
    latents = latents_of(rng)
    for a, b in ((1.0, 0.25), (0.25, 1.0)):
        quantizer = nearest_quantizer(rng, codebook_weight=a, commitment_weight=b)
        quantized = quantizer(latents, 0, rng)
        to_latents, to_codes = torch.autograd.grad(quantized.loss, [latents, quantizer.codebook])
        difference = (latents - quantizer.lookup(quantized.codes)).detach()
        torch.testing.assert_close(to_latents, b * 2 * difference / difference.numel())
        expected = torch.zeros_like(quantizer.codebook).index_add_(
            0, quantized.codes.flatten(), -difference.permute(0, 2, 3, 1).reshape(-1, WIDTH)
        )
        torch.testing.assert_close(to_codes, a * 2 * expected / difference.numel())


def test_a_code_is_recycled_when_it_has_been_idle_long_enough_and_not_before(rng):
    quantizer = nearest_quantizer(rng, num_codes=4, recycle_after=3)
    latents = latents_of(rng).detach()
    before = quantizer.codebook.clone()
    used = torch.tensor([True, True, True, False])
    moved = []
    for _ in range(4):
        last = quantizer.codebook.clone()
        quantizer.after_step(used, latents, rng)
        moved.append(not torch.equal(quantizer.codebook, last))
    assert moved == [False, False, True, False]
    torch.testing.assert_close(quantizer.codebook[:3], before[:3])
    rows = latents.permute(0, 2, 3, 1).reshape(-1, WIDTH)
    assert (rows == quantizer.codebook[3]).all(1).any(), "a recycled code is one of the batch's latents"


def test_kmeans_finds_separate_clusters(rng):
    centres = 20 * torch.randn(5, WIDTH, generator=rng)
    owner = torch.randint(5, (2000,), generator=rng)
    rows = centres[owner] + 0.1 * torch.randn(2000, WIDTH, generator=rng)
    found = kmeans(rows, random_rows(rows, 8, rng), rng)
    assert torch.cdist(centres, found).min(1).values.max() < 0.2


def test_a_large_plain_cluster_does_not_take_the_centres_of_small_ones(rng):
    """As in drawings, most of which are background: 95 % of the rows are nearly equal, 40 are each alone."""
    plain = 0.01 * torch.randn(800, WIDTH, generator=rng)
    alone = 20 * torch.randn(40, WIDTH, generator=rng)
    rows = torch.cat([plain, alone])
    found = kmeans(rows, spread_rows(rows, 48, rng), rng)
    assert torch.cdist(alone, found).min(1).values.max() < 1


def test_far_rows_are_drawn_in_proportion_to_their_squared_distance(rng):
    """Rows at distances 0, 1, 2 and 3 of their centres: 0, 1, 4 and 9 of 14, within 4 sigma."""
    rows, centres = torch.tensor([[0.0], [1.0], [8.0], [13.0]]), torch.tensor([[0.0], [10.0]])
    drawn = far_rows(rows, centres, 14_000, rng)
    for row, weight in zip(rows, (0, 1, 4, 9), strict=True):
        share, spread = weight / 14, (weight * (14 - weight) / 14**2 / 14_000) ** 0.5
        assert abs((drawn == row).float().mean() - share) <= 4 * spread


def test_rows_that_are_all_equal_can_still_be_spread(rng):
    rows = torch.ones(5, WIDTH)
    assert (spread_rows(rows, 3, rng) == 1).all()
    assert (far_rows(rows, rows[:1], 3, rng) == 1).all()


def test_gumbel_hardens_from_one_to_a_sixteenth():
    quantizer = Gumbel(QuantizerConfig(kind="gumbel", anneal_steps=100), WIDTH)
    assert quantizer.temperature(0) == 1
    assert quantizer.temperature(50) == pytest.approx(1 / 4)
    assert quantizer.temperature(100) == quantizer.temperature(10_000) == pytest.approx(1 / 16)


def test_gumbel_picks_codes_with_the_softmax_probabilities(rng):
    """The arg max of logits plus noise is a draw from their softmax: here by frequency, within 4 sigma."""
    quantizer = Gumbel(QuantizerConfig(kind="gumbel", codebook_size=3, anneal_steps=1), WIDTH)
    initialise(quantizer, rng)
    quantizer.initialise(rng)
    latents = torch.randn(1, WIDTH, 1, 1, generator=rng).expand(1, WIDTH, 200, 200)
    p = quantizer.logits(latents)[0, :, 0, 0].softmax(0)
    mixed = quantizer(latents, 1, rng).latents  # temperature 1/16: nearly one code each
    picked = nearest_rows(mixed.permute(0, 2, 3, 1).reshape(-1, WIDTH), quantizer.codebook)
    share = torch.bincount(picked, minlength=3) / len(picked)
    assert ((share - p).abs() < 4 * (p * (1 - p) / len(picked)).sqrt() + 0.005).all()
    assert p.max() - p.min() > 0.05, "the test could not tell a uniform draw from the right one"


def test_gumbel_gradients_reach_encoder_and_codebook(rng):
    quantizer = Gumbel(QuantizerConfig(kind="gumbel", codebook_size=5), WIDTH)
    initialise(quantizer, rng)
    quantizer.initialise(rng)
    latents = latents_of(rng)
    quantizer(latents, 0, rng).latents.square().sum().backward()
    assert latents.grad.abs().sum() > 0
    assert quantizer.codebook.grad.abs().sum() > 0


def test_a_decoder_that_trains_alone_gets_the_codes_of_gumbel_unmixed(rng):
    """With a frozen codebook, training decodes what ``encode`` and ``decode`` will."""
    quantizer = Gumbel(QuantizerConfig(kind="gumbel", codebook_size=5), WIDTH)
    initialise(quantizer, rng)
    quantizer.initialise(rng)
    latents = latents_of(rng)
    mixed = quantizer(latents, 0, rng).latents
    quantizer.requires_grad_(requires_grad=False)
    alone = quantizer(latents, 0, rng)
    assert torch.equal(alone.codes, quantizer.nearest(latents))
    assert torch.equal(alone.latents, quantizer.lookup(alone.codes))
    assert not torch.allclose(alone.latents, mixed)


@given(levels=st.lists(st.integers(2, 6), min_size=1, max_size=4))
def test_every_finite_scalar_code_survives_the_round_trip(levels):
    num_codes = int(torch.tensor(levels).prod())
    config = QuantizerConfig(kind="fsq", codebook_size=num_codes, levels=tuple(levels))
    quantizer = FiniteScalar(config, len(levels))
    with torch.no_grad():  # the projections become the identity, up to the scale of the sigmoid's inverse
        for layer in (quantizer.project_in, quantizer.project_out):
            layer.weight.copy_(torch.eye(len(levels))[:, :, None, None])
            layer.bias.zero_()
    codes = torch.arange(num_codes).view(1, 1, -1)
    scalars = quantizer.lookup(codes)  # digits spread over [−1, 1]
    digits = (scalars + 1) / 2 * (quantizer.levels[:, None, None] - 1)
    inverse = torch.logit((digits + 0.5) / quantizer.levels[:, None, None])
    assert torch.equal(quantizer.nearest(inverse), codes)


@pytest.mark.parametrize("levels", [4, 5])
def test_every_level_of_a_finite_scalar_has_the_same_share_of_the_sigmoid(levels):
    """Unlike under the paper's tanh, whose outermost levels have half of the others'."""
    quantizer = FiniteScalar(QuantizerConfig(kind="fsq", codebook_size=levels, levels=(levels,)), 1)
    with torch.no_grad():
        quantizer.project_in.weight.fill_(1)
        quantizer.project_in.bias.zero_()
    spread = (torch.arange(1000) + 0.5) / 1000
    codes = quantizer.nearest(torch.logit(spread).view(1, 1, 1, -1)).flatten()
    assert torch.bincount(codes).tolist() == [1000 // levels] * levels


def test_finite_scalars_pass_a_gradient(rng):
    config = QuantizerConfig(kind="fsq", codebook_size=64, levels=(8, 8))
    quantizer = FiniteScalar(config, WIDTH)
    latents = latents_of(rng)
    quantized = quantizer(latents, 0, rng)
    torch.testing.assert_close(quantized.latents, quantizer.lookup(quantized.codes))
    quantized.latents.square().sum().backward()
    assert latents.grad.abs().sum() > 0


def test_levels_that_do_not_make_the_codebook_are_refused():
    with pytest.raises(ConfigError, match="make 64 codes"):
        QuantizerConfig(kind="fsq", codebook_size=100, levels=(8, 8))
