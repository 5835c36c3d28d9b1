"""The paper's networks have the paper's sizes."""

import pytest
import torch
from torch import nn

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.blocks import Residual
from unmask.codec.config import CodecConfig, LossConfig
from unmask.codec.discriminator import Discriminator
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator

AUTHORS_AUTOENCODER = 65_779_974
AUTHORS_DISCRIMINATOR = 2_765_633
AUTHORS_PRIOR = 76_838_912


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_codec_has_the_authors_size_less_what_they_never_use():
    with torch.device("meta"):
        codec = Autoencoder(CodecConfig())
    # The authors keep a 1×1 shortcut convolution in every residual block, used only where the width changes.
    unused = sum(
        block.conv1.in_channels * (block.conv1.in_channels + 1)
        for block in codec.modules()
        if isinstance(block, Residual) and isinstance(block.shortcut, nn.Identity)
    )
    # Their generator also carries the log-scale head of the pixel likelihood: 3×3 128→128, then 1×1 128→3.
    log_scale_head = (128 * 128 * 9 + 128) + (128 * 3 + 3)

    assert count(codec) == 63_283_075
    assert count(codec) + unused + log_scale_head == AUTHORS_AUTOENCODER


def test_the_discriminator_has_the_authors_size():
    assert count(Discriminator(LossConfig(), generator(0))) == AUTHORS_DISCRIMINATOR


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
def test_the_prior_has_the_authors_size(kind):
    with torch.device("meta"):
        prior = Transformer(PriorConfig(kind=kind), 1024, (16, 16))
    # The authors count a start vector that only the autoregressive prior uses, which embeds no MASK.
    unused = 512
    assert count(prior) + unused == AUTHORS_PRIOR
