import math
from contextlib import nullcontext

import pytest
import torch

from unmask.codec.config import CodecConfig, LossConfig, QuantizerConfig
from unmask.codec.discriminator import Discriminator
from unmask.codec.perceptual import Perceptual
from unmask.config import CodecTraining
from unmask.errors import ConfigError


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (QuantizerConfig, {"codebook_size": 1}),
        (QuantizerConfig, {"anneal_steps": 0}),
        (QuantizerConfig, {"codebook_weight": -1.0}),
        (QuantizerConfig, {"commitment_weight": math.nan}),
        (QuantizerConfig, {"kl_weight": -1e-8}),
        (QuantizerConfig, {"kmeans_batches": -1}),
        (QuantizerConfig, {"recycle_after": -1}),
        (QuantizerConfig, {"levels": (), "kind": "fsq"}),
        (CodecConfig, {"width": 0}),
        (CodecConfig, {"blocks": 0}),
        (CodecConfig, {"code_width": 0}),
        (CodecConfig, {"groups": 0}),
        (CodecConfig, {"groups": 3}),
        (CodecConfig, {"attention": (32,)}),
        (CodecConfig, {"multipliers": ()}),
        (CodecConfig, {"multipliers": (1, 0)}),
        (CodecConfig, {"pixel_range": (0.0, 0.0)}),
        (CodecConfig, {"pixel_range": (0.0, math.inf)}),
        (CodecConfig, {"pixel_range": (math.nan, 1.0)}),
        (LossConfig, {"perceptual_weight": -0.5}),
        (LossConfig, {"adversarial_start": -1}),
        (LossConfig, {"adaptive_max": math.nan}),
        (LossConfig, {"discriminator_width": 0}),
        (LossConfig, {"discriminator_layers": 0}),
    ],
    ids=str,
)
def test_impossible_codecs_are_refused_by_the_name_of_the_setting(kind, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "-")):
        kind(**wrong)


@pytest.mark.parametrize(
    ("loss", "least"),
    [
        ({"perceptual": "vgg", "adversarial": "off"}, 16),
        ({"perceptual": "alex", "adversarial": "off"}, 31),
        ({"perceptual": "off", "discriminator_layers": 1}, 6),
        ({"perceptual": "off", "discriminator_layers": 3}, 24),
    ],
)
def test_the_smallest_picture_of_a_loss_is_the_smallest_that_its_networks_can_take(loss, least, rng):
    config = LossConfig(**loss, discriminator_width=8)
    judge = (
        Discriminator(config, rng) if config.perceptual == "off" else Perceptual(config.perceptual).features
    )
    config.check_size(least)
    judge(torch.zeros(2, 3, least, least))
    with pytest.raises(ConfigError, match=f"{least} pixels, not {least - 1}"):
        config.check_size(least - 1)
    with pytest.raises(RuntimeError):
        judge(torch.zeros(2, 3, least - 1, least - 1))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"quantizer": QuantizerConfig(codebook_size=1025, kmeans_batches=1)}, "1024 latents for 1025 codes"),
        ({"quantizer": QuantizerConfig(codebook_size=1024, kmeans_batches=1)}, None),
        ({"quantizer": QuantizerConfig(codebook_size=1025)}, None),
    ],
)
def test_kmeans_wants_a_latent_a_code(changes, sentence):
    """The paper's settings: four pictures a batch, of 16×16 latents each."""
    with pytest.raises(ConfigError, match=sentence) if sentence else nullcontext():
        CodecTraining(codec=CodecConfig(**changes))


def test_levels_of_a_single_value_are_refused_as_such():
    with pytest.raises(ConfigError, match="at least 2"):
        QuantizerConfig(kind="fsq", levels=(1, 64), codebook_size=64)


def test_a_weight_without_a_clamp_is_allowed():
    assert LossConfig(adaptive_max=math.inf).adaptive_max == math.inf


def test_a_picture_size_that_does_not_divide_names_one_that_does():
    with pytest.raises(ConfigError, match=r"--images\.size 48"):
        CodecConfig().grid(50)
