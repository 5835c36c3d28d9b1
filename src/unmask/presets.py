"""Named configurations. Where the paper and the authors' code differ, a preset says which it follows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from unmask.codec.config import CodecConfig, LossConfig, QuantizerConfig
from unmask.config import CodecTraining, PriorTraining
from unmask.data.config import ImagesConfig
from unmask.errors import ConfigError
from unmask.prior.config import PriorConfig
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig

T = TypeVar("T")

DEFAULT = "small"
"""The default preset."""

# The paper, appendix "Implementation Details": 256×256 pictures, batch 4, lr 1.8e-5, 2.2M steps on LSUN.
# Hinge loss and the start of the discriminator at step 30,001 are the authors' code; the weights of the
# quantiser's two terms are the paper's (1 and 0.25; the code has them the other way round).
LSUN = CodecTraining()
SELDOM = 100_000  # of three million pictures 150,000 are for validation, which takes hours
EXACT = EngineConfig(precision="32")  # networks so small that converting numbers takes longer than it saves

CODEC: dict[str, CodecTraining] = {
    "churches": LSUN,
    "bedrooms": CodecTraining(loop=LoopConfig(validate_every=SELDOM)),
    "ffhq": CodecTraining(loop=LoopConfig(steps=1_400_000)),
    # 64×64 pictures on a laptop: 16×16 codes, no discriminator.
    "emoji": CodecTraining(
        images=ImagesConfig(size=64),
        codec=CodecConfig(
            width=48,
            multipliers=(1, 2, 4),
            blocks=1,
            attention=(),
            code_width=64,
            groups=16,
            pixel_range=(-1.0, 1.0),
            quantizer=QuantizerConfig(codebook_size=512, kmeans_batches=16, recycle_after=200),
        ),
        loss=LossConfig(adversarial="off"),
        optim=OptimConfig(lr=3e-4, batch=8, warmup=200, cooldown=500, clip=1.0),
        loop=LoopConfig(steps=2_500, log_every=50, validate_every=250, save_every=100),
    ),
    # Under a minute, for tests and for trying things out.
    "tiny": CodecTraining(
        images=ImagesConfig(size=32),
        codec=CodecConfig(
            width=16,
            multipliers=(1, 2, 2),
            blocks=1,
            attention=(4,),
            code_width=16,
            groups=8,
            quantizer=QuantizerConfig(codebook_size=64, kmeans_batches=4, recycle_after=20),
        ),
        loss=LossConfig(perceptual="off", adversarial="off", discriminator_width=16, discriminator_layers=2),
        optim=OptimConfig(lr=2e-3, batch=16, warmup=20, ema_decay=0.9, ema_every=1),
        loop=LoopConfig(steps=300, log_every=20, validate_every=100, save_every=100),
        engine=EXACT,
    ),
}

# The same appendix: lr 2e-4 on LSUN and 1e-4 on FFHQ, batch 20, warm-up of 10,000 and 30,000 steps.
PRIOR: dict[str, PriorTraining] = {
    "churches": PriorTraining(),
    "bedrooms": PriorTraining(loop=LoopConfig(steps=2_000_000, validate_every=SELDOM)),
    "ffhq": PriorTraining(optim=OptimConfig(lr=1e-4, batch=20, warmup=30_000)),
    "emoji": PriorTraining(
        prior=PriorConfig(width=192, depth=8, heads=6, positions="rotary", dropout=0.1),
        diffusion=DiffusionConfig(stratified=True),
        optim=OptimConfig(lr=8e-4, batch=16, warmup=300, cooldown=2_000, clip=1.0),
        loop=LoopConfig(steps=6_000, log_every=50, validate_every=500, save_every=100),
    ),
    "tiny": PriorTraining(
        prior=PriorConfig(width=64, depth=2, heads=4, positions="rotary"),
        diffusion=DiffusionConfig(validation_draws=4, stratified=True),
        optim=OptimConfig(lr=2e-3, batch=32, warmup=10, ema_decay=0.9, ema_every=1),
        loop=LoopConfig(steps=150, log_every=10, validate_every=50, save_every=50),
        engine=EXACT,
    ),
}
# For a laptop: as emoji, but the prior takes a third of the work (docs/decisions/0029-merged-codes.md).
CODEC["small"] = CODEC["emoji"]
PRIOR["small"] = replace(PRIOR["emoji"], prior=replace(PRIOR["emoji"].prior, merge=2))


def codec_preset(name: str) -> CodecTraining:
    """The codec settings of that name."""
    return _named(CODEC, name)


def prior_preset(name: str) -> PriorTraining:
    """The prior settings of that name."""
    settings = _named(PRIOR, name)
    return replace(settings, images=replace(settings.images, captions="auto"))


def _named(presets: Mapping[str, T], name: str) -> T:
    if name not in presets:
        raise ConfigError(f"there is no preset {name!r}", hint=f"there are: {', '.join(presets)}")
    return presets[name]
