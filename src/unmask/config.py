"""Whole configurations, composed of what stands beside the code, and the strict way of changing them.

A configuration is a frozen dataclass. It comes from a preset, a file and the command line, in this order, and
what came out is written into the run.
"""

import dataclasses
import difflib
import json
import math
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from unmask.codec.config import CodecConfig, LossConfig
from unmask.data.config import ImagesConfig
from unmask.errors import ConfigError
from unmask.prior.config import PriorConfig
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CodecTraining:
    """Everything that a training of the codec depends on."""

    images: ImagesConfig = field(default_factory=ImagesConfig)
    codec: CodecConfig = field(default_factory=CodecConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    train: Literal["codec", "decoder"] = "codec"
    """decoder: keep the encoder and the codebook of --init, so that codes and priors stay valid."""
    validation_fid: bool = False
    """Also measure the FID of reconstructions at every validation (unmask weights get inception)."""

    def __post_init__(self) -> None:
        grid, quantizer = self.codec.grid(self.images.size), self.codec.quantizer
        self.loss.check_size(self.images.size)
        latents = quantizer.kmeans_batches * self.optim.batch * grid**2
        if quantizer.kind == "nearest" and 0 < latents < quantizer.codebook_size:
            raise ConfigError(
                f"k-means wants at least one latent a code: {latents} latents for {quantizer.codebook_size} "
                "codes",
                hint="take more batches (--codec.quantizer.kmeans-batches) or a smaller codebook",
            )

    @property
    def lasting(self) -> dict[str, object]:
        """What shapes pictures and networks, by where it is set: it stays the same to a run's end."""
        discriminator = (self.loss.discriminator_width, self.loss.discriminator_layers)
        return {
            "images": _shaping(self.images),
            "codec": self.codec,
            "loss.discriminator": discriminator,
        }


@dataclass(frozen=True, kw_only=True)
class PriorTraining:
    """Everything that a training of the prior depends on, once the codec is given."""

    images: ImagesConfig = field(default_factory=ImagesConfig)
    """How pictures are read, where they are not given as codes; the size is the codec's own."""
    prior: PriorConfig = field(default_factory=PriorConfig)
    diffusion: DiffusionConfig = field(default_factory=DiffusionConfig)
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=2e-4, batch=20, warmup=10_000))
    loop: LoopConfig = field(default_factory=lambda: LoopConfig(steps=2_000_000))
    engine: EngineConfig = field(default_factory=EngineConfig)

    @property
    def lasting(self) -> dict[str, object]:
        """What shapes pictures and networks, by where it is set: it stays the same to a run's end."""
        return {"images": _shaping(self.images), "prior": self.prior}


def _shaping(images: ImagesConfig) -> ImagesConfig:
    return dataclasses.replace(images, cache="prepared", workers=0)  # neither changes a pixel


def merge(default: T, changes: Mapping[str, Any], path: str = "") -> T:
    """``default`` with ``changes`` put in place; a key or a value that does not fit is an error."""
    hints = typing.get_type_hints(type(default))
    values = {}
    for key, value in changes.items():
        name = f"{path}{key}"
        if key not in hints:
            near = difflib.get_close_matches(key, hints, n=1)
            raise ConfigError(
                f"there is no setting {name!r}",
                hint=f"did you mean {path}{near[0]}?" if near else f"there are: {', '.join(hints)}",
            )
        old = getattr(default, key)
        if dataclasses.is_dataclass(old) and isinstance(value, Mapping):
            values[key] = merge(old, value, path=f"{name}.")
        else:
            values[key] = fit(value, hints[key], name)
    return dataclasses.replace(default, **values)  # type: ignore[type-var]


def fit(value: Any, hint: Any, name: str) -> Any:
    """``value`` as the type that ``hint`` names, where that loses nothing."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        for kind in inner:
            with suppress(ConfigError):
                return fit(value, kind, name)
    if origin is typing.Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        if len(kinds) == len(value):
            return tuple(fit(one, kind, name) for one, kind in zip(value, kinds, strict=True))
    if hint is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)  # YAML reads 1e-4 as text, and JSON has no infinity
        except ValueError:
            pass
    if isinstance(hint, type) and type(value) is hint:
        return value
    wanted = " or ".join(map(repr, inner)) if origin is typing.Literal else getattr(hint, "__name__", hint)
    raise ConfigError(f"{name} is {value!r}, but should be {wanted}")


def to_json(config: Any) -> dict[str, Any]:
    """A configuration as plain JSON values; ``merge`` reads it back."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return str(value) if isinstance(value, float) and math.isinf(value) else value

    result: dict[str, Any] = plain(dataclasses.asdict(config))
    return result


def read_changes(path: Path) -> dict[str, Any]:
    """The settings in a YAML or JSON file, which may be the config.json of a run."""
    try:
        text = path.read_text()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    try:
        changes = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is not valid {path.suffix or 'YAML'}: {error}") from error
    match changes:
        case {"format": int(), "config": {"settings": dict(settings)}}:
            return settings
    if not isinstance(changes, dict):
        raise ConfigError(f"{path} should hold settings such as  optim: {{lr: 1e-4}}")
    return changes
