"""Arguments that several commands take, each said once. Free of torch, so that ``--help`` is instant."""

from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

from tyro.conf import Positional, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from unmask.devices import Device, Precision
from unmask.diffusion.settings import NOT_GIVEN, RECOMMENDED, SETTINGS, Setting, Use
from unmask.evaluation.config import Side
from unmask.onnx.config import Backend
from unmask.reading import brief, expanded

T = TypeVar("T", bound="Using")
_SETS = "a folder, a .zip or .tar, an .npy, an LSUN lmdb, or the built-in 'emoji' ('emoji-3d': one style)"
MAX_AMOUNT = 1_000_000
_ELSEWHERE = "the built-in 'avatars', 'emoji' or 'fruit', or user/name on the hub"


def _integer(most: int) -> PrimitiveConstructorSpec[int]:
    """Whole numbers that are no larger than ``most``, nor smaller than its negative."""

    def read(words: list[str]) -> int:
        try:
            number = int(words[0])
        except ValueError:
            raise ValueError(f"{brief(words[0])} is no whole number, such as 1000") from None
        if abs(number) > most:
            raise ValueError(f"{brief(number)} is beyond {most:,}")
        return number

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, int) and not isinstance(value, bool),
        str_from_instance=lambda value: [str(value)],
    )


Amount = Annotated[int, _integer(MAX_AMOUNT)]
"""Of things that take memory or time each."""

ARGUMENTS = ConstructorRegistry()
"""How arguments are read, active while a command runs."""


@ARGUMENTS.primitive_rule
def _read_integer(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    return _integer(2**63 - 1) if info.type is int else None


@ARGUMENTS.primitive_rule
def _read_path(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Path] | None:
    if info.type is not Path:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="PATH",
        instance_from_str=lambda words: expanded(words[0]),
        is_instance=lambda value: isinstance(value, Path),
        str_from_instance=lambda value: [str(value)],
    )


def _named(metavar: str, what: str, where: str = "runs/codec") -> Any:
    """A model, by whatever it may be named."""
    return arg(metavar=metavar, help=f"{what}: a folder such as {where}, {_ELSEWHERE}.")


Model = Annotated[str, Positional, _named("MODEL", "A model with a prior", "runs/prior")]
AnyModel = Annotated[str, Positional, _named("MODEL", "A model", "runs/prior or runs/codec")]
Codec = Annotated[str, Positional, _named("CODEC", "The model whose codec is used")]
OptionalCodec = Annotated[str | None, _named("CODEC", "Use the codec of this model unchanged")]
Data = Annotated[str, Positional, arg(metavar="DATA", help=f"Images: {_SETS}.")]
OptionalData = Annotated[str | None, Positional, arg(metavar="DATA", help=f"Images: {_SETS}.")]
PicturesOrStatistics = Annotated[
    str, Positional, arg(help=f"Images: {_SETS}. Or their statistics, a .safetensors file made by --save.")
]
PictureOrData = Annotated[str, Positional, arg(metavar="DATA", help=f"Images: a file, {_SETS}.")]
TrainingData = Annotated[str, Positional, arg(metavar="DATA", help=f"The training data: {_SETS}.")]
DataOrCodes = Annotated[
    str,
    Positional,
    arg(
        metavar="DATA_OR_CODES",
        help=f"Images, which are encoded once and cached: {_SETS}. Or a folder made by unmask encode.",
    ),
]
DeviceOption = Annotated[Device, arg(help="Where to compute. auto: a GPU if there is one.")]
PrecisionOption = Annotated[
    Precision,
    arg(help="Precision of sampling. auto: bfloat16 where the device supports it. 32: float32."),
]
BackendOption = Annotated[
    Backend,
    arg(
        help="Back-end of the prior. compile: torch.compile, for GPUs. onnx, onnx-int8: onnxruntime on the "
        "CPU (docs/models.md)."
    ),
]
GuideOption = Annotated[
    str | None,
    arg(help="Autoguidance: a weaker model that guidance moves away from, such as an earlier checkpoint."),
]


@dataclass(frozen=True, kw_only=True)
class PromptFlags:
    """What to draw, of models that were trained on captions."""

    prompt: Annotated[str, Positional, arg(metavar="PROMPT")] = ""
    """Prompt, for models trained on captions."""
    negative: str = ""
    """Negative prompt: what guidance moves away from."""


PromptOption = Annotated[PromptFlags, arg(name="")]


@dataclass(frozen=True, kw_only=True)
class SettingsFlags:
    """How codes are drawn; what is not said is as the model recommends."""

    settings: Annotated[str, arg(metavar="NAME")] = RECOMMENDED
    """Base settings, which the options below override. recommended: those stored in the model, else the
    paper's. paper: the paper's."""

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that were given, and for sweeps the lists of them."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name in SETTINGS}
        return {name: value for name, value in values.items() if value is not NOT_GIVEN}

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords for whatever takes settings."""
        return {"settings": self.settings} | self.changes


SettingsOption = Annotated[SettingsFlags, arg(name="")]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def command_line(kind: type[T]) -> type[T]:
    """The arguments of a command, which shares some with others: its help shows those after its own."""
    kind = dataclass(frozen=True, kw_only=True)(kind)
    every, own = kind.__dataclass_fields__, [name for name in kind.__annotations__ if name != "sampling"]
    rest = [name for name in every if name not in ("model", "sampling", *own)]
    order = dict.fromkeys(name for name in ("model", *own, *rest, "sampling") if name in every)
    kind.__dataclass_fields__ = {name: every[name] for name in order}
    return kind


@dataclass(frozen=True, kw_only=True)
class Using:
    """What everything takes that needs a model."""

    model: Model
    device: DeviceOption = "auto"


@dataclass(frozen=True, kw_only=True)
class Looking(Using):
    """What shows images to a model."""

    data: PictureOrData
    split: Side = "validation"
    """Which images of DATA."""


@dataclass(frozen=True, kw_only=True)
class Drawing(Using):
    """What draws."""

    seed: int = 0
    """The same seed gives the same images."""
    backend: BackendOption = "torch"
    precision: PrecisionOption = "auto"
    sampling: SettingsOption

    @property
    def keywords(self) -> dict[str, Any]:
        """What a method of a model is told that draws."""
        return {"seed": self.seed, "progress": True} | self.sampling.keywords


@dataclass(frozen=True, kw_only=True)
class Sampling(Drawing):
    """What fills folders of samples."""

    batch: Amount = 16
    """Batch size: affects speed and memory."""


def settings_flags(use: Use, *, swept: bool = False) -> Any:
    """A field with flags for every setting of a use, or for lists of their values."""
    flags = [
        (name, _flag(setting, swept), field(default=NOT_GIVEN))
        for name, setting in SETTINGS.items()
        if use in setting.uses
    ]
    kind = make_dataclass("SettingsFlags", flags, bases=(SettingsFlags,), frozen=True, kw_only=True)
    return field(default_factory=kind)


def _flag(setting: Setting, swept: bool) -> Any:
    values = "|".join(setting.choices) if setting.choices else "INT" if setting.kind == "integer" else "FLOAT"
    values = f"{{all}}|{values}" if setting.optional else values

    def read(words: list[str]) -> Any:
        return [setting.read(word.split()) for word in words[0].split(",")] if swept else setting.read(words)

    spec = PrimitiveConstructorSpec(
        nargs=(1, 2) if setting.pair and not swept else 1,
        metavar=f"{values},…" if swept else values,
        instance_from_str=read,
        is_instance=lambda value: True,
        str_from_instance=lambda value: [""],
    )
    choices = (f"{name}: {does}." for name, does in (setting.choices or {}).items())
    words = " ".join([setting.help, *choices])
    words = f"{words} Or a list of values to sweep." if swept else words
    return Annotated[Any, spec, arg(help=words, help_behavior_hint="(default: as --settings)")]
