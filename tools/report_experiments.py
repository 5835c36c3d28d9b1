"""Tables and the figure of docs/experiments.md, from the logs of recipes/experiments.sh.

python tools/report_experiments.py runs/experiments docs/pictures/experiments.png
"""

import sys
from pathlib import Path

import matplotlib

from unmask.training.runs import Run

matplotlib.use("Agg")
import matplotlib.pyplot as plt

Curve = list[tuple[int, float, float]]  # step, bits per code, standard error
LOSSES = ("reweighted", "elbo", "mlm")
BETTER = ("rotary-gpt2", "rotary-gpt2-autoregressive")
KINDS = ("reweighted", "autoregressive", *BETTER)
BEYOND = ("gpt2-init", "stratified", "rotary", "qk-norm", "label-smoothing", "dropout")


def validation(run: Run) -> Curve:
    """Bits per code on the held-out pictures, by training step."""
    lines = [line for line in run.read_log() if line["kind"] == "validation"]
    return [(line["step"], line["bits"], line["standard_error"]) for line in lines]


def table(curves: dict[str, Curve]) -> str:
    """One row a run: bits per code at every validation."""
    steps = [step for step, _, _ in next(iter(curves.values()))]
    rows = [["run", *map(str, steps), "against reweighted"], ["---"] * (len(steps) + 2)]
    base = curves["reweighted"][-1][1]
    for name, curve in curves.items():
        bits = [f"{value:.3f}" for _, value, _ in curve]
        rows.append([name, *bits, f"{100 * (curve[-1][1] / base - 1):+.1f} %"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def figure(curves: dict[str, Curve], path: Path) -> None:
    """The losses side by side, and the autoregressive prior against the diffusion prior."""
    panes = {"Losses": LOSSES, "Absorbing and autoregressive": KINDS}
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for axis, (title, names) in zip(axes, panes.items(), strict=True):
        for name in names:
            steps, bits, errors = zip(*curves[name], strict=True)
            axis.errorbar(steps, bits, errors, label=name, capsize=2)
        axis.set(title=title, xlabel="training step", ylabel="validation bits per code")
        axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
        axis.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=110)


def main(folder: Path, picture: Path) -> None:
    """Print the table and draw the figure."""
    names = (*LOSSES, "autoregressive", *BEYOND, *BETTER)
    curves = {name: validation(Run.open(folder / name)) for name in names}
    print(table(curves))
    figure(curves, picture)


main(Path(sys.argv[1]), Path(sys.argv[2]))
