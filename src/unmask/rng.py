"""Addressed randomness: every draw is a function of a seed and of what it is for.

Nothing here has a position in a stream that could be lost on a restart, or that could differ between one
process and eight: the address says it all. The global generators of torch, numpy and random are never used.
"""

import hashlib
import math

import torch
from torch import Tensor, nn

STEP = 0x9E3779B97F4A7C15 - 2**64  # of SplitMix64's counter: 2⁶⁴ divided by the golden ratio
LARGEST = 2.0**63 - 2.0**39  # the last float32 below 2⁶³


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


def hashed(key: int, *address: Tensor) -> Tensor:
    """int64 of 64 random bits for a key and each address: the same integers on every device.

    The parts of an address are integers on one device that broadcast with each other. Each turns what came
    before it into the seed of a SplitMix64 generator (Steele, Lea and Flood, 2014), of which it is the
    number of the output; so the work of all but the last part is that of their own shapes.
    """
    state: int | Tensor = key
    for number in address:
        state = _mix(number * STEP + state)
    assert isinstance(state, Tensor), "an address has at least one part"
    return state


def _mix(z: Tensor) -> Tensor:
    """SplitMix64's finaliser, a bijection of 64 bits; products wrap, and shifts bring in zeros."""
    z = (z ^ z >> 30 & 2**34 - 1) * (0xBF58476D1CE4E5B9 - 2**64)
    z = (z ^ z >> 27 & 2**37 - 1) * (0x94D049BB133111EB - 2**64)
    return z ^ z >> 31 & 2**33 - 1


def integers(seed: int, use: str, *address: Tensor) -> Tensor:
    """int64 in [0, 2⁶³) for each address of a use."""
    return hashed(derive(seed, use), *address) & 2**63 - 1


def uniform(seed: int, use: str, *address: Tensor) -> Tensor:
    """float32 in (0, 1) for each address of a use, as fine near 0 as float32 is: down to 2⁻⁶⁴."""
    return integers(seed, use, *address).float().clamp(0.5, LARGEST) * 2.0**-63


def gumbel(seed: int, use: str, *address: Tensor) -> Tensor:
    """Standard Gumbel noise in float32 for each address of a use.

    Large values decide what is drawn, and come of small uniform numbers, which are fine: none is cut off
    below 44. Those of evenly spaced float32 numbers end at 17, which lowers the effective temperature.
    """
    return -(-torch.log1p(-uniform(seed, use, *address))).log()


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
