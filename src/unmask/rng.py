"""Addressed randomness: every draw is a function of a seed and of what it is for.

Nothing here has a position in a stream that could be lost on a restart, or that could differ between one
process and eight: the address says it all. The global generators of torch, numpy and random are never used.
"""

import hashlib
import math

import torch
from torch import nn


def derive(seed: int, *address: int | str) -> int:
    """A 63-bit integer that depends on the seed and on every part of the address, and on nothing else."""
    parts = (f"{type(part).__name__}:{part}".replace("/", "//") for part in address)  # one slash parts them
    text = "/".join([str(seed), *parts])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def generator(seed: int, *address: int | str, device: torch.device | str = "cpu") -> torch.Generator:
    """A fresh generator for one use, such as ``generator(seed, "flip", step)``."""
    rng = torch.Generator(device)
    rng.manual_seed(derive(seed, *address))
    return rng


@torch.no_grad()
def initialise(module: nn.Module, rng: torch.Generator) -> None:
    """Draw torch's default weights of every convolution, linear layer and embedding again, from ``rng``.

    The modules draw them from the global generator when they are made; this makes a network a function
    of its seed. Modules with rules of their own set them afterwards.
    """
    for child in module.modules():
        if isinstance(child, nn.Conv2d | nn.Linear):
            nn.init.kaiming_uniform_(child.weight, a=math.sqrt(5), generator=rng)
            if child.bias is not None:
                bound = 1 / math.sqrt(child.weight[0].numel())
                nn.init.uniform_(child.bias, -bound, bound, generator=rng)
        elif isinstance(child, nn.Embedding):
            nn.init.normal_(child.weight, generator=rng)
