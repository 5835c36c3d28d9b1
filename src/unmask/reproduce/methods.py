"""Other methods and probes by name, as commands are: ``python -m unmask.reproduce NAME …``."""

from collections.abc import Callable

import torch
import tyro

from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.reproduce import ddpm as other
from unmask.reproduce.probes import Found, inpainting, metrics, speed, windows
from unmask.reproduce.steps import METHODS as NAMES
from unmask.reproduce.steps import PROGRAM
from unmask.rng import generator


def ddpm(
    data: str, /, *, size: int, minutes: float, count: int, seed: int = 0, validation: float = 0.05
) -> Found:
    """FID, KID and PRDC of a DDPM that was trained on ``data`` for so many minutes.

    Its samples are drawn in 50 steps, as DDIM has it: a thousand would take longer than the training.
    """
    pixels = open_pixels(open_source(data), ImagesConfig(size=size, flip=False, validation=validation))
    rng = generator(seed, "ddpm")
    network = other.unet(size, rng)
    scheduler, steps = other.train(pixels.split("train"), network, minutes, rng)
    drawn = other.sample(network, scheduler, count, size, rng)
    return {**metrics(drawn, pixels.split("validation")), "minutes": minutes, "step": steps}


_METHODS: tuple[Callable[..., Found], ...] = (speed, inpainting, windows, ddpm)
METHODS = {method.__name__: method for method in _METHODS}
assert METHODS.keys() == set(NAMES)


def run_method(words: list[str]) -> Found:
    """What a method finds, given the words of its command line; on one thread, as trainings are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return tyro.cli(METHODS[words[0]], args=words[1:], prog=f"{PROGRAM} {words[0]}")
    finally:
        torch.set_num_threads(before)
