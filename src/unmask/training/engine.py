"""Precision and gradients across processes: the only module that uses Fabric."""

import os
import warnings
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins import Precision
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import Tensor, nn
from torch.optim import Optimizer

from unmask.devices import wants_bfloat16
from unmask.distributed import Processes
from unmask.training.config import EngineConfig


class Engine(Processes):
    """This process's precision, and gradients averaged over all processes."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(config.device)
        if config.threads:
            torch.set_num_threads(config.threads)
        local = int(os.environ.get("LOCAL_WORLD_SIZE", 1))  # torchrun says how many we are
        bfloat16 = wants_bfloat16(config.precision, self.device.type)
        self.precision = "bfloat16" if bfloat16 else "float32"
        # torch 2.13 has another name for broadcast_buffers, which torch 2.6 does not know.
        warnings.filterwarnings("ignore", ".*broadcast_buffers.*", FutureWarning)
        self._fabric = Fabric(
            accelerator=self.device.type,
            devices=local,
            num_nodes=self.world // local,
            # The discriminator runs twice before it is differentiated; broadcasting its statistics in
            # between would change tensors that the backward pass still needs.
            strategy=DDPStrategy(broadcast_buffers=False) if self.world > 1 else "auto",
            plugins=Bfloat16(self.device.type) if bfloat16 else Precision(),
        )
        self._fabric.launch()

    def setup(self, module: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Move a module to the device and wrap it for gradients averaged over processes."""
        wrapped: tuple[nn.Module, Optimizer] = self._fabric.setup(module, optimizer)
        return wrapped

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of ``loss``."""
        self._fabric.backward(loss)

    def accumulate(self, module: Any, waiting: bool) -> Any:
        """While ``waiting`` for further passes, do not synchronise gradients across processes."""
        return self._fabric.no_backward_sync(module, enabled=waiting and self.world > 1)

    def autocast(self) -> Any:
        """The precision of forward passes outside a wrapped module."""
        return self._fabric.autocast()


class Bfloat16(Precision):
    """Autocast of forward passes to bfloat16; gradients need no scaling.

    Fabric's own only differentiates outputs by its ``backward``, and rounds inputs too.
    """

    precision = "bf16-mixed"

    def __init__(self, device: str) -> None:
        self._device = device

    def forward_context(self) -> torch.autocast:
        """The context of a wrapped module's passes."""
        return torch.autocast(self._device, dtype=torch.bfloat16)
