"""Timing that survives a busy machine, and the rows that speed claims link to."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch

RESULTS = Path(__file__).with_name("results.jsonl")
PACKAGES = ("torch", "numpy", "pillow")


@dataclass(frozen=True)
class Timing:
    """Seconds that one contestant took, over all repeats."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles."""
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return (high - low) / 2


def interleave(
    contestants: Mapping[str, Callable[[], object]],
    repeats: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time all contestants in turn, ``repeats`` times, so that noise from elsewhere hits them alike.

    Each runs once before that, untimed, and every other round goes backwards. ``time.process_time`` as the
    clock counts what all threads compute, whatever else the machine does.
    """
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for repeat in range(repeats):
        for name in list(contestants)[:: -1 if repeat % 2 else 1]:
            start = clock()
            contestants[name]()
            seconds[name].append(clock() - start)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def row(
    what: str, name: str, timings: Mapping[str, Timing], *, baseline: str, config: Mapping[str, object]
) -> None:
    """Print and keep one row: how the contestant ``name`` did against ``baseline``."""
    figures = {
        "contestant": name,
        "baseline": baseline,
        "ratio": _round(_ratio(timings[baseline], timings[name])),
        "median_s": _round(timings[name].median),
        "spread_s": _round(timings[name].spread),
        "baseline_median_s": _round(timings[baseline].median),
        "baseline_spread_s": _round(timings[baseline].spread),
        "repeats": len(timings[name].seconds),
    }
    note(what, figures, config=config)


def note(what: str, figures: Mapping[str, object], *, config: Mapping[str, object]) -> None:
    """Print and keep one row of figures, whatever they are: times, bytes, variances."""
    about = {
        "config": dict(config),
        "hardware": hardware(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "commit": commit(),
    }
    line = json.dumps({"what": what, **figures, **about}, ensure_ascii=False)
    print(line, flush=True)
    with RESULTS.open("a") as file:
        file.write(line + "\n")


def _ratio(baseline: Timing, contestant: Timing) -> float:
    """How many times faster than the baseline, as the median over rounds: both met the same noise in each."""
    return statistics.median(b / c for b, c in zip(baseline.seconds, contestant.seconds, strict=True))


def hardware() -> dict[str, object]:
    """The processor, how much of it torch may use and how busy it was; nothing that names the machine."""
    model = platform.processor() or platform.machine()
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "system": platform.system(),
        "load": _round(os.getloadavg()[0]),
    }


def commit() -> str:
    """The commit that is measured, marked when files differ from it: others than the rows, which grow."""
    rows = f":(exclude){RESULTS.name}"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", rows)
    return _git("rev-parse", "--short=10", "HEAD") + ("-dirty" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=RESULTS.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _round(value: float) -> float:
    return float(f"{value:.4g}")
