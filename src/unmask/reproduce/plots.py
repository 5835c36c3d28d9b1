"""Plots of a reproduction, from its results alone. They take matplotlib."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.reproduce.claims import CLAIMS
from unmask.reproduce.manifest import Claim
from unmask.reproduce.page import plot_name, seeds_of
from unmask.reproduce.verdicts import Arms, of_arm, over_seeds, value

PANELS, HEIGHT = 4, 3.4  # side by side, and inches of a row of them


def plot(results: Mapping[str, Any], folder: Path) -> None:
    """A plot of each claim of which something was found, into the folder."""
    from matplotlib.figure import Figure

    for claim in CLAIMS:
        if seeds := seeds_of(claim, results):
            figure: Any = Figure(figsize=(9, HEIGHT), layout="constrained")
            found = list(seeds[0].values())
            if any(claim.metrics[0] in point for each in found for point in each.get("curve", ())):
                _curves(figure.subplots(), claim, seeds)
            elif any("lambda" in each for each in found):
                left, right = figure.subfigures(1, 2, width_ratios=(2, 1))
                _points(left, claim, seeds)
                _weights(right.subplots(), seeds[0])
            else:
                _points(figure, claim, seeds)
            figure.savefig(folder / plot_name(claim), dpi=100)


def _weights(axes: Any, arms: Arms) -> None:
    """λ over training steps, of the first seed."""
    for name, found in arms.items():
        if points := found.get("lambda"):
            axes.plot(*zip(*points, strict=True), label=name)
    axes.set(xlabel="training step", title="λ", yscale="log")
    axes.legend(frameon=False, fontsize="x-small")
    axes.spines[["top", "right"]].set_visible(False)


def _curves(axes: Any, claim: Claim, seeds: Sequence[Arms]) -> None:
    """The first metric over training steps; a band of one standard error where there are seeds enough."""
    metric = claim.metrics[0]
    for arm in seeds[0]:
        curves = [found["curve"] for arms in seeds if (found := arms.get(arm))]
        points = [
            (at[0]["step"], over_seeds([each for one in at if (each := value(one, metric))]))
            for at in zip(*curves, strict=False)  # as far as all seeds went: patience ends each by itself
        ]
        steps = [step for step, _ in points]
        axes.plot(steps, [point.mean for _, point in points], marker="o", markersize=3, label=arm)
        low = [point.mean - point.error for _, point in points]
        high = [point.mean + point.error for _, point in points]
        axes.fill_between(steps, low, high, alpha=0.25)
    axes.set(xlabel="training step", ylabel=f"validation {metric}")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _points(figure: Any, claim: Claim, seeds: Sequence[Arms]) -> None:
    """A panel for each metric, a point for each arm."""
    shown = [metric for metric in claim.metrics if any(value(f, metric) for f in seeds[0].values())]
    rows = math.ceil(len(shown) / PANELS)
    panels = figure.subplots(rows, math.ceil(len(shown) / rows), squeeze=False).flat
    figure.figure.set_figheight(HEIGHT * rows)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes, metric in zip(panels[: len(shown)], shown, strict=True):
        for place, arm in enumerate(seeds[0]):
            if point := of_arm(arm, metric, seeds):
                axes.errorbar(place, point.mean, point.error, marker="o", capsize=3)
        axes.set_title(metric.replace("_", " "), fontsize="small")
        axes.set_xticks(range(len(seeds[0])), list(seeds[0]), rotation=40, ha="right", fontsize="x-small")
        axes.spines[["top", "right"]].set_visible(False)
