"""All sampling settings, declared once for commands, Python, the Studio, sweeps and files.

Free of torch, so that ``--help`` is instant.
"""

import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict

from unmask.errors import ConfigError
from unmask.reading import fit

Moving = float | tuple[float, float]
"""A constant, or one that moves linearly with the share of codes still to draw: from all of them to none."""
Use = Literal["sample", "canvas", "edit"]
"""New images, images larger than those of the training, parts of images."""
RECOMMENDED, PAPER = "recommended", "paper"


class NotGiven:
    """The value of a setting that was not given: as the model recommends."""

    def __repr__(self) -> str:
        return RECOMMENDED


NOT_GIVEN = NotGiven()
BUDGETS = "budgets"
"""Beside the uses of a name: settings for new images that were tuned for numbers of steps, a list."""
CARES = {
    "fast": "at most 16 steps of 4 windows, or enough to cover the codes being drawn",
    "balanced": "at most 32 steps of 14 windows, or enough to cover the codes being drawn",
    "exact": "every window in every step",
}
SCHEDULES = {
    "even": "uniform, as in the paper",
    "cosine": "few codes first, many at the end (MaskGIT)",
    "arccos": "evenly, with most at the end",
    "optimal": "the lowest bound under the model's own loss curve",
}
ORDERS = {
    "random": "as in the paper",
    "halton": "spread evenly over the image",
    "raster": "row by row",
    "confidence": "the most confident first (MaskGIT)",
    "margin": "the largest margin between the two most likely codes first",
    "entropy": "the lowest entropy first, as many as gamma allows",
}


def setting(default: Any, label: str, text: str, **more: Any) -> Any:
    """A field of ``Settings``; ``more`` is what else a ``Setting`` says."""
    return field(default=default, metadata={"label": label, "help": text, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Sampling settings for new images, canvases and edits."""

    steps: int | None = setting(
        None,
        "Steps",
        "Sampling steps, the maximum number of network passes. all: as many as there are codes to draw, "
        "or as care allows.",
        minimum=1,
        maximum=2**16,
        unless=("order", "entropy"),
        diffusion=True,
    )
    temperature: float | tuple[float, float] = setting(
        1.0,
        "Temperature",
        "Below 1: more likely codes. 0: the most likely. Two numbers: interpolated from first to last code.",
        minimum=0,
        step=0.05,
        usual=1.5,
    )
    guidance: float | tuple[float, float] = setting(
        1.0,
        "Guidance",
        "Guidance scale. Above 1: images follow the prompt, or in edits the surroundings, more closely. "
        "Two numbers: interpolated from first to last code.",
        minimum=0,
        step=0.25,
        usual=6,
    )
    schedule: str = setting(
        "even",
        "Schedule",
        "How many codes each step reveals.",
        choices=SCHEDULES,
        unless=("order", "entropy"),
        diffusion=True,
    )
    order: str = setting("random", "Order", "Which codes are revealed first.", choices=ORDERS, diffusion=True)
    remask: float = setting(
        0.0,
        "Remasking",
        "Redraw revealed codes (ReMDM): the probability per step, as a share of the largest possible.",
        minimum=0,
        maximum=1,
        step=0.05,
        unless=("order", "entropy"),
        diffusion=True,
    )
    remask_cap: float = setting(
        1.0,
        "Remasking at most",
        "Maximum probability of redrawing a code in a step.",
        minimum=0,
        maximum=1,
        step=0.01,
        advanced=True,
        diffusion=True,
    )
    top_k: int | None = setting(
        None, "Top k", "Draw only from the k most likely codes.", minimum=1, usual=64, advanced=True
    )
    top_p: float = setting(
        1.0,
        "Top p",
        "Nucleus sampling: draw only from the smallest set of codes with this total probability.",
        minimum=0.01,
        maximum=1,
        step=0.01,
        advanced=True,
    )
    choice_temperature: float = setting(
        4.5,
        "Noise on the order",
        "Orders confidence and margin: noise on the order, which falls to 0 with the share masked.",
        minimum=0,
        step=0.5,
        usual=10,
        advanced=True,
        diffusion=True,
    )
    gamma: float = setting(
        8.0,
        "Nats in a pass",
        "Order entropy: maximum sum of entropies per pass in nats, without the largest. More: fewer passes.",
        minimum=0,
        step=0.5,
        usual=32,
        advanced=True,
        diffusion=True,
    )
    care: str = setting(
        "exact",
        "Care",
        "Speed against quality: how many steps and windows, where those are not set.",
        choices=CARES,
        uses=("canvas", "edit"),
    )
    stride: int = setting(
        1,
        "Stride",
        "Beyond the training size: spacing of the windows in codes. More: faster, less exact. 1: as close "
        "as care allows.",
        minimum=1,
        usual=8,
        uses=("canvas", "edit"),
    )
    windows: int | None = setting(
        None,
        "Windows",
        "Beyond the training size: about this many random windows per pass. all: as many as care allows.",
        minimum=1,
        usual=64,
        advanced=True,
        uses=("canvas", "edit"),
    )

    def __post_init__(self) -> None:
        for each in SETTINGS.values():
            value = each.checked(getattr(self, each.name))
            object.__setattr__(self, each.name, value)
        unfit = [SETTINGS[name].unless for name in self.changed]
        if any(each and getattr(self, each[0]) == each[1] for each in unfit):
            raise ConfigError(
                "the entropy order sets its own pace: it takes no steps, schedule or remasking",
                hint="leave these out:  --order entropy",
            )

    @property
    def changed(self) -> list[str]:
        """The names of settings that do not have their defaults."""
        return [name for name, each in SETTINGS.items() if getattr(self, name) != each.default]

    def check_autoregressive(self) -> None:
        """Refuse what has no meaning for a prior that draws code after code."""
        if any(SETTINGS[name].diffusion for name in self.changed):
            raise ConfigError(
                "an autoregressive prior draws code after code; it takes no steps, schedule, order, remasking"
            )

    def of(self, use: Use) -> dict[str, Any]:
        """The settings that apply to a use, as plain JSON values; ``merge`` reads it back."""
        values = {name: getattr(self, name) for name, each in SETTINGS.items() if use in each.uses}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


class Changes(TypedDict, total=False):
    """Settings by keyword, as type checkers and editors see them; a test holds them equal."""

    steps: int | None
    temperature: float | tuple[float, float]
    guidance: float | tuple[float, float]
    schedule: str
    order: str
    remask: float
    remask_cap: float
    top_k: int | None
    top_p: float
    choice_temperature: float
    gamma: float
    care: str
    stride: int
    windows: int | None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Metadata of a setting."""

    name: str
    label: str
    """Its name on the page."""
    help: str
    kind: Literal["integer", "number", "choice"]
    default: Any
    optional: bool
    """None is a value too, in words ``all``."""
    pair: bool
    """Two numbers are a value too."""
    choices: Mapping[str, str] | None = None
    """The values that there are, and what each does."""
    minimum: float | None = None
    maximum: float | None = None
    step: float = 1
    """Of a slider."""
    usual: float | None = None
    """Where a slider ends, if not at the maximum."""
    advanced: bool = False
    """Not among the first that a form shows."""
    unless: tuple[str, str] | None = None
    """Another setting and a value of it that leaves no choice here but the default."""
    diffusion: bool = False
    """Without meaning for an autoregressive prior."""
    uses: tuple[Use, ...] = ("sample", "canvas", "edit")

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return self.name.replace("_", "-")

    def checked(self, value: Any) -> Any:
        """The value in its own type; refused if it is no value of this setting."""
        value = fit(value, HINTS[self.name], self.name)
        if self.choices and value not in self.choices:
            raise ConfigError(f"there is no {self.name} {value!r}", hint=f"one of {', '.join(self.choices)}")
        low = -math.inf if self.minimum is None else self.minimum
        high = math.inf if self.maximum is None else self.maximum
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float) and not (low <= number <= high and math.isfinite(number)):
                wanted = f"at least {low}" if high == math.inf else f"from {low} to {high}"
                raise ConfigError(f"{self.flag} {number} should be {wanted}", hint=self.help)
        return value

    def read(self, words: Sequence[str]) -> Any:
        """A value from what was typed: ``all`` is None, two numbers are a pair."""
        convert = {"integer": int, "number": float, "choice": str}[self.kind]
        try:
            values = [None if word == "all" else convert(word) for word in words]
        except ValueError:
            raise ConfigError(f"{' '.join(words)!r} is no value of {self.flag}", hint=self.help) from None
        return self.checked(values[0] if len(values) == 1 else values)


def _described(name: str, default: Any, metadata: Mapping[str, Any]) -> Setting:
    kinds = {HINTS[name], *typing.get_args(HINTS[name])}
    kind: Any = "choice" if "choices" in metadata else "integer" if int in kinds else "number"
    optional, pair = type(None) in kinds, any(typing.get_origin(each) is tuple for each in kinds)
    return Setting(name=name, kind=kind, default=default, optional=optional, pair=pair, **metadata)


HINTS = typing.get_type_hints(Settings)
SETTINGS = {each.name: _described(each.name, each.default, each.metadata) for each in fields(Settings)}
"""Every setting by its name."""
