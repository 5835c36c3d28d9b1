"""A training step in bfloat16 against the same step in float32, by preset; and the built-in model at work.

``--engine.precision auto`` takes bfloat16 where a processor multiplies it itself. The paper's codec stands in
``benchmarks.codec``, beside the plain one.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from benchmarks.codec import noise_set, perceptual
from benchmarks.measure import interleave, row
from unmask.codec.autoencoder import Autoencoder
from unmask.config import merge
from unmask.data.codes import Codes, Stamp
from unmask.devices import Precision, tuned_allocator
from unmask.pipeline import load
from unmask.presets import codec_preset, prior_preset
from unmask.rng import generator
from unmask.storage.bundles import Part
from unmask.training.codec_task import CodecTask
from unmask.training.config import EngineConfig
from unmask.training.engine import Engine
from unmask.training.loop import Task
from unmask.training.prior_task import PriorTask

PRECISIONS: dict[str, Precision] = {"float32": "32", "bfloat16": "bf16"}


def main() -> None:
    for preset, batch in (("tiny", 16), ("emoji", 8)):
        with tuned_allocator():
            compare("codec", preset, batch, repeats=9)
    for preset, batch, repeats in (("tiny", 32, 9), ("emoji", 16, 9), ("churches", 4, 5)):
        compare("prior", preset, batch, repeats)
    inference()


def inference(batch: int = 16, repeats: int = 9) -> None:
    """A pass of the built-in prior over half-known pictures, and its codec's encoding of as many."""
    models = {name: load("emoji", "cpu", precision=how) for name, how in PRECISIONS.items()}
    prior, codec = models["float32"].prior, models["float32"].codec
    codes = torch.randint(prior.mask_id, (batch, prior.num_positions), generator=generator(0, "codes"))
    codes[:, ::2] = prior.mask_id
    where = torch.zeros(codes.shape, dtype=torch.bool)
    where[:, ::64] = True  # four codes a step
    images = torch.rand(batch, 3, 64, 64, generator=generator(0, "images"))
    passes = {name: partial(model.sampler.denoiser, codes, where) for name, model in models.items()}
    encodings = {"float32": partial(codec.encode, images), "bfloat16": lambda: lowered(codec, images)}
    config = {"model": "emoji", "batch": batch}
    with torch.no_grad():
        for what, contestants in (("a pass of the prior", passes), ("encoding", encodings)):
            row(what, "bfloat16", interleave(contestants, repeats), baseline="float32", config=config)


def lowered(codec: Autoencoder, images: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return codec.encode(images)


def compare(stage: str, preset: str, batch: int, repeats: int) -> None:
    make = codec_task if stage == "codec" else prior_task
    tasks = {name: make(preset, batch, precision) for name, precision in PRECISIONS.items()}
    timings = interleave({name: partial(task.step, 0) for name, task in tasks.items()}, repeats)
    config = {"stage": stage, "preset": preset, "batch": batch}
    row("training step", "bfloat16", timings, baseline="float32", config=config)


def codec_task(preset: str, batch: int, precision: Precision) -> Task:
    settings = codec_preset(preset)
    settings = merge(settings, {"optim": {"batch": batch}, "images": {"flip": False}})
    pictures = noise_set(settings.images.size)
    lpips = None if settings.loss.perceptual == "off" else perceptual()
    return CodecTask(settings, engine(precision), pictures, pictures, perceptual=lpips, about={})


def prior_task(preset: str, batch: int, precision: Precision) -> Task:
    """A prior on codes of noise: 8×8 of 64 for ``tiny``, 16×16 of 512 or 1024 for the others."""
    settings, codec = merge(prior_preset(preset), {"optim": {"batch": batch}}), codec_preset(preset)
    edge = codec.codec.grid(codec.images.size)
    stamp = Stamp(
        codec="", pixels=("", ""), data="noise", image_size=codec.images.size, grid=(edge, edge),
        codebook_size=codec.codec.quantizer.codebook_size, flips=False, num_train=batch, num_validation=0,
    )  # fmt: skip
    codes = np.random.default_rng(0).integers(0, stamp.codebook_size, stamp.shape).astype(stamp.dtype)
    how = {"codec": Part({}, {}), "decode": lambda codes: codes, "about": {}}
    return PriorTask(settings, engine(precision), Codes(stamp, codes), **how)


def engine(precision: Precision) -> Engine:
    return Engine(EngineConfig(device="cpu", precision=precision))
