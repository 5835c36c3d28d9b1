"""Verdicts: computed from what was found and its standard errors, never written by hand."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple, get_args

Verdict = Literal["refuted", "not at this scale", "undecided", "confirmed", "measured", "not run yet"]
"""not at this scale: no difference beyond chance. undecided: one seed, of a metric without a standard error.
measured: the paper says nothing that could be compared."""
ORDER: tuple[Verdict, ...] = get_args(Verdict)
"""In order of precedence: a claim has the first of these among its tests' verdicts."""
# Student's t for 95 %, two-sided, by degrees of freedom; beyond the table the normal distribution's.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL = 1.96
Arms = Mapping[str, Mapping[str, Any]]
"""What was found, by arm, of one seed."""


class Value(NamedTuple):
    """A number and its standard error; NaN where that is not known."""

    mean: float
    error: float

    def __str__(self) -> str:
        if not self.error > 0:
            return f"{self.mean:,.0f}" if self.mean >= 10_000 else f"{self.mean:.4g}"
        digits = max(0, 1 - math.floor(math.log10(self.error)))
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


@dataclass(frozen=True)
class Test:
    """A comparison of two arms by a metric, as the paper has it."""

    metric: str
    better: str
    worse: str | float
    """An arm, or a number."""
    paper: str
    """The paper's own numbers."""
    higher: bool = False
    """Whether more is better."""
    no_worse: bool = False
    """Whether the claim is only that it is not worse, beyond chance."""


class Outcome(NamedTuple):
    """What came of a test."""

    verdict: Verdict
    gain: Value
    """By how much the better arm is better; below 0 it is worse."""
    seeds: int


def value(found: Mapping[str, Any], metric: str) -> Value | None:
    """A metric among what was found, if it is there, with the standard error that stands beside it."""
    if not isinstance(found.get(metric), int | float):
        return None
    names = [f"{metric}_error", f"{metric}_standard_error"]
    names += ["standard_error"] if metric in ("bits", "bits_per_code", "nearer") else []
    errors = [found[name] for name in names if found.get(name) is not None]
    return Value(found[metric], errors[0] if errors else math.nan)


def of_arm(arm: str, metric: str, seeds: Sequence[Arms]) -> Value | None:
    """A metric of an arm over the seeds that have it."""
    values = [each for arms in seeds if (each := value(arms.get(arm, {}), metric))]
    return over_seeds(values) if values else None


def over_seeds(values: Sequence[Value]) -> Value:
    """The mean of what several trainings came to; its error is their spread, of one the metric's own."""
    if len(values) == 1:
        return values[0]
    means = [each.mean for each in values]
    return Value(fmean(means), stdev(means) / math.sqrt(len(means)))


def judge(test: Test, seeds: Sequence[Arms]) -> Outcome:
    """The outcome over all seeds that have both arms; those of one seed are compared with each other."""
    gains = [gain for arms in seeds if (gain := _gain(test, arms)) is not None]
    if not gains:
        return Outcome("not run yet", Value(math.nan, math.nan), 0)
    gain, margin = over_seeds(gains), limit(len(gains))
    verdict: Verdict = "confirmed"
    if math.isnan(gain.error):
        verdict = "undecided"
    elif gain.mean < -margin * gain.error:
        verdict = "refuted"
    elif gain.mean <= margin * gain.error and not test.no_worse:
        verdict = "not at this scale"
    return Outcome(verdict, gain, len(gains))


def limit(seeds: int) -> float:
    """How many standard errors from 0 a mean over so many seeds is beyond chance."""
    return STUDENT[seeds - 2] if 2 <= seeds < len(STUDENT) + 2 else NORMAL


def _gain(test: Test, arms: Arms) -> Value | None:
    better = value(arms.get(test.better, {}), test.metric)
    worse = (
        Value(test.worse, 0.0)
        if isinstance(test.worse, int | float)
        else value(arms.get(test.worse, {}), test.metric)
    )
    if better is None or worse is None:
        return None
    difference = better.mean - worse.mean if test.higher else worse.mean - better.mean
    return Value(difference, math.hypot(better.error, worse.error))


def overall(tests: Sequence[Test], seeds: Sequence[Arms]) -> Outcome:
    """The outcome, among those of a claim's tests, that decides it."""
    if not tests:
        return Outcome("measured" if seeds else "not run yet", Value(math.nan, math.nan), len(seeds))
    outcomes = [judge(test, seeds) for test in tests]
    done = [outcome for outcome in outcomes if outcome.seeds]
    return min(done or outcomes, key=lambda outcome: ORDER.index(outcome.verdict))
