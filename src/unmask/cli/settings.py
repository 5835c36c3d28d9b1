"""Where the settings of a training come from: a preset or a run, then a file, then the command line."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from unmask.config import merge, read_changes, to_json
from unmask.errors import BundleError, ConfigError, RunError

T = TypeVar("T")
SHARED_IMAGES = ("background", "flip", "validation", "min_side", "fast_decode")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The arguments that say where all others start from."""

    preset: str = "emoji"
    """Named settings to start from; they are the defaults shown below."""
    config: Path | None = None
    """A YAML or JSON file of settings, put over the preset's."""
    init: str | None = None
    """A model to start from instead of random weights: it settles the network, the preset all else."""
    resume: Path | None = None
    """A run to continue; it brings its own inputs and settings."""
    print_config: bool = False
    """Show the resulting settings as YAML and stop."""


@dataclass(frozen=True)
class Start(Generic[T]):
    """What the command line's own settings are put over."""

    settings: T
    run: dict[str, Any] = field(default_factory=dict)
    """The configuration of the run to resume; empty for a new one."""


def starting_point(
    argv: list[str], preset: Callable[[str], T], stage: str, images: Mapping[str, Any] | None = None
) -> Start[T]:
    """A preset, what a model or a run to start from brings along, and the changes of a ``--config`` file.

    ``images`` are put over the preset's.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--init")
    parser.add_argument("--resume", type=Path)
    given, _ = parser.parse_known_args(argv)
    if given.resume and (given.preset or given.init):
        option = "--preset" if given.preset else "--init"
        raise ConfigError(f"a run that goes on keeps its own settings and weights; {option} is for new ones")
    run = _run_config(given.resume, stage) if given.resume else {}
    settings = merge(preset(given.preset or Origin.preset), {"images": images or {}})
    settings = merge(settings, run.get("settings", {}))
    if given.init:
        settings = merge(settings, _network_settings(given.init, stage))
    if given.config:
        settings = merge(settings, read_changes(given.config))
    return Start(settings, run)


def _run_config(folder: Path, stage: str) -> dict[str, Any]:
    """The configuration of a run, which must be of this stage, codec or prior."""
    from unmask.training.runs import Run

    config = Run.open(folder).config
    if stage not in config["settings"]:
        other = "prior" if stage == "codec" else "codec"
        raise RunError(f"{folder} trains a {other}", hint=f"unmask train {other} --resume {folder}")
    return config


def _network_settings(model: str, stage: str) -> dict[str, Any]:
    """What a model to start from settles: the network, and for a codec the size of its pictures."""
    from unmask.models import open_model

    bundle = open_model(model)
    if stage not in bundle.parts:
        raise BundleError(f"{model} is a codec alone: it has no prior to start from")
    config = bundle.parts[stage].config
    if stage == "prior":
        return {
            "prior": {key: value for key, value in config.items() if key not in ("codebook_size", "grid")}
        }
    quantizer = config["quantizer"] | {"kmeans_batches": 0}  # its codebook is there already
    return {"codec": config | {"quantizer": quantizer}, "images": {"size": bundle.about["image_size"]}}


def images_of(codec: str) -> dict[str, Any]:
    """How a codec saw its pictures and which of them it held out; its prior had better do the same.

    The size is the codec's in any case. Moved pictures are each stage's own matter, and an imported codec
    does not say how it was trained.
    """
    from unmask.models import open_model

    images = open_model(codec).about.get("codec_training", {}).get("images", {})
    return {name: images[name] for name in SHARED_IMAGES if name in images}


def print_settings(settings: object) -> None:
    """Show settings in the form that ``--config`` reads."""
    print(yaml.safe_dump(to_json(settings), sort_keys=False), end="")
