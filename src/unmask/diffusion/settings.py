"""What sampling can be told, said once: commands, Python, the Studio, sweeps and files follow from it.

Free of torch, so that ``--help`` is instant.
"""

import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, Literal, TypedDict

from unmask.config import merge
from unmask.errors import ConfigError
from unmask.reading import fit

Moving = float | tuple[float, float]
"""A constant, or one that moves linearly with the share of codes still to draw: from all of them to none."""
Use = Literal["sample", "canvas", "edit"]
"""New pictures, pictures larger than those of the training, parts of pictures."""
RECOMMENDED, PAPER = "recommended", "paper"


class NotGiven:
    """What a setting is that nobody gave: as the model recommends."""

    def __repr__(self) -> str:
        return RECOMMENDED


NOT_GIVEN = NotGiven()
BUDGETS = "budgets"
"""Beside the uses of a name: settings for new pictures that were tuned for numbers of steps, a list."""
PAPERS_OWN: dict[Use, dict[str, Any]] = {"sample": {}, "canvas": {"temperature": 0.8}, "edit": {}}
CARES = {
    "fast": "at most 16 steps, in each 4 windows or what covers the codes it draws",
    "balanced": "at most 32 steps, in each 14 windows or what covers the codes it draws",
    "exact": "every window in every step",
}
SCHEDULES = {
    "even": "the paper's chain",
    "cosine": "few codes first, many at the end (MaskGIT)",
    "arccos": "an even pace, and a rush at the end",
    "optimal": "what costs least by the model's own curve",
}
ORDERS = {
    "random": "the paper's",
    "halton": "spread evenly",
    "raster": "row by row",
    "confidence": "the surest first (MaskGIT)",
    "margin": "where the likeliest code is farthest ahead of the next",
    "entropy": "as many of the surest as gamma allows, at its own pace",
}


def setting(default: Any, label: str, text: str, **more: Any) -> Any:
    """A field of ``Settings``; ``more`` is what else a ``Setting`` says."""
    return field(default=default, metadata={"label": label, "help": text, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How codes are drawn: of new pictures, on canvases and in edits. Python: docs/python.md."""

    steps: int | None = setting(
        None,
        "Steps",
        "Steps of the chain: at most this many network passes. all: as many as there are codes to draw, "
        "or as care allows.",
        minimum=1,
        maximum=2**16,
        unless=("order", "entropy"),
        diffusion=True,
    )
    temperature: float | tuple[float, float] = setting(
        1.0,
        "Temperature",
        "Below 1 likelier codes, 0 the likeliest. Two numbers: from the first code linearly to the last.",
        minimum=0,
        step=0.05,
        usual=1.5,
    )
    guidance: float | tuple[float, float] = setting(
        1.0,
        "Guidance",
        "Above 1 pictures follow what they are told more closely: a prompt, or the surroundings of an edit. "
        "Two numbers: from the first code linearly to the last.",
        minimum=0,
        step=0.25,
        usual=6,
    )
    schedule: str = setting(
        "even",
        "Schedule",
        "How many codes a step reveals.",
        choices=SCHEDULES,
        unless=("order", "entropy"),
        diffusion=True,
    )
    order: str = setting("random", "Order", "Which codes come first.", choices=ORDERS, diffusion=True)
    remask: float = setting(
        0.0,
        "Remasking",
        "Redraw codes (ReMDM): the probability in each step, as a share of the largest one possible.",
        minimum=0,
        maximum=1,
        step=0.05,
        unless=("order", "entropy"),
        diffusion=True,
    )
    remask_cap: float = setting(
        1.0,
        "Remasking at most",
        "The largest probability of redrawing a code in a step.",
        minimum=0,
        maximum=1,
        step=0.01,
        advanced=True,
        diffusion=True,
    )
    top_k: int | None = setting(
        None, "Top k", "Draw from the k likeliest codes only.", minimum=1, usual=64, advanced=True
    )
    top_p: float = setting(
        1.0,
        "Top p",
        "Draw from the fewest codes that together have this probability.",
        minimum=0.01,
        maximum=1,
        step=0.01,
        advanced=True,
    )
    choice_temperature: float = setting(
        4.5,
        "Noise on the order",
        "Orders confidence and margin: noise, falling to nothing with the share of codes masked.",
        minimum=0,
        step=0.5,
        usual=10,
        advanced=True,
        diffusion=True,
    )
    gamma: float = setting(
        8.0,
        "Nats in a pass",
        "Order entropy: nats that the codes of a pass may have in sum, less the largest. More: fewer passes.",
        minimum=0,
        step=0.5,
        usual=32,
        advanced=True,
        diffusion=True,
    )
    care: str = setting(
        "exact",
        "Care",
        "How many steps and windows there are where steps, stride and windows are not set.",
        choices=CARES,
        uses=("canvas", "edit"),
    )
    stride: int = setting(
        1,
        "Stride",
        "Beyond the trained size: windows are this many codes apart. More: faster and less exact. 1: as "
        "close as care allows.",
        minimum=1,
        usual=8,
        uses=("canvas", "edit"),
    )
    windows: int | None = setting(
        None,
        "Windows",
        "Beyond the trained size: about this many random windows a pass. all: as many as care allows.",
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
        """What matters for a use, as plain JSON values; ``merge`` reads it back."""
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
    """What is known of a setting."""

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


def untuned(*, captioned: bool) -> dict[str, dict[str, Any]]:
    """What a new model recommends, as far as is known without measuring it: that is for ``unmask tune``.

    With captions, guidance is worth more than the steps that it costs.
    """
    sample: dict[str, Any] = {"steps": 64, "temperature": 0.9, "remask": 1.0}
    if captioned:
        sample = {"steps": 32, "temperature": 0.85, "remask": 0.5, "guidance": 2.0}
    larger = {"temperature": 0.8, "remask": 1.0}
    return {RECOMMENDED: {"sample": sample, "canvas": larger, "edit": larger}}


def choose(
    use: Use,
    sampling: Mapping[str, Mapping[str, Any]],
    base: Settings | str | None,
    changes: Mapping[str, Any],
) -> Settings:
    """The settings of a call: ``changes`` over some given, or over those of a name.

    ``sampling`` are a model's own by name and use; without a name they are those it recommends. A model
    that recommends none is sampled as in the paper. Where some were tuned for numbers of steps, a change of
    the steps brings those that are nearest. Canvases and edits are drawn with balanced care, unless these or
    the paper's own say otherwise.
    """
    if not isinstance(base, Settings):
        sets: Mapping[str, Mapping[Any, Any]] = {RECOMMENDED: PAPERS_OWN, **sampling, PAPER: PAPERS_OWN}
        if (name := base or RECOMMENDED) not in sets:
            raise ConfigError(f"the model has no settings {name!r}", hint=f"it has {', '.join(sets)}")
        care = {} if name == PAPER or use == "sample" else {"care": "balanced"}
        tuned = _nearest(sets[name].get(BUDGETS, []), changes.get("steps")) if use == "sample" else None
        base = merge(Settings(), care | _beside(changes, tuned or sets[name].get(use, {})))
    return merge(base, changes)


def _beside(changes: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Of a model's own settings those that leave room for the changes."""
    unless = {name: SETTINGS[name].unless or () for name in own if name in SETTINGS}
    return {name: own[name] for name in own if unless.get(name) not in [*changes.items()]}


def _nearest(budgets: Sequence[Mapping[str, Any]], steps: Any) -> Mapping[str, Any] | None:
    """Of settings for numbers of steps those for the nearest, by ratio."""
    if not budgets or not isinstance(steps, int) or steps < 1:
        return None
    return min(budgets, key=lambda each: abs(math.log(each["steps"] / steps)))


def combinations(
    use: Use,
    sampling: Mapping[str, Mapping[str, Any]],
    base: Settings | str | None,
    sweep: Mapping[str, Any],
) -> list[Settings]:
    """The settings of a sweep, chosen as above: of a list each value, with every value of the others."""
    lists = [values if isinstance(values, list) else [values] for values in sweep.values()]
    return [choose(use, sampling, base, dict(zip(sweep, one, strict=True))) for one in product(*lists)]
