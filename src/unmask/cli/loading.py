"""A model and its images for a command, with a word on what takes long and on what is left out."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unmask.cli.results import emit
from unmask.data.base import SUFFIXES
from unmask.data.pictures import squares_of
from unmask.data.pixels import PixelSet
from unmask.data.sources import open_source
from unmask.data.splits import SingleImageError
from unmask.devices import Precision
from unmask.distributed import ALONE, Group, Processes
from unmask.errors import DataError
from unmask.evaluation.config import Side
from unmask.onnx.config import Backend
from unmask.progress import say, stderr

if TYPE_CHECKING:
    from unmask.pipeline import Pipeline


def load_model(
    model: str, device: str = "auto", backend: Backend = "torch", precision: Precision = "auto"
) -> "Pipeline":
    """The model; a graph that an ONNX back-end lacks is made meanwhile, once."""
    from unmask.pipeline import load

    waiting = "loading; a new model's graph takes up to a minute, once" if "onnx" in backend else "loading"
    if backend == "compile":
        say("the first passes compile the prior, which takes up to a minute")
    with stderr().status(waiting):
        return load(model, device, backend, precision)


def load_shared(
    model: str, device: str = "auto", backend: Backend = "torch", precision: Precision = "auto"
) -> "tuple[Pipeline, Processes]":
    """The model, and the processes that work with it; what one of them fetches or makes, the others find."""
    processes = Processes(device)
    with processes.first_goes_first():
        return load_model(model, str(processes.device), backend, precision), processes


def load_guide(guide: str | None, device: str, precision: Precision) -> "Pipeline | None":
    """The model that ``--guide`` names, if it does."""
    return load_shared(guide, device, precision=precision)[0] if guide else None


def is_picture(data: str) -> bool:
    """Whether images are named by the file of a single one."""
    return Path(data).suffix.lower() in SUFFIXES and Path(data).is_file()


def open_images(
    model: "Pipeline",
    data: str,
    split: Side,
    *,
    captions: str = "none",
    processes: Group = ALONE,
) -> PixelSet:
    """A side of a set, saying how much of the set it is; or the image of a single file."""
    if is_picture(data):
        (pixels,) = squares_of(data, model.image_size, model.images.background)
        return PixelSet([Path(data).name], np.arange(1), lambda rows: pixels[rows], [data])
    if split == "all":
        return model.open(data, captions=captions, processes=processes)
    try:
        side = model.open(data, split, captions=captions, processes=processes)
    except SingleImageError:
        raise SingleImageError("--split all") from None
    if not len(side):
        raise DataError(f"{data} has no images on that side of its split", hint="--split all")
    total = len(open_source(data))
    sentence = f"{len(side):,} of {total:,} images ({split} split; --split all for all)"
    emit(sentence, pictures=len(side), of=total, split=split)
    return side
