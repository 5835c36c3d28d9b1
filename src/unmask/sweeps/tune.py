"""The best settings of a model for each number of steps: ``unmask tune``.

From the settings that the model recommends it goes along one setting after another and keeps the best value
of each. Every measurement is one of ``evaluate`` and stays in its folder: a search that was stopped goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from unmask.diffusion.settings import BUDGETS, RECOMMENDED, Settings
from unmask.distributed import ALONE, Group
from unmask.errors import ConfigError
from unmask.evaluation.config import Side
from unmask.evaluation.results import Results, Row
from unmask.pipeline import Pipeline
from unmask.progress import Bar, no_bar, took
from unmask.sweeps.evaluate import evaluate

CANDIDATES: dict[str, list[Any]] = {
    "steps": [8, 16, 32, 64, 256],
    "remask": [0.0, 0.5, 1.0],
    "temperature": [0.7, 0.8, 0.9, 1.0],
    "schedule": ["even", "cosine", "optimal"],
    "order": ["random", "halton", "confidence"],
    "guidance": [1.0, 1.5, 2.0],
}
"""The numbers of steps, and the values of other settings, in the order in which they are settled."""
COLUMNS = ("kid", "precision", "coverage", "seconds")
Measure = Callable[..., Results]
"""``evaluate`` of one model and data; takes settings and a sweep."""


@dataclass(frozen=True)
class Tuning:
    """The result of a search."""

    rows: Sequence[Row]
    """Of each number of steps the best settings, their metrics, and the seconds that a picture takes."""
    paper: Row
    """The paper's chain of the largest number of steps, for comparison."""
    chosen: Sequence[Settings]
    """The settings of the rows."""

    def sampling(self, known: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """A model's settings by name, with the tuned ones among those that it recommends.

        New images take the fewest steps whose KID is within a standard error of the best.
        """
        fewest = near_best(self.rows)[0]
        plain = [{name: one.of("sample")[name] for name in one.changed} for one in self.chosen]
        tuned = {"sample": plain[self.rows.index(fewest)], BUDGETS: plain}
        return {name: dict(uses) for name, uses in known.items()} | {
            RECOMMENDED: {**known.get(RECOMMENDED, {}), **tuned}
        }


def tune(
    model: Pipeline,
    data: str,
    *,
    count: int = 500,
    split: Side = "train",
    settings: str | None = None,
    seed: int = 1,
    out: str | Path = "tuning",
    batch: int = 16,
    bar: Bar = no_bar,
    processes: Group = ALONE,
    **candidates: Any,
) -> Tuning:
    """The best settings for each of ``steps``, by samples against the pictures of one side of ``data``.

    ``candidates`` are lists of values to try in place of those above. The search begins with the settings of
    a name, or with those that the model recommends. ``processes`` share samples and features.
    """
    values = _values(model, candidates)
    budgets = sorted(values.pop("steps"))
    measure = partial(
        evaluate,
        model,
        data,
        metrics=("kid", "prdc"),
        count=count,
        split=split,
        seed=seed,
        out=out,
        batch=batch,
        bar=bar,
        processes=processes,
    )
    chosen, rows = [], []
    for steps in budgets:
        best, row = _search(measure, model.settings("sample", settings, steps=steps), values)
        chosen.append(best)
        rows.append(row | {"seconds": _seconds(model, best, batch)})
    [(paper, row)] = _measured(measure, Settings(steps=budgets[-1]))
    return Tuning(rows, row | {"seconds": _seconds(model, paper, batch)}, chosen)


def _search(measure: Measure, best: Settings, values: Mapping[str, Sequence[Any]]) -> tuple[Settings, Row]:
    """The best settings, along one setting after another, and their metrics."""
    row: Row = {}
    for name, each in values.items():
        tried = _measured(measure, best, **{name: each})
        row = _best([row for _, row in tried])
        best = next(one for one, its in tried if its is row)
    return best, row


def _measured(measure: Measure, base: Settings, **sweep: Sequence[Any]) -> list[tuple[Settings, Row]]:
    """Each of the settings of a sweep with its metrics."""
    results = measure(settings=base, **sweep)
    tried = [replace(base, **{name: value}) for name in sweep for value in sweep[name]] or [base]
    return [(one, results.row(one) or {}) for one in tried]


def near_best(rows: Sequence[Row]) -> list[Row]:
    """The rows whose KID is within a standard error of the lowest."""
    lowest = min(rows, key=lambda row: row["kid"])
    return [row for row in rows if row["kid"] <= lowest["kid"] + lowest.get("kid_error", 0.0)]


def plot(tuning: Tuning, folder: Path) -> Path:
    """``tuning.png``, quality over passes and over seconds. It takes matplotlib."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7, 3.2), layout="constrained")
    panels = picture.subplots(1, 2, sharey=True)
    for axes, along in zip(panels, ("steps", "seconds"), strict=True):
        for label, rows in (("tuned", tuning.rows), ("the paper's chain", [tuning.paper])):
            x, y = ([row[name] for row in rows] for name in (along, "kid"))
            axes.errorbar(
                x, y, [row.get("kid_error", 0.0) for row in rows], marker="o", capsize=3, label=label
            )
        axes.set(xscale="log", xlabel={"steps": "passes", "seconds": "seconds an image"}[along])
    panels[0].set(ylabel="KID")
    panels[0].legend()
    path = folder / "tuning.png"
    picture.savefig(path, dpi=120)
    return path


def _values(model: Pipeline, candidates: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Values to try of each setting that applies to the model."""
    if model.prior.causal:
        raise ConfigError("an autoregressive prior draws code after code: there are no steps to tune")
    values = dict(CANDIDATES)
    if not model.sampler.curve:
        values["schedule"] = [name for name in values["schedule"] if name != "optimal"]
    if not model.words.length:
        values["guidance"] = [1.0]
    values |= candidates
    if not all(isinstance(steps, int) and steps > 0 for steps in values["steps"]):
        raise ConfigError("settings are tuned for numbers of steps", hint="such as  --steps 8,16,64")
    return values


def _best(rows: Sequence[Row]) -> Row:
    """The row of the best precision and coverage among those whose KID is as good as the lowest."""
    return max(near_best(rows), key=lambda row: row["precision"] + row["coverage"])


def _seconds(model: Pipeline, settings: Settings, batch: int) -> float:
    """Seconds per image in a batch."""
    return took(lambda: model.sample(batch, settings=settings, batch=batch)) / batch
