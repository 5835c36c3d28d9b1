"""The settings that a training starts from: a preset, and those of a codec, a model or a run.

Free of torch until a model or a run is named, so that ``--help`` is instant.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from unmask.config import CodecTraining, PriorTraining, merge
from unmask.errors import BundleError, ConfigError, RunError
from unmask.prior.config import PriorConfig

Stage = Literal["codec", "prior"]
T = TypeVar("T", CodecTraining, PriorTraining)
SHARED_IMAGES = ("crop", "scale", "background", "flip", "validation", "min_side", "fast_decode")


def starting_settings(
    preset: str | T,
    named: Callable[[str], T],
    *,
    changes: Mapping[str, Any],
    steps: int | None = None,
    size: int | None = None,
    codec: str | None = None,
    init: str | None = None,
    run: Mapping[str, Any] | None = None,
) -> T:
    """A preset with what ``codec``, ``init`` or the configuration of a ``run`` settle, then ``changes``.

    A new run of fewer steps than the preset's, by ``steps`` or by the changes, is shortened as a whole. A
    codec for pictures of another ``size`` makes as many codes, unless the changes say its multipliers.
    Settings in place of a preset's name are settled already.
    """
    if not isinstance(preset, str):
        return merge(preset, changes)
    settings = named(preset)
    if run:  # of a setting that is younger than the run, the class knows what was done before
        return merge(merge(type(settings)(), run["settings"]), changes)
    settings = merge(settings, {"images": images_of(codec)}) if codec else settings
    if init:
        settings = merge(settings, _network_of(init, settings))
    elif isinstance(settings, CodecTraining) and "multipliers" not in changes.get("codec", {}):
        size = size or merge(settings.images, changes.get("images", {})).size
        settings = merge(settings, resized(settings, size))
    return merge(shortened(settings, steps or merge(settings, changes).loop.steps), changes)


def shortened(settings: T, steps: int) -> T:
    """The settings for fewer steps: warm-up, cool-down and the time between validations shrink alike."""
    optim, loop = settings.optim, settings.loop
    if steps >= loop.steps:
        return settings

    def part(of: int) -> int:
        return math.ceil(of * steps / loop.steps)

    optim = replace(optim, warmup=part(optim.warmup), cooldown=part(optim.cooldown))
    loop = replace(loop, steps=steps, validate_every=part(loop.validate_every))
    return replace(settings, optim=optim, loop=loop)


def resized(settings: CodecTraining, size_px: int) -> dict[str, Any]:
    """Changes for pictures of another size: as many codes, each of more pixels or of fewer."""
    codec, grid = settings.codec, settings.codec.grid(settings.images.size)
    factor = size_px // grid
    if size_px % grid or factor.bit_count() != 1:
        below = grid << max(factor.bit_length() - 1, 0)
        raise ConfigError(
            f"images of {size_px} pixels do not divide into {grid}×{grid} codes, as the preset has them, "
            "of 2, 4, 8 … pixels each; a prior of more codes is slow, and one of fewer sees little",
            hint=f"--size {below} or {2 * below}; "
            "another grid:  unmask train codec DATA --codec.multipliers 1 2 4",
        )
    more = factor.bit_length() - codec.factor.bit_length()
    levels = codec.multipliers[-more:] if more < 0 else codec.multipliers[:1] * more + codec.multipliers
    attention = tuple(at * factor // codec.factor for at in codec.attention if at * factor >= codec.factor)
    return {"images": {"size": size_px}, "codec": {"multipliers": levels, "attention": attention}}


def begun(folder: Path, stage: Stage) -> dict[str, Any]:
    """The configuration of a run, which must be of this stage."""
    from unmask.training.runs import Run

    config = Run.open(folder).config
    if stage not in config["settings"]:
        other = "prior" if stage == "codec" else "codec"
        raise RunError(f"{folder} trains a {other}", hint=f"unmask train {other} --resume {folder}")
    return config


def images_of(codec: str) -> dict[str, Any]:
    """The preparation and split of a codec's training images, which its prior should share.

    The size is the codec's in any case. Moved pictures are each stage's own matter, and an imported codec
    does not say how it was trained.
    """
    from unmask.models import open_model

    images = open_model(codec).about.get("codec_training", {}).get("images", {})
    return {name: images[name] for name in SHARED_IMAGES if name in images}


def _network_of(model: str, settings: CodecTraining | PriorTraining) -> dict[str, Any]:
    """Settings fixed by the initial model: the network, and for a codec the size of images."""
    from unmask.models import open_model

    bundle = open_model(model)
    if isinstance(settings, PriorTraining):
        if bundle.prior is None:
            raise BundleError(f"{model} has only a codec, no prior to start from")
        config = bundle.prior.config
        settled = ("codebook_size", "grid", "words", "caption_length")  # by codec and captions
        known = {key: config[key] for key in config if key not in settled}
        return {"prior": asdict(merge(PriorConfig(), known))}  # also what is younger than the model
    config = bundle.codec.config
    quantizer = config["quantizer"] | {"kmeans_batches": 0}  # its codebook is there already
    return {"codec": config | {"quantizer": quantizer}, "images": {"size": bundle.image_size}}
