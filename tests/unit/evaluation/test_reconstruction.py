"""Reconstructions are measured where the codec is, and alike by one process and by several."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.together import together
from tests.untrained import SMALL_CODEC
from unmask.codec.autoencoder import Autoencoder
from unmask.data.pixels import PixelSet
from unmask.evaluation import reconstruction
from unmask.evaluation.reconstruction import measure_reconstructions
from unmask.rng import generator

WIDTH = 6


class Elsewhere(nn.Module):
    """A network that has to be brought to its inputs; what it computes are means of them."""

    place: torch.device | None = None

    def to(self, device: torch.device) -> "Elsewhere":
        self.place = device
        return self

    def forward(self, *images: Tensor) -> Tensor:
        assert all(x.device == self.place for x in images), "its inputs are on another device"
        means = torch.cat([x.float().flatten(2).unflatten(2, (2, -1)).mean(3) for x in images], 1)
        return means.flatten(1) if len(images) == 1 else means.mean((1, 2))


@pytest.fixture
def measure(monkeypatch) -> Callable[..., dict[str, float]]:
    """Every figure of a small codec over some pictures of noise."""
    monkeypatch.setattr(reconstruction, "WIDTH", WIDTH)
    codec = Autoencoder(SMALL_CODEC, generator(0)).eval().requires_grad_(False)

    def measured(count: int, size_px: int = 16, **shared: Any) -> dict[str, float]:
        shape = (count, size_px, size_px, 3)
        pictures = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        names = [str(number) for number in range(count)]
        pixels = PixelSet(names, np.arange(count), lambda rows: pictures[rows], names)
        networks = {"perceptual": Elsewhere(), "inception": Elsewhere()}
        return measure_reconstructions(codec, pixels, batch=2, **networks, **shared)

    return measured


def test_every_figure_is_measured_by_networks_that_come_to_the_codec(measure):
    figures = measure(5)
    assert list(figures) == ["l1", "psnr", "ssim", "lpips", "fid", "codes_used", "perplexity"]
    assert all(np.isfinite(value) for value in figures.values())


def test_pictures_smaller_than_a_window_of_ssim_have_none(measure):
    assert list(measure(5, size_px=8)) == ["l1", "psnr", "lpips", "fid", "codes_used", "perplexity"]


def test_one_picture_has_no_fid(measure):
    assert list(measure(1)) == ["l1", "psnr", "ssim", "lpips", "codes_used", "perplexity"]


@pytest.mark.parametrize(("count", "world"), [(5, 2), (2, 3)])
def test_processes_measure_together_what_one_measures_alone(measure, count, world):
    """Of two pictures the third process has none, and still takes part in every sum."""
    alone = measure(count)
    for figures in together(world, lambda processes: measure(count, processes=processes)):
        assert figures == pytest.approx(alone, rel=1e-6)
