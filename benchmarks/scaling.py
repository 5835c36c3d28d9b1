"""One process against two of one thread each: encoding, sampling, features, a step of training.

Both ways are timed in one launch of torchrun and take turns: while one process works alone, the other waits.
Pictures are the built-in ones, the model is the built-in ``emoji``. A training step is one with a batch of b
in each of two processes against one with 2b: the same pictures, the same gradient. The last row is one
process whose codes are memory-mapped, against codes in memory. It wants two cores with nothing else to do.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.measure import interleave, row
from unmask.config import merge
from unmask.data.codes import Codes, Stamp, encode_pixels
from unmask.data.config import ImagesConfig
from unmask.data.pixels import Pixels, open_pixels
from unmask.data.sources import open_source
from unmask.distributed import ALONE, Group, Processes
from unmask.evaluation.features import features_of, inception_features
from unmask.models import codec_from, open_model
from unmask.pipeline import Pipeline, load
from unmask.presets import prior_preset
from unmask.samples import SampleFolder
from unmask.training.config import EngineConfig
from unmask.training.engine import Engine
from unmask.training.prior_task import PriorTask

PICTURES, DRAWN, STEPS, BATCH, REPEATS = 64, 16, 8, 8, 3
IMAGES = ImagesConfig(size=64, flip=False, validation=0.125)
MODEL = {"model": "emoji", "size_px": 64, "threads": "1 each"}
Way = Callable[[Group], object]


def main() -> None:
    """Start two processes, which measure."""
    launcher = [str(Path(sys.executable).with_name("torchrun")), "--standalone", "--nproc-per-node", "2"]
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(os.environ.get("UNMASK_CACHE", Path.home() / ".cache/unmask")) / "weights"
        (Path(folder) / "weights").symlink_to(weights)
        environment = os.environ | {"OMP_NUM_THREADS": "1", "UNMASK_CACHE": folder}
        subprocess.run([*launcher, "-m", "benchmarks.scaling", folder], env=environment, check=True)


def measure(folder: Path) -> None:
    """What each of the two processes does."""
    processes, model, scratch = Processes("cpu"), load("emoji", "cpu", precision="32"), Scratch(folder)
    source = open_source("emoji-3d")
    pixels = open_pixels(source, replace(IMAGES, cache="prepared"), processes=processes)
    some = pixels.whole()[:PICTURES]
    inception = inception_features(model.device)

    def sample(group: Group) -> None:
        SampleFolder(scratch(group), model, settings="paper", steps=STEPS).fill(
            DRAWN, batch=BATCH, processes=group
        )

    def features(group: Group) -> None:
        with patch.dict(os.environ, {"UNMASK_CACHE": str(scratch(group))}):
            features_of(some, inception, batch=BATCH, processes=group)

    counts = MODEL | {"pictures": PICTURES, "batch": BATCH}
    compare("encode", processes, lambda group: encode(model, pixels, scratch(group), group), counts)
    compare("sample", processes, sample, MODEL | {"pictures": DRAWN, "steps": STEPS, "batch": BATCH})
    compare("features", processes, features, counts | {"network": "Inception"})
    training(processes, codes_of(model, folder))


class Scratch:
    """A new folder for each use, of the same name in all processes."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._used = folder, Counter[str]()

    def __call__(self, group: Group) -> Path:
        name = "alone" if group is ALONE else "together"
        self._used[name] += 1
        return self._folder / f"{name}-{self._used[name]}"


def compare(what: str, processes: Processes, way: Way, config: dict[str, object]) -> None:
    """Time the work of one process by itself and of two together."""

    def alone() -> None:
        if processes.is_first:
            way(ALONE)
        processes.barrier()

    def together() -> None:
        way(processes)
        processes.barrier()

    timings = interleave({"one process": alone, "two processes": together}, REPEATS)
    if processes.is_first:
        row(f"two processes: {what}", "two processes", timings, baseline="one process", config=config)


def encode(model: Pipeline, pixels: Pixels, out: Path, group: Group) -> None:
    """The first pictures of a set to codes on disk."""
    codec, edge = model.codec, model.codec.config.grid(IMAGES.size)
    few = Few(pixels)
    encode_pixels(
        codec.encode,
        few,  # type: ignore[arg-type]
        IMAGES,
        out,
        codec=model.codec_fingerprint,
        grid=(edge, edge),
        codebook_size=codec.codebook_size,
        data="emoji-3d",
        batch=BATCH,
        processes=group,
    )


class Few:
    """The first pictures of each split."""

    def __init__(self, pixels: Pixels) -> None:
        self._pixels = pixels

    def split(self, name: str) -> object:
        return self._pixels.split(name)[: PICTURES - BATCH if name == "train" else BATCH]  # type: ignore[arg-type]


def codes_of(model: Pipeline, folder: Path) -> dict[str, Codes]:
    """Random codes of the model's grid, in memory and mapped from the disk."""
    grid, size = model.prior.grid, model.codec.codebook_size
    rows = np.random.default_rng(0).integers(0, size, (4096, 1, grid[0] * grid[1])).astype("<u2")
    np.save(folder / f"codes-{os.getpid()}.npy", rows)
    mapped = np.load(folder / f"codes-{os.getpid()}.npy", mmap_mode="c")
    stamp = Stamp(
        codec=model.codec_fingerprint,
        pixels=("", ""),
        data="random",
        image_size=IMAGES.size,
        grid=grid,
        codebook_size=size,
        flips=False,
        num_train=4000,
        num_validation=96,
    )
    return {"in memory": Codes(stamp, rows), "mapped": Codes(stamp, mapped)}


def training(processes: Processes, codes: dict[str, Codes]) -> None:
    """A step of the prior: two processes with a batch each, one with both; codes of either kind."""
    part = open_model("emoji").codec

    def task(engine: Engine, batch: int, codes: Codes) -> Callable[[], object]:
        one = PriorTask(
            merge(prior_preset("emoji"), {"optim": {"batch": batch}}),
            engine,
            codes,
            codec=part,
            decode=codec_from(part).decode,
            about={},
        )
        numbers = iter(range(10**6))
        return lambda: one.step(next(numbers))

    settings = EngineConfig(device="cpu", threads=1, precision="32")
    shared = task(Engine(settings), BATCH, codes["in memory"])
    with patch.dict(os.environ, {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}):
        engine = Engine(settings)
    whole, streamed = (task(engine, 2 * BATCH, one) for one in codes.values())
    config = {"prior": "preset emoji", "batch": 2 * BATCH, "precision": "float32", "threads": "1 each"}
    compare("training step", processes, lambda group: whole() if group is ALONE else shared(), config)
    if processes.is_first:
        timings = interleave({"in memory": whole, "mapped": streamed}, 2 * REPEATS + 1)
        row("training step on stored codes", "mapped", timings, baseline="in memory", config=config)
    processes.barrier()


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
