"""Optimisers, the learning rate schedule, and metrics of accumulated passes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from unmask.errors import ConfigError
from unmask.training.config import OptimConfig


def adam(parameters: Iterable[nn.Parameter], config: OptimConfig) -> Adam:
    """Adam as configured, in its fused form."""
    return Adam(parameters, lr=config.lr, betas=(config.beta1, config.beta2), fused=True)


def optimizer_of(network: nn.Module, hidden: nn.Module, config: OptimConfig) -> Optimizer:
    """The configured optimiser of all weights; Muon moves the matrices of ``hidden``, Adam the rest."""
    if config.kind == "adam":
        return adam(network.parameters(), config)
    if not hasattr(torch.optim, "Muon"):
        raise ConfigError(f"torch {torch.__version__} has no Muon", hint="pip install 'torch>=2.9,<2.14'")
    matrices = [parameter for parameter in hidden.parameters() if parameter.ndim == 2]
    theirs = set(matrices)
    # Updates of the size that Adam's have, so that one learning rate serves both.
    muon = torch.optim.Muon(
        matrices, lr=config.lr, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"
    )
    rest = [parameter for parameter in network.parameters() if parameter not in theirs]
    return Together(muon=muon, adam=adam(rest, config))


class Together(Optimizer):
    """Optimisers of different weights, as one."""

    def __init__(self, **parts: Optimizer) -> None:
        self._parts = parts
        super().__init__([group for part in parts.values() for group in part.param_groups], {})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move all weights."""
        assert closure is None, "there is none"
        for part in self._parts.values():
            part.step()

    def state_dict(self) -> dict[str, Any]:
        """The state of each, by name."""
        return {name: part.state_dict() for name, part in self._parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from ``state_dict``."""
        for name, part in self._parts.items():
            part.load_state_dict(state_dict[name])
        self.param_groups = [group for part in self._parts.values() for group in part.param_groups]


def learning_rate(config: OptimConfig, step: int, num_steps: int) -> float:
    """A linear rise over ``warmup`` steps, constant, a linear fall over the last ``cooldown``."""
    rise = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    fall = min(1.0, (num_steps - step) / config.cooldown) if config.cooldown else 1.0
    return config.lr * min(rise, fall)


def descend(optimizer: Optimizer, lr: float, clip: float) -> None:
    """One optimiser step with clipped gradients, which are then cleared."""
    for group in optimizer.param_groups:
        group["lr"] = lr
    if clip:
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def averaged(passes: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each metric over the passes of one step; it stays on the device until someone reads it."""
    return {name: torch.stack([metrics[name].detach() for metrics in passes]).mean() for name in passes[0]}
