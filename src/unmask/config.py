"""Whole configurations, composed of what stands beside the code, and the strict way of changing them.

A configuration is a frozen dataclass. It comes from a preset, a file and the command line, in this order, and
what came out is written into the run.
"""

import dataclasses
import difflib
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from unmask.codec.config import CodecConfig, LossConfig
from unmask.data.config import ImagesConfig
from unmask.errors import ConfigError
from unmask.prior.config import PriorConfig
from unmask.reading import DamagedError, brief, fit, parse_json, parse_yaml, read_bytes, reason
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
        if self.optim.kind == "muon":
            raise ConfigError(
                "Muon moves matrices, and a codec has convolutions: optim.kind muon is for priors"
            )
        latents = quantizer.kmeans_batches * self.optim.batch * grid**2
        if quantizer.kind == "nearest" and 0 < latents < quantizer.codebook_size:
            raise ConfigError(
                f"k-means wants at least one latent a code: {latents} latents for {quantizer.codebook_size} "
                "codes",
                hint="take more batches (--codec.quantizer.kmeans-batches) or a smaller codebook",
            )

    @property
    def lasting(self) -> dict[str, object]:
        """What shapes images and networks, by where it is set: it stays the same to a run's end."""
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
    """How images are read, where they are not given as codes; the size is the codec's own."""
    prior: PriorConfig = field(default_factory=PriorConfig)
    diffusion: DiffusionConfig = field(default_factory=DiffusionConfig)
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=2e-4, batch=20, warmup=10_000))
    loop: LoopConfig = field(default_factory=lambda: LoopConfig(steps=2_000_000))
    engine: EngineConfig = field(default_factory=EngineConfig)

    @property
    def lasting(self) -> dict[str, object]:
        """What shapes images and networks, by where it is set: it stays the same to a run's end."""
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
            near = difflib.get_close_matches(str(key), hints, n=1)
            raise ConfigError(
                f"there is no setting {brief(name)}",
                hint=f"did you mean {path}{near[0]}?" if near else f"there are: {', '.join(hints)}",
            )
        old = getattr(default, key)
        if dataclasses.is_dataclass(old) and isinstance(value, Mapping):
            values[key] = merge(old, value, path=f"{name}.")
        else:
            values[key] = fit(value, hints[key], name)
    return dataclasses.replace(default, **values)  # type: ignore[type-var]


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
        data = read_bytes(path)
        changes = parse_json(data) if path.suffix == ".json" else parse_yaml(data)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {reason(error)}") from error
    except DamagedError as error:
        raise ConfigError(f"{path} is not valid {path.suffix or 'YAML'}: {error}") from error
    match changes:
        case {"format": int(), "config": {"settings": dict(settings)}}:
            return settings
    if not isinstance(changes, dict):
        raise ConfigError(f"{path} should hold settings such as  optim: {{lr: 1e-4}}")
    return changes
