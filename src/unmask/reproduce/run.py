"""``unmask reproduce``: do what the claims ask for, then write down what came of it."""

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unmask import __version__
from unmask.errors import DataError
from unmask.progress import rough_duration, say
from unmask.reproduce.bench import Bench
from unmask.reproduce.claims import CLAIMS
from unmask.reproduce.manifest import DEBIAN, Claim, Lab, Scale
from unmask.reproduce.page import RESULTS, page, seeds_of
from unmask.reproduce.plots import plot
from unmask.reproduce.steps import Step
from unmask.reproduce.verdicts import value
from unmask.rng import generator
from unmask.storage.files import accessing, check_folder, write_bytes, write_csv, write_json

MAX_SEEDS = 20
Results = dict[str, Any]
"""``results.json``: the steps that were done by key, and of each claim and seed the keys of its arms."""


def reproduce(
    claims: Sequence[Claim],
    scale: Scale,
    *,
    seeds: int,
    out: Path,
    data: str | None,
    run: Callable[[list[str]], None],
) -> Path:
    """Do every step of the claims that is missing in ``out``; return the page of all that is there then."""
    check_folder(out, "hold results", hint="name another:  --out runs/paper")
    bench, data = Bench(out, run), data or _pictures(scale, out)
    _say_plan(bench, scale, [step for claim in claims for step in _steps(claim, scale, data, seeds)])
    for seed in range(seeds):
        for claim in claims:
            say(f"{claim.name}, seed {seed}: {claim.title}")
            for step in _steps(claim, scale, data, 1, first=seed):
                bench.do(step)
            target = write(gather(bench, scale, data), out)
    return target


def _steps(claim: Claim, scale: Scale, data: str, seeds: int, *, first: int = 0) -> list[Step]:
    """All steps of a claim, each once, in an order in which they can be done."""
    arms = [claim.arms(Lab(scale, data, seed)) for seed in range(first, first + seeds)]
    return list(dict.fromkeys(step for each in arms for arm in each.values() for step in arm.with_inputs()))


def _pictures(scale: Scale, out: Path) -> str:
    """Fashion-MNIST where Debian puts it; for a smoke test discs, drawn here."""
    if scale.name == "quick":
        path = out / "discs.npy"
        if not path.exists():
            with accessing(path):
                out.mkdir(parents=True, exist_ok=True)
                file = io.BytesIO()
                np.save(file, discs(300, 16))
                write_bytes(path, file.getvalue())
        return str(path)
    if not Path(DEBIAN).exists():
        raise DataError(
            f"Fashion-MNIST is not in {Path(DEBIAN).parent}",
            hint="apt-get install dataset-fashion-mnist, or  --pictures FOLDER/train-images-idx3-ubyte.gz",
        )
    return DEBIAN


def discs(count: int, size_px: int) -> "np.typing.NDArray[np.uint8]":
    """(count, size, size, 3) pictures of a disc each, every one of its own place, size and colour."""
    draws = torch.rand(count, 6, generator=generator(0, "discs")).numpy()
    y, x = np.mgrid[0:size_px, 0:size_px] / size_px
    distance = np.hypot(y - 0.3 - 0.4 * draws[:, 0, None, None], x - 0.3 - 0.4 * draws[:, 1, None, None])
    inside = distance < 0.15 + 0.2 * draws[:, 2, None, None]
    colours = (200 * draws[:, None, None, 3:]).astype(np.uint8)
    return np.where(inside[..., None], colours, np.uint8(255))


def _say_plan(bench: Bench, scale: Scale, wanted: Sequence[Step]) -> None:
    """Say how much there is to do, and how long it may take."""
    missing = [step for step in dict.fromkeys(wanted) if bench.found(step) is None]
    trainings = sum(step.kind.startswith("train") for step in missing)
    seconds = sum(scale.seconds(step.kind) for step in missing)
    say(
        f"plan: {len(set(wanted)) - len(missing)} steps are done; {trainings} trainings and "
        f"{len(missing) - trainings} measurements are not, about {rough_duration(seconds)} on one quiet core"
    )


def gather(bench: Bench, scale: Scale, data: str) -> Results:
    """What has been found so far, of every claim the seeds that contribute to it."""
    steps: dict[str, Any] = {}
    done: dict[str, dict[str, dict[str, str]]] = {}
    for claim, seed in product(CLAIMS, range(MAX_SEEDS)):
        arms = claim.arms(Lab(scale, data, seed))
        there = {name: arm for name, arm in arms.items() if bench.found(arm) is not None}
        if claim.is_told_by(there):
            done.setdefault(claim.name, {})[str(seed)] = {name: arm.key for name, arm in there.items()}
            taken = (step for arm in there.values() for step in arm.with_inputs())
            steps |= {step.key: _written(step, bench) for step in taken}
    return {"unmask": __version__, "scale": scale.name, "arms": done, "steps": steps}


def _written(step: Step, bench: Bench) -> dict[str, Any]:
    inputs = [each.key for each in step.inputs]
    return {"typed": f"{step.program} {step.typed('OUT')}", "inputs": inputs, "found": bench.found(step)}


def write(results: Results, out: Path) -> Path:
    """``results.json``, ``results.csv``, the plots and the page."""
    target = out / "paper.md"
    with accessing(out):
        write_json(out / RESULTS, results)
        write_csv(out / "results.csv", _rows(results))
        write_bytes(target, page(results).encode())
    try:
        plot(results, out)
    except ImportError:
        say("no plots, since matplotlib is not installed:  pip install 'unmask[plot]'")
    return target


def _rows(results: Results) -> Iterator[Sequence[object]]:
    """The table of all metrics, its heading first."""
    yield "claim", "seed", "arm", "metric", "value", "standard_error"
    for claim in CLAIMS:
        for seed, arms in zip(results["arms"].get(claim.name, {}), seeds_of(claim, results), strict=True):
            for (arm, found), metric in product(arms.items(), claim.metrics):
                if one := value(found, metric):
                    yield claim.name, seed, arm, metric, *one
