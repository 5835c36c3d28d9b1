"""Draws from logits, addressed by (seed, image, position): the same whatever batch an image rides in."""

import torch
from torch import Tensor

from unmask.rng import generator


def gumbel_noise(image: int, num_positions: int, num_codes: int, *, seed: int) -> Tensor:
    """(N, K) standard Gumbel noise of one image, float64.

    In float32 the largest values that noise can take are cut off, which lowers the effective temperature.
    """
    rng = generator(seed, "draw", image)
    uniform = torch.empty(num_positions, num_codes, dtype=torch.float64)
    return -uniform.exponential_(generator=rng).log()


def draw(logits: Tensor, noise: Tensor, temperature: float) -> Tensor:
    """(n, K) logits and noise to (n,) codes distributed as softmax(logits / temperature); 0 is greedy."""
    if temperature == 0:
        return logits.argmax(1)
    return (logits.double() / temperature + noise.to(logits.device)).argmax(1)
