"""The one loop: masked codes are revealed by a plan, each image at its own pace."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from unmask.errors import ConfigError
from unmask.sampling.draws import draw, gumbel_noise


class Denoiser(Protocol):
    """The one interface between network and sampler."""

    @property
    def mask_id(self) -> int:
        """The id that stands for a code not known, which is also K."""

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, N) codes with MASK and the (B, N) positions wanted to (where.sum(), K) logits, row-major."""


def fill(
    denoise: Denoiser,
    codes: Tensor,
    plan: Tensor,
    *,
    seed: int,
    first: int = 0,
    temperature: float = 1.0,
    batch: int = 16,
    on_step: Callable[[Tensor], None] | None = None,
) -> Tensor:
    """Fill every MASK of (B, N) codes, revealing each position at its step of the (B, N) plan.

    An image takes a pass only at steps that reveal something in it. Up to ``batch`` images share a pass, at
    different steps though they be, since the network knows no time; a finished one makes room for the next.
    Image i is number ``first + i`` of its request: that and the seed settle its draws. ``on_step`` sees the
    codes after every pass.
    """
    if temperature < 0:
        raise ConfigError(f"temperature {temperature} is negative; 0 is greedy, 1 is the model's own")
    codes = codes.clone()
    waiting = list(reversed(range(len(codes))))
    active: dict[int, Tensor] = {}  # image -> its noise
    while waiting or active:
        while waiting and len(active) < batch:
            image = waiting.pop()
            if (codes[image] == denoise.mask_id).any():
                active[image] = gumbel_noise(first + image, codes.shape[1], denoise.mask_id, seed=seed)
        if active:
            _reveal(denoise, codes, plan, active, temperature)
            active = {i: noise for i, noise in active.items() if (codes[i] == denoise.mask_id).any()}
            if on_step:
                on_step(codes)
    return codes


@torch.no_grad()
def _reveal(
    denoise: Denoiser, codes: Tensor, plan: Tensor, active: dict[int, Tensor], temperature: float
) -> None:
    """One pass: every active image reveals the positions of its own next step."""
    rows = torch.tensor(list(active), device=codes.device)
    current = codes[rows]
    masked = current == denoise.mask_id
    steps = torch.where(masked, plan[rows.to(plan.device)].to(codes.device), 0)  # (A, N)
    where = masked & (steps == steps.max(dim=1, keepdim=True).values)
    noise = torch.cat([noise[at.cpu()] for noise, at in zip(active.values(), where, strict=True)])
    current[where] = draw(denoise(current, where), noise, temperature)
    codes[rows] = current
