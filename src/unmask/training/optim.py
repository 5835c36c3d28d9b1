"""Optimisers and the learning rate over time."""

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import Adam, Optimizer

from unmask.training.config import OptimConfig


def adam(parameters: Iterable[nn.Parameter], config: OptimConfig) -> Adam:
    """Adam as configured, in its fused form."""
    return Adam(parameters, lr=config.lr, betas=(config.beta1, config.beta2), fused=True)


def learning_rate(config: OptimConfig, step: int, num_steps: int) -> float:
    """A linear rise over ``warmup`` steps, constant, a linear fall over the last ``cooldown``."""
    rise = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    fall = min(1.0, (num_steps - step) / config.cooldown) if config.cooldown else 1.0
    return config.lr * min(rise, fall)


def descend(optimizer: Optimizer, lr: float, clip: float) -> None:
    """One step of the optimiser along the gradients there are, which are then forgotten."""
    for group in optimizer.param_groups:
        group["lr"] = lr
        if clip:
            torch.nn.utils.clip_grad_norm_(group["params"], clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
