"""Readers that take torch: bundles, checkpoints, runs, codes."""

import hashlib
from pathlib import Path

import torch

from tests.torture.fuzz import Damage, Reader
from tests.untrained import untrained
from unmask.data.codes import open_codes
from unmask.pipeline import Pipeline
from unmask.storage import bundles, state
from unmask.training.runs import Run

TREE = {"step": 3, "adam": {0: (1, None, 0.5), 1: [torch.arange(6.0)]}, "weights": torch.ones(3, 4)}


def told(value: object) -> str:
    """A hash of a state, tensors and all."""
    skeleton, tensors = state.flatten(value)
    digest = hashlib.sha256(repr(skeleton).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def make_bundle(folder: Path) -> None:
    folder.rmdir()
    bundles.save(untrained(words=("cat", "dog")), folder)


def read_bundle(folder: Path) -> object:
    model = bundles.load(folder)
    pipeline = Pipeline(model, torch.device("cpu"))
    assert pipeline.words
    assert pipeline.images
    assert pipeline.settings("sample")
    return [part.fingerprint for part in model.parts.values()]


def make_run(folder: Path) -> None:
    folder.rmdir()
    run = Run.create(folder, {"settings": {"lr": 0.25}})
    for step in (1, 2):
        run.log(step, {"loss": 0.5})
        run.save(step, TREE)


def read_config(folder: Path) -> object:
    run = Run.open(folder)
    assert all(isinstance(line["step"], int) for line in run.read_log())
    run.truncate_log(1)
    return run.config


def read_checkpoint(folder: Path) -> object:
    found = Run.open(folder).restore()
    return found and told(found[1])


def make_codes(folder: Path) -> None:
    import numpy as np

    from unmask.data.codes import CAPTIONS, Stamp, _write_stamp, captions_hash
    from unmask.storage import files
    from unmask.storage.arrays import open_rows

    folder.rmdir()
    stamp = Stamp(
        codec="c" * 16, pixels=("a", "b"), data="photos", image_size=16, grid=(2, 2), codebook_size=16,
        flips=False, num_train=4, num_validation=2, captions=captions_hash(["cat"] * 6),
    )  # fmt: skip

    open_rows(
        folder,
        stamp.layout,
        lambda numbers: [((), np.full((1, 4), number, stamp.dtype)) for number in numbers],
        6,
    )
    files.write_json(folder / CAPTIONS, ["cat"] * 6)
    _write_stamp(folder, stamp)


def read_codes(folder: Path) -> object:
    codes = open_codes(folder, "c" * 16)
    sets = [codes.split(name) for name in ("train", "validation")]
    return [(one.read(range(len(one))).tolist(), list(one.captions)) for one in sets]


class Models(Damage):
    readers = {  # noqa: RUF012
        "bundle": Reader(make_bundle, read_bundle, verified=True),
        "run": Reader(make_run, read_config, verified=True, files="*.json*", writes=True),
        "checkpoints": Reader(make_run, read_checkpoint, verified=True, files="state.*"),
        "codes": Reader(make_codes, read_codes, verified=True),
    }
