"""Precision, recall, density and coverage against the package prdc; neighbours against one pair a call.

    python -m benchmarks metrics                           10,000 × 10,000 × 2048
    METRICS_COUNT=1000 python -m benchmarks metrics        to see that it works

Memory is the most that a process of its own held beyond the features that both are given.
"""

import contextlib
import io
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.measure import interleave, note, row
from unmask.codec.perceptual import Perceptual
from unmask.devices import tuned_allocator
from unmask.evaluation.distances import nearest
from unmask.evaluation.features import lpips_features
from unmask.evaluation.prdc import balls_of, prdc
from unmask.rng import generator
from unmask.third_party import weights

COUNT = int(os.environ.get("METRICS_COUNT", 10_000))
DIMENSION, REPEATS = 2048, 3
SEARCHED, QUERIES, SIDE_PX = min(COUNT, 500), 2, 64


def main() -> None:
    _balls()
    _neighbours()


def features() -> tuple[Tensor, Tensor]:
    """Two sets with the look of Inception's features: a falling spectrum, rectified."""
    rng = generator(0, "features")
    mix = torch.randn(DIMENSION, DIMENSION, generator=rng) * torch.linspace(2, 0.05, DIMENSION) / 45
    real, fake = torch.randn(2, COUNT, DIMENSION, generator=rng) @ mix
    return real.relu(), (0.97 * fake).relu()


def ours(real: Tensor, fake: Tensor) -> dict[str, float]:
    with tuned_allocator():
        return {name: figure.value for name, figure in prdc(balls_of(real), fake).items()}


def theirs(real: Tensor, fake: Tensor) -> dict[str, float]:
    compute = import_module("prdc").compute_prdc
    with contextlib.redirect_stdout(io.StringIO()):
        return dict(compute(real.numpy(), fake.numpy(), 3))


def _balls() -> None:
    sets = features()
    contestants = {"unmask": lambda: ours(*sets), "prdc": lambda: theirs(*sets)}
    config = {"pictures": COUNT, "features": DIMENSION, "k": 3}
    timings = interleave(contestants, repeats=REPEATS)
    row("precision, recall, density, coverage", "unmask", timings, baseline="prdc", config=config)
    memory = {name: _peak_bytes(name) for name in contestants}
    figures = {
        "contestant": "unmask",
        "baseline": "prdc",
        "ratio": round(memory["prdc"] / memory["unmask"], 2),
        "bytes": memory["unmask"],
        "baseline_bytes": memory["prdc"],
    }
    note("memory of precision, recall, density, coverage", figures, config=config)


def _peak_bytes(name: str) -> int:
    """What a fresh process held at most while it computed, beyond what it held with the features in it."""
    command = [sys.executable, "-m", "benchmarks.metrics", name]
    root = Path(__file__).parents[1]
    return int(subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout)


def _measure(name: str) -> None:
    import_module("prdc")
    sets = features()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _status("VmRSS")
    {"unmask": ours, "prdc": theirs}[name](*sets)
    print(_status("VmHWM") - before)


def _status(name: str) -> int:
    """Bytes of this process, by Linux's name for them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def _neighbours() -> None:
    """The 8 nearest of two pictures among many by LPIPS: features once, against one pair a pass."""
    rng = generator(0, "pictures")
    pictures = torch.randint(0, 256, (SEARCHED, SIDE_PX, SIDE_PX, 3), generator=rng, dtype=torch.uint8)
    queries = pictures[:QUERIES] ^ 3
    network = Perceptual("alex")
    network.load_state_dict(weights.require("lpips-alex"))
    extractor = lpips_features(torch.device("cpu"))
    base = torch.cat([extractor(part.numpy()) for part in torch.split(pictures, 32)])

    def chunked() -> Tensor:
        return nearest(extractor(queries.numpy()), base, 8).indices

    def one_by_one() -> Tensor:
        images, asked = (part.permute(0, 3, 1, 2) / 255 for part in (pictures, queries))
        with torch.no_grad():
            rows = [[network(a[None], b[None]).item() for b in images] for a in asked]
        return torch.tensor(rows).topk(8, largest=False).indices

    assert torch.equal(chunked()[:, 0], one_by_one()[:, 0])
    timings = interleave({"features once": chunked, "one pair a call": one_by_one}, repeats=REPEATS)
    config = {"pictures": SEARCHED, "queries": QUERIES, "size_px": SIDE_PX, "by": "lpips"}
    row("nearest neighbours", "features once", timings, baseline="one pair a call", config=config)


if __name__ == "__main__":
    _measure(sys.argv[1])
