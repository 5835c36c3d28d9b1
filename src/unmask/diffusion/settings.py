"""What sampling can be told. Free of torch, so that ``--help`` is instant."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from tyro.constructors import PrimitiveConstructorSpec

from unmask.errors import ConfigError

Temperature = float | tuple[float, float]
"""A constant, or one that moves linearly with the share of codes still to draw: from all of them to none."""
Schedule = Literal["even", "cosine", "arccos", "optimal"]
Order = Literal["random", "halton", "raster", "confidence", "entropy"]


def _read_steps(words: list[str]) -> int | None:
    return None if words[0] in ("all", "None") else int(words[0])


def _is_steps(value: Any) -> bool:
    return value is None or isinstance(value, int)


Steps = Annotated[
    int | None,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="{all}|INT",
        instance_from_str=_read_steps,
        is_instance=_is_steps,
        str_from_instance=lambda steps: ["all" if steps is None else str(steps)],
    ),
]
"""Steps of a chain. None, on the command line ``all``: as many as there are codes to draw."""


def check_steps(steps: int | None) -> None:
    """Refuse a chain that has no step."""
    if steps is not None and steps < 1:
        raise ConfigError(f"steps {steps} would reveal nothing; at least 1 is wanted")


def check_draws(temperature: Temperature, top_k: int | None = None, top_p: float = 1.0) -> None:
    """Refuse settings by which no code could be drawn."""
    for value in temperature if isinstance(temperature, tuple) else (temperature,):
        if not 0 <= value < float("inf"):
            what = "negative" if value < 0 else "not a finite number"
            raise ConfigError(f"temperature {value} is {what}; 0 is greedy, 1 is the model's own")
    if top_k is not None and top_k < 1:
        raise ConfigError(f"top-k {top_k} leaves no code to draw; 1 is greedy")
    if not 0 < top_p <= 1:
        raise ConfigError(f"top-p {top_p} is not in (0, 1]; 1 leaves the model's own distribution")


def check_remasking(remask: float, cap: float = 1.0) -> None:
    """Refuse what are no probabilities."""
    if not (0 <= remask <= 1 and 0 <= cap <= 1):
        raise ConfigError(f"remask {remask} and remask-cap {cap} must be in [0, 1]")


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """How codes are drawn from a prior."""

    steps: Steps = None
    """Steps, S. A picture takes at most so many network passes. all: as many as it has codes (the paper)."""
    temperature: Temperature = 1.0
    """Below 1 likelier codes, 0 the likeliest. Two numbers: from the first code linearly to the last."""
    schedule: Schedule = "even"
    """How many codes a step reveals. even: the paper's chain. cosine, arccos: MaskGIT's. optimal: what costs
    least by the model's own curve."""
    order: Order = "random"
    """Which codes come first. random: the paper's. halton: spread evenly. raster: row by row. confidence: the
    surest ones (MaskGIT). entropy: as many of the surest as gamma allows, at its own pace."""
    top_k: int | None = None
    """Draw from the k likeliest codes only."""
    top_p: float = 1.0
    """Draw from the fewest codes that together have this probability."""
    choice_temperature: float = 4.5
    """Noise on the confidence, falling to nothing with the share of codes masked."""
    gamma: float = 8.0
    """Nats that codes of one entropy-bounded pass may have in sum, less the largest. More: fewer passes."""
    remask: float = 0.0
    """Redraw codes (ReMDM): the probability in each step, as a share of the largest one possible."""
    remask_cap: float = 1.0
    """The largest probability of redrawing a code in a step."""

    def __post_init__(self) -> None:
        check_steps(self.steps)
        check_draws(self.temperature, self.top_k, self.top_p)
        for what, name, kinds in (("schedule", self.schedule, Schedule), ("order", self.order, Order)):
            if name not in get_args(kinds):
                raise ConfigError(f"there is no {what} {name!r}", hint=f"one of {', '.join(get_args(kinds))}")
        for setting, value in (("choice-temperature", self.choice_temperature), ("gamma", self.gamma)):
            if not value >= 0:
                raise ConfigError(f"{setting} {value} must be at least 0")
        check_remasking(self.remask, self.remask_cap)
        if self.order == "entropy" and (self.steps or self.schedule != "even" or self.remask):
            raise ConfigError("the entropy order sets its own pace: it takes no steps, schedule or remasking")

    def check_autoregressive(self) -> None:
        """Refuse what has no meaning for a prior that draws code after code."""
        if (self.schedule, self.order) != ("even", "random") or self.steps or self.remask:
            raise ConfigError(
                "an autoregressive prior draws code after code; it takes no steps, schedule, order, remasking"
            )


@dataclass(frozen=True, kw_only=True)
class WindowedConfig:
    """How codes are drawn where windows of the trained size are moved over a larger grid."""

    steps: Steps = None
    """Steps of the chain. all: as many as there are codes to draw."""
    temperature: Temperature = 1.0
    """Below 1 likelier codes, 0 the likeliest. Two numbers: from the first code linearly to the last."""
    remask: float = 0.0
    """Redraw codes (ReMDM): the probability in each step, as a share of the largest one possible."""
    stride: int = 1
    """Beyond the trained size: windows are this many codes apart. More: faster and less exact."""
    windows: int | None = None
    """Beyond the trained size: about this many random windows a pass. None: all that matter."""

    def __post_init__(self) -> None:
        check_steps(self.steps)
        check_draws(self.temperature)
        check_remasking(self.remask)


@dataclass(frozen=True, kw_only=True)
class CanvasConfig(WindowedConfig):
    """How a picture larger than those of the training is drawn."""

    temperature: Temperature = 0.8
    """Below 1 likelier codes, and parts that go together better (the paper: 0.8); 0 the likeliest. Two
    numbers: from the first code linearly to the last."""
    order: Order = "random"
    """Which codes come first. random: the paper's. raster: row by row, what its authors' program does. The
    others: docs/sampling.md."""

    @property
    def sampling(self) -> SamplingConfig:
        """How the codes of the canvas are drawn."""
        return SamplingConfig(
            steps=self.steps, temperature=self.temperature, order=self.order, remask=self.remask
        )


@dataclass(frozen=True, kw_only=True)
class EditConfig(WindowedConfig):
    """How new parts of a picture are drawn."""

    count: int = 4
    """Versions to make."""
    rank: bool = False
    """Put the versions in order, the one whose new codes the model finds likeliest first."""
    seam: int | None = None
    """Pixels over which what is new fades into the picture. 0: a hard edge. None: half a code."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count < 1:
            raise ConfigError(f"{self.count} pictures cannot be drawn; 1 is the least", hint="--count 4")
