"""A running average of the weights: what is validated, saved and sampled from."""

import copy
from typing import Any, Generic, TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


class Ema(Generic[M]):
    """``average ← d·average + (1 − d)·weights``, where d rises to ``decay`` as updates come in.

    At update n, d = min(decay, (1 + n) / (10 + n)): the random start is forgotten within a few updates
    instead of lingering for 1 / (1 − decay) of them.
    """

    def __init__(self, module: M, decay: float) -> None:
        self.module = copy.deepcopy(module)
        self.module.eval().requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, module: M) -> None:
        """Move the average towards ``module``; buffers are copied."""
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for average, weight in zip(self.module.parameters(), module.parameters(), strict=True):
            average.lerp_(weight, 1 - decay)
        for own, buffer in zip(self.module.buffers(), module.buffers(), strict=True):
            own.copy_(buffer)
        self.updates += 1

    def state(self) -> dict[str, Any]:
        """The state to resume from."""
        return {"module": self.module.state_dict(), "updates": self.updates}

    def load(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        self.module.load_state_dict(state["module"])
        self.updates = state["updates"]
