"""Networks from a bundle's parts: what is at rest comes alive."""

from typing import TypeVar

import torch
from torch import nn

from unmask.bundle import Part
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig
from unmask.config import merge
from unmask.errors import BundleError
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer

M = TypeVar("M", bound=nn.Module)


def codec_from(part: Part) -> Autoencoder:
    """The codec that ``part`` describes, ready to encode and decode."""
    return _filled(Autoencoder(merge(CodecConfig(), part.config)), part, "codec")


def prior_from(part: Part) -> Transformer:
    """The prior that ``part`` describes, ready to predict codes."""
    config = dict(part.config)
    codebook_size, (height, width) = config.pop("codebook_size"), config.pop("grid")
    return _filled(Transformer(merge(PriorConfig(), config), codebook_size, (height, width)), part, "prior")


def _filled(module: M, part: Part, name: str) -> M:
    """The module with the part's weights, float32 whatever they are stored as, and nothing left to train."""
    broken = [key for key, tensor in part.tensors.items() if not torch.isfinite(tensor).all()]
    if broken:
        raise BundleError(f"the {name}'s weights are not all numbers: {', '.join(broken[:3])}")
    try:
        module.load_state_dict(part.tensors)
    except RuntimeError as error:
        raise BundleError(f"the {name}'s weights do not fit its configuration: {error}") from None
    module.eval().requires_grad_(False)
    return module
