"""A DDPM, what a user might train instead: diffusers' UNet2DModel and its usual training loop."""

import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unmask.data.pixels import PixelSet
from unmask.data.transforms import Pixels8, to_pixels, to_tensor
from unmask.errors import ConfigError
from unmask.progress import bar
from unmask.rng import initialise

BATCH = 32
STEPS = 1000
SHORT = 50  # steps that samples are drawn in, as DDIM has it


def diffusers() -> Any:
    """The package."""
    # Without its compiled operators torchvision, where there is one, fails at this; here none is needed.
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("absent"))
    try:
        import diffusers
    except ImportError:
        raise ConfigError("a DDPM takes diffusers", hint="pip install 'unmask[reproduce]'") from None
    return diffusers


def unet(size_px: int, rng: torch.Generator) -> Any:
    """A small UNet, 1.1M parameters, for pictures of that size."""
    network = diffusers().UNet2DModel(
        sample_size=size_px,
        block_out_channels=(32, 64, 64),
        layers_per_block=1,
        norm_num_groups=8,
        attention_head_dim=16,
        down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
    )
    initialise(network, rng)
    return network


def train(pixels: PixelSet, network: Any, minutes: float, rng: torch.Generator) -> tuple[Any, int]:
    """Train by Adam on the squared error of the noise; its scheduler, and how many steps it took."""
    scheduler, optimizer = diffusers().DDIMScheduler(STEPS), torch.optim.Adam(network.parameters(), lr=1e-3)
    start, seconds = time.perf_counter(), 60 * minutes
    with bar("training a DDPM", unit="seconds") as report:
        for step, images in enumerate(_batches(pixels, rng)):
            if (passed := time.perf_counter() - start) >= seconds:
                return scheduler, step
            report(passed, round(seconds) + 1)
            noise = torch.randn(images.shape, generator=rng)
            times = torch.randint(STEPS, (len(images),), generator=rng)
            predicted = network(scheduler.add_noise(images, noise, times), times).sample
            optimizer.zero_grad()
            torch.autograd.backward(torch.nn.functional.mse_loss(predicted, noise))
            optimizer.step()
    raise AssertionError("there is always another batch")


def _batches(pixels: PixelSet, rng: torch.Generator) -> Iterator[Tensor]:
    """Random pictures in [−1, 1]."""
    while True:
        rows = torch.randint(len(pixels), (BATCH,), generator=rng).numpy()
        yield 2 * to_tensor(pixels.read(rows)) - 1


@torch.no_grad()
def sample(network: Any, scheduler: Any, count: int, size_px: int, rng: torch.Generator) -> Pixels8:
    """(count, S, S, 3) pictures."""
    scheduler.set_timesteps(SHORT)
    parts = []
    with bar("sampling a DDPM") as report:
        for first in range(0, count, BATCH):
            report(first, count)
            x = torch.randn(min(BATCH, count - first), 3, size_px, size_px, generator=rng)
            for step in scheduler.timesteps:
                x = scheduler.step(network(x, step).sample, step, x).prev_sample
            parts.append(to_pixels((x + 1) / 2))
    return np.concatenate(parts)


@torch.no_grad()
def denoise(network: Any, x: Tensor, steps: int) -> None:
    """Some steps of the chain, for their time alone."""
    for step in range(steps):
        x = x - 0.01 * network(x, STEPS - 1 - step).sample
