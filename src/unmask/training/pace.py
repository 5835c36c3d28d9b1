"""Seconds that the parts of a training take, measured on noise and a few images."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from unmask.config import CodecTraining, PriorTraining
from unmask.data.base import Source
from unmask.data.cache import is_prepared
from unmask.data.codes import Codes, Stamp
from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet
from unmask.data.prepare import prepare_all
from unmask.models import codec_from
from unmask.progress import say, took
from unmask.rng import generator
from unmask.storage.bundles import Part
from unmask.training.codec_task import CodecTask
from unmask.training.engine import Engine
from unmask.training.loop import Task
from unmask.training.prior_task import PriorTask
from unmask.training.train import perceptual_of

MEASURED = 3  # steps, after a first one
READ = 16  # pictures


@dataclass(frozen=True)
class Pace:
    """Seconds that a stage takes."""

    step: float
    validated: float
    """For a picture of the validation split."""
    shown: float
    """For the images of a validation."""


def reading_pace(source: Source, images: ImagesConfig) -> float:
    """Seconds for a picture to become pixels; none where that is done."""
    count = min(READ, len(source))
    if not count or is_prepared(source, images):
        return 0.0
    return took(lambda: [*prepare_all(source, images, range(count))]) / count


def codec_pace(settings: CodecTraining) -> tuple[Pace, Part]:
    """How long training a codec takes, and an untrained codec."""
    say("measuring a few steps of the codec on noise")
    size, batch = settings.images.size, settings.optim.batch
    noise = _noise(256, 2 * batch, size, size, 3).astype(np.uint8)
    train, validation = (
        PixelSet([""] * count, np.arange(count), lambda rows: noise[rows], [""] * count)
        for count in (2 * batch, batch)
    )
    task = CodecTask(
        settings,
        Engine(settings.engine),
        train,
        validation,
        perceptual=perceptual_of(settings),
        about={},
    )
    begins = settings.loss.adversarial_start if settings.loss.adversarial != "off" else 0
    return _pace(task, batch, first=begins), task.bundle(0, {}).codec


def prior_pace(settings: PriorTraining, codec: Part, size_px: int) -> tuple[Pace, float]:
    """How long training a prior takes, and the seconds in which the codec encodes a picture in one view."""
    say("measuring a few steps of the prior on noise")
    engine, network, batch = Engine(settings.engine), codec_from(codec), settings.optim.batch
    edge, K = network.config.grid(size_px), network.codebook_size
    stamp = Stamp(
        codec=codec.fingerprint,
        pixels=("", ""),
        data="",
        image_size=size_px,
        grid=(edge, edge),
        codebook_size=K,
        flips=False,
        num_train=2 * batch,
        num_validation=batch,
    )
    network = network.to(engine.device)
    task = PriorTask(
        settings,
        engine,
        Codes(stamp, _noise(K, *stamp.shape).astype(stamp.dtype)),
        codec=codec,
        decode=network.decode,
        about={},
    )
    images = torch.rand(READ, 3, size_px, size_px, generator=generator(0, "noise")).to(engine.device)
    with engine.autocast(), torch.no_grad():
        encoding = took(lambda: network.encode(images).cpu()) / READ
    return _pace(task, batch), encoding


def _pace(task: Task, num_validated: int, first: int = 0) -> Pace:
    """Seconds of steps from ``first`` on: most have a discriminator, and take longer with it."""

    def steps() -> None:
        for step in range(first + 1, first + 1 + MEASURED):
            metrics = task.step(step)
        for value in metrics.values():
            value.item()  # waits for the device

    task.step(first)
    step, validated = took(steps) / MEASURED, took(task.validate) / num_validated
    return Pace(step, validated, took(task.pictures))


def _noise(values: int, *shape: int) -> npt.NDArray[np.int64]:
    return torch.randint(values, shape, generator=generator(0, "noise")).numpy()
