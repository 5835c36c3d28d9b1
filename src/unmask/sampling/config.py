"""What sampling can be told. Free of torch, so that ``--help`` is instant."""

from dataclasses import dataclass
from typing import Literal, get_args

from unmask.errors import ConfigError

Temperature = float | tuple[float, float]
"""A constant, or one that moves with the share of codes masked: linear, from all masked to none."""
Schedule = Literal["even", "cosine", "arccos", "optimal"]
Order = Literal["random", "halton", "raster", "confidence", "entropy"]


def check_draws(temperature: Temperature, top_k: int | None, top_p: float) -> None:
    """Refuse settings by which no code could be drawn."""
    for value in temperature if isinstance(temperature, tuple) else (temperature,):
        if not 0 <= value < float("inf"):
            what = "negative" if value < 0 else "not a finite number"
            raise ConfigError(f"temperature {value} is {what}; 0 is greedy, 1 is the model's own")
    if top_k is not None and top_k < 1:
        raise ConfigError(f"top-k {top_k} leaves no code to draw; 1 is greedy")
    if not 0 < top_p <= 1:
        raise ConfigError(f"top-p {top_p} is not in (0, 1]; 1 leaves the model's own distribution")


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """How codes are drawn from a prior."""

    steps: int | None = None
    """Steps, S. A picture takes at most so many network passes. None: as many as it has codes (the paper)."""
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
        check_draws(self.temperature, self.top_k, self.top_p)
        for what, name, kinds in (("schedule", self.schedule, Schedule), ("order", self.order, Order)):
            if name not in get_args(kinds):
                raise ConfigError(f"there is no {what} {name!r}", hint=f"one of {', '.join(get_args(kinds))}")
        if self.steps is not None and self.steps < 1:
            raise ConfigError(f"steps {self.steps} would reveal nothing; at least 1 is wanted")
        if min(self.choice_temperature, self.gamma) < 0:
            raise ConfigError("choice-temperature and gamma must not be negative")
        if not (0 <= self.remask <= 1 and 0 <= self.remask_cap <= 1):
            raise ConfigError(f"remask {self.remask} and remask-cap {self.remask_cap} must be in [0, 1]")
        if self.order == "entropy" and (self.steps or self.schedule != "even" or self.remask):
            raise ConfigError("the entropy order sets its own pace: it takes no steps, schedule or remasking")

    def check_autoregressive(self) -> None:
        """Refuse what has no meaning for a prior that draws code after code."""
        if (self.schedule, self.order) != ("even", "random") or self.steps or self.remask:
            raise ConfigError(
                "an autoregressive prior draws code after code; it takes no steps, schedule, order, remasking"
            )
