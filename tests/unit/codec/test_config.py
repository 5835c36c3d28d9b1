import math

import pytest

from unmask.codec.config import CodecConfig, LossConfig, QuantizerConfig
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


def test_a_weight_without_a_clamp_is_allowed():
    assert LossConfig(adaptive_max=math.inf).adaptive_max == math.inf


def test_a_picture_size_that_does_not_divide_names_one_that_does():
    with pytest.raises(ConfigError, match=r"--images\.size 48"):
        CodecConfig().grid(50)
