"""Bits of pixels are a true bound, and maps of surprise add up to what the whole costs."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.untrained import SMALL_CODEC
from unmask.codec.autoencoder import Autoencoder
from unmask.data.pixels import PixelSet
from unmask.data.transforms import to_tensor
from unmask.errors import DataError
from unmask.evaluation.pixel_likelihood import (
    DimensionBits,
    bits_per_dimension,
    decoded,
    fit_scale,
    level_nats,
    pixel_nats,
    scale_head,
)
from unmask.rng import generator


@pytest.fixture(scope="module")
def codec():
    """One that decodes everything to grey, and whose features still tell what it has seen."""
    codec = Autoencoder(SMALL_CODEC, generator(0)).eval().requires_grad_(False)
    codec.decoder[-1].weight.zero_()
    codec.decoder[-1].bias.fill_(0.5)
    return codec


@pytest.fixture(scope="module")
def discs():
    """Sixty pictures: flat on the left, noise on the right."""
    draws = np.random.default_rng(0)
    pictures = np.full((60, 16, 16, 3), 128, np.uint8)
    pictures[:, :, 8:] = draws.integers(0, 256, (60, 16, 8, 3))
    names = [str(number) for number in range(60)]
    return PixelSet(names, np.arange(60), lambda rows: pictures[rows], names)


@pytest.mark.parametrize("bits", [8, 5, 1])
@given(mean=st.floats(-50, 300), log_scale=st.floats(-4, 8))
def test_the_masses_of_all_levels_add_up_to_one(bits, mean, log_scale):
    levels = torch.arange(0, 256, 2 ** (8 - bits)).double()
    nats = level_nats(levels, torch.full_like(levels, mean), torch.full_like(levels, log_scale), bits)
    assert (-nats).exp().sum().item() == pytest.approx(1, abs=1e-12)
    assert nats.isfinite().all()


def test_five_bits_are_eight_levels_of_eight_bits_each():
    mean, log_scale = torch.full((256,), 100.3), torch.full((256,), 2.0)
    fine = (-level_nats(torch.arange(256), mean, log_scale)).exp()
    coarse = (-level_nats(torch.arange(256), mean, log_scale, bits=5)).exp()
    torch.testing.assert_close(coarse[::8], fine.view(32, 8).sum(1))
    torch.testing.assert_close(coarse, coarse[::8].repeat_interleave(8))


def test_gradients_reach_the_scale_from_every_level():
    log_scale = torch.full((256,), -4.0, requires_grad=True)
    level_nats(torch.arange(256), torch.full((256,), 3.7), log_scale).sum().backward()
    assert log_scale.grad.isfinite().all()
    assert (log_scale.grad != 0).sum() > 250


def test_data_from_a_known_density_cost_their_entropy_and_any_other_guess_costs_more(rng):
    """Levels of rounded N(80, 5²): with the true mean and spread the mean cost is the entropy."""
    mean, log_scale = torch.tensor(80.0), torch.tensor(math.log(5))
    every = level_nats(torch.arange(256), mean.expand(256), log_scale.expand(256))
    entropy = ((-every).exp() * every).sum()
    drawn = (80 + 5 * torch.randn(40_000, generator=rng, dtype=torch.float64)).round().clamp(0, 255)
    costs = level_nats(drawn, mean.expand_as(drawn), log_scale.expand_as(drawn))
    standard_error = costs.std() / 200
    assert abs(costs.mean() - entropy) < 4 * standard_error
    for other_mean, other_scale in ((82.0, 5.0), (80.0, 4.0), (80.0, 6.5)):
        guess = (
            torch.tensor(other_mean).expand_as(drawn),
            torch.tensor(math.log(other_scale)).expand_as(drawn),
        )
        assert level_nats(drawn, *guess).mean() > entropy + 4 * standard_error


@pytest.mark.parametrize("bits", [8, 5])
def test_the_bound_covers_a_known_mixture_picture_by_picture(rng, bits):
    """Four codes of known probability, each with a mean: −log p(x) is known, and no encoder beats it."""
    log_prior = torch.tensor([0.4, 0.3, 0.2, 0.1]).log().double()
    means = torch.tensor([40.0, 80.0, 92.0, 200.0])
    log_scale = torch.tensor(math.log(8)).expand(4)
    z = torch.multinomial(log_prior.exp(), 5000, replacement=True, generator=rng)
    x = (means[z] + 8 * torch.randn(5000, generator=rng)).round().clamp(0, 255)
    nats = level_nats(x[:, None].expand(-1, 4), means.expand(5000, -1), log_scale.expand(5000, -1), bits)
    truth = -torch.logsumexp(log_prior - nats, dim=1)  # −log Σ_z p(z) p(x | z)
    for encoder in (z, (x[:, None] - means).abs().argmin(1), torch.zeros_like(z)):
        bound = (nats - log_prior).gather(1, encoder[:, None])[:, 0]
        assert (bound >= truth - 1e-12).all()
    best = (nats - log_prior).amin(1)
    assert (best - truth).mean() < 0.3  # and the bound is near where codes hardly overlap


@torch.no_grad()
@pytest.mark.parametrize("size_px", [16, 80])
def test_pixels_are_expected_where_the_decoder_puts_them(rng, size_px):
    """Also those of a codec trained on larger grids than the tiles of a canvas."""
    codec = Autoencoder(SMALL_CODEC, generator(1)).eval()
    images = torch.rand(1, 3, size_px, size_px, generator=rng)
    _, mean = decoded(codec, images)
    torch.testing.assert_close(mean, 255 * codec.decode(codec.encode(images)))


def test_the_head_learns_where_pixels_are_uncertain(codec, discs):
    head = fit_scale(codec, discs, steps=200)
    images = to_tensor(discs.read(range(20)))
    fitted = pixel_nats(codec, head, images)
    assert fitted.shape == images.shape
    assert fitted[..., 2:6].mean() < fitted[..., 10:14].mean() - 2  # flat against noise, in nats
    with torch.no_grad():
        head.out.weight.zero_()  # one spread for all
        assert fitted.mean() < pixel_nats(codec, head, images).mean() - 0.3


def test_fewer_bits_cost_less(codec, discs):
    head = fit_scale(codec, discs, steps=2)
    images = to_tensor(discs.read(range(4)))
    assert (pixel_nats(codec, head, images, bits=5) <= pixel_nats(codec, head, images)).all()


def test_a_dimension_costs_its_share_of_the_pixels_and_of_the_codes(codec, discs):
    head, reports = fit_scale(codec, discs, steps=2), []
    found = bits_per_dimension(codec, head, discs, [3.0] * 60, report=lambda *now: reports.append(now))
    nats = pixel_nats(codec, head, to_tensor(discs.read(range(60))))
    assert found.of_pixels == pytest.approx((nats.sum((1, 2, 3)) / (math.log(2) * 3 * 16**2)).tolist())
    codes = codec.encode(to_tensor(discs.read([0]))).numel()
    assert found.of_codes == pytest.approx([3 * codes / (3 * 16**2)] * 60)
    assert found.bits[7] == found.of_pixels[7] + found.of_codes[7]
    assert reports[-1] == (60, 60)
    coarse = bits_per_dimension(codec, head, discs, [3.0] * 60, bits=5)
    assert coarse.mean < found.mean


def test_the_mean_of_a_single_picture_has_no_standard_error():
    pair = DimensionBits([1.0, 3.0], [0.5, 0.5])
    assert (pair.mean, pair.standard_error) == (2.5, pytest.approx(1.0))
    assert math.isnan(DimensionBits([1.0], [0.5]).standard_error)


def test_a_head_is_fitted_once(codec, discs, tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "new"))
    reports = []
    first = scale_head(codec, "a codec", discs, steps=3, report=lambda *now: reports.append(now))
    again = scale_head(codec, "a codec", discs, steps=3, report=lambda *now: reports.append(now))
    assert len(reports) == 3
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    scale_head(codec, "another", discs, steps=3, report=lambda *now: reports.append(now))
    assert len(reports) == 6


@pytest.mark.parametrize("name", ["state.safetensors", "state.json"])
def test_a_head_that_is_damaged_is_fitted_again(codec, discs, tmp_path, monkeypatch, name):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "new"))
    first = scale_head(codec, "a codec", discs, steps=2)
    [kept] = (tmp_path / "new").glob("*.scale")
    data = (kept / name).read_bytes()
    for damaged in (b"", data[:40], data[:-1], data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]):
        (kept / name).write_bytes(damaged)
        again = scale_head(codec, "a codec", discs, steps=2)
        assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
        assert (kept / name).read_bytes() == data


def test_a_head_that_cannot_be_kept_is_one_sentence(codec, discs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match="cannot hold the spread of pixels"):
        scale_head(codec, "a codec", discs, steps=1)


def test_no_pictures_to_fit_on_are_refused_in_a_sentence(codec):
    nothing = PixelSet([], np.arange(0), lambda rows: np.zeros((0, 8, 8, 3), np.uint8), [])
    with pytest.raises(DataError, match="no images to fit"):
        scale_head(codec, "a codec", nothing)
