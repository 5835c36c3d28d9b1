"""Figures are computed in float64, which Apple's GPUs do not have: it is for the CPU alone."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.untrained import SMALL_CODEC
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.losses import usage
from unmask.data.pixels import PixelSet
from unmask.diffusion.likelihood import code_nats, score_codes
from unmask.evaluation.fid import Moments
from unmask.evaluation.pixel_likelihood import ScaleHead, pixel_nats
from unmask.evaluation.reconstruction import measure_reconstructions
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator


class Elsewhere(Tensor):
    """A tensor as on a device without float64; so is all that is computed with it, until it is fetched."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        if isinstance(result, Elsewhere) and result.dtype == torch.float64:
            raise TypeError(f"{func.__name__}: this device has no float64")
        return result

    def cpu(self) -> Tensor:  # type: ignore[override]
        with torch._C.DisableTorchFunctionSubclass():
            return self.as_subclass(Tensor)


def moved(network: nn.Module) -> nn.Module:
    """The network with its weights elsewhere, and so all that it computes."""
    for module in network.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                there = weight.detach().as_subclass(Elsewhere)
                module._parameters[name] = nn.Parameter(there, requires_grad=False)
    return network.eval()


@pytest.fixture
def codec() -> nn.Module:
    return moved(Autoencoder(SMALL_CODEC, generator(0)))


@pytest.fixture(params=["absorbing", "autoregressive"])
def prior(request) -> nn.Module:
    return moved(
        Transformer(PriorConfig(kind=request.param, width=16, depth=1, heads=2), 16, (4, 4), generator(0))
    )


@pytest.fixture
def codes(rng) -> Tensor:
    return torch.randint(16, (3, 16), generator=rng).as_subclass(Elsewhere)


def test_this_test_can_fail(codes):
    with pytest.raises(TypeError, match="no float64"):
        codes.double()
    with pytest.raises(TypeError, match="no float64"):
        (codes + 1).to("cpu", torch.float64)
    assert type(codes.cpu().double()) is Tensor


def test_codes_are_scored(prior, codes):
    assert score_codes(prior, codes, 0, num_draws=4, num_steps=None).nats.dtype == torch.float64
    assert code_nats(prior, codes, 0, num_pairs=2).dtype == torch.float64


def test_pixels_are_scored(codec, rng):
    head = moved(ScaleHead(8))
    images = torch.rand(2, 3, 16, 16, generator=rng).as_subclass(Elsewhere)
    assert pixel_nats(codec, head, images).dtype == torch.float64


def test_reconstructions_and_the_use_of_codes_are_measured(codec, codes, rng):
    pictures = torch.randint(256, (3, 16, 16, 3), generator=rng, dtype=torch.uint8).numpy()
    pixels = PixelSet(list("abc"), np.arange(3), lambda rows: pictures[rows], list("abc"))
    assert measure_reconstructions(codec, pixels, batch=2)["l1"] > 0
    assert usage(codes.flatten())["perplexity"] > 1


def test_features_are_compared(rng):
    features = torch.randn(5, 3, generator=rng).as_subclass(Elsewhere)
    assert Moments.of(features).scatter.dtype == torch.float64
