"""Both stages of a tiny model, trained while one looks on."""

import json
from pathlib import Path

from unmask.demo.charts import Series, curve
from unmask.demo.story import Figure, Picture, Tour, Typed, quoted
from unmask.training.runs import Run

STEPS = 400  # of each stage: about a minute in all on two cores
LOOKS = 8  # at the held-out pictures, meanwhile


def train_tiny(tour: Tour, steps: int = STEPS) -> list[Figure]:
    """Curves of both stages, and what the model made early, half-way and at the end."""
    codec, prior = tour.out / "training" / "codec", tour.out / "training" / "prior"
    every = steps // LOOKS
    options = ("--preset", "tiny", "--loop.steps", steps, "--loop.validate-every", every)
    first = _trained(tour, codec, steps, "train", "codec", tour.data, *options, "--out", codec)
    second = _trained(
        tour, prior, steps, "train", "prior", codec / "best", tour.data, *options, "--out", prior
    )
    return [
        Figure(
            pictures=[_chart(codec, "l1", "error of a pixel, L1"), *_looks(codec, "reconstructions")],
            commands=[first],
            python=_python(tour, "codec", [tour.data], codec, steps),
        ),
        Figure(
            pictures=[_chart(prior, "bits", "bits per code"), *_looks(prior, "samples")],
            commands=[second],
            python=_python(tour, "prior", [str(codec / "best"), tour.data], prior, steps),
        ),
    ]


def _trained(tour: Tour, run: Path, steps: int, *words: object) -> Typed:
    """Train; a training that was stopped ends the tour too."""
    done = tour.unmask(*words)
    if Run.open(run).last_step() != steps:
        raise KeyboardInterrupt
    return done


def _chart(run: Path, figure: str, meaning: str) -> Picture:
    log = Run.open(run).read_log()
    lines = [
        Series(name, [(line["step"], line[figure]) for line in log if line["kind"] == kind])
        for kind, name in (("train", "training"), ("validation", "held out"))
    ]
    path = run.with_suffix(".svg")
    path.write_text(curve(lines, "steps", meaning), encoding="utf-8")
    first, last = lines[1].points[0], lines[1].points[-1]
    alt = f"On held-out pictures, {meaning} goes from {first[1]:.3g} at step {first[0]} "
    return Picture(path=path, alt=alt + f"to {last[1]:.3g} at step {last[0]}")


def _looks(run: Path, name: str) -> list[Picture]:
    """What the run drew early, half-way and at the end."""
    paths = sorted((run / "samples").glob(f"{name}-*.png"))
    chosen = (paths[0], paths[len(paths) // 2 - 1], paths[-1])
    steps = [int(path.stem.rpartition("-")[2]) for path in chosen]
    return [
        Picture(path=path, alt=f"{name.capitalize()} after {step} steps", caption=f"step {step}", zoom=3)
        for path, step in zip(chosen, steps, strict=True)
    ]


def _python(tour: Tour, stage: str, inputs: list[str], out: Path, steps: int) -> str:
    changes: dict[str, object] = {"loop": {"steps": steps, "validate_every": steps // LOOKS}}
    if tour.device != "auto":
        changes["engine"] = {"device": tour.device}
    arguments = [*map(quoted, inputs), f"out={quoted(out)}", 'preset="tiny"']
    arguments += [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    return f"from unmask.training.train import train_{stage}\n\ntrain_{stage}({', '.join(arguments)})"
