"""Device, precision and processes, behind one object: the only place that knows Fabric."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins import Precision
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import Tensor, nn
from torch.optim import Optimizer

from unmask.devices import require_device
from unmask.training.config import EngineConfig

PATIENCE = timedelta(days=7)  # of processes that wait while the first prepares pictures or encodes them


class Engine:
    """One process's share of a training: where its tensors live and how it agrees with the others."""

    def __init__(self, config: EngineConfig) -> None:
        device = require_device(config.device).type
        if config.threads:
            torch.set_num_threads(config.threads)
        local = int(os.environ.get("LOCAL_WORLD_SIZE", 1))  # torchrun says how many we are
        world = int(os.environ.get("WORLD_SIZE", 1))
        bfloat16 = wants_bfloat16(config.precision, device)
        self.precision = "bfloat16" if bfloat16 else "float32"
        # torch 2.13 has another name for broadcast_buffers, which torch 2.6 does not know.
        warnings.filterwarnings("ignore", ".*broadcast_buffers.*", FutureWarning)
        self._fabric = Fabric(
            accelerator=device,
            devices=local,
            num_nodes=world // local,
            # The discriminator runs twice before it is differentiated; broadcasting its statistics in
            # between would change tensors that the backward pass still needs.
            strategy=DDPStrategy(broadcast_buffers=False) if world > 1 else "auto",
            plugins=Bfloat16(device) if bfloat16 else Precision(),
        )
        self._fabric.launch()
        # Gradients go from GPU to GPU. What else there is to say goes another way, on which nobody waits for
        # a GPU, and everybody for as long as the first one works.
        self._talk = torch.distributed.new_group(backend="gloo", timeout=PATIENCE) if world > 1 else None

    @property
    def device(self) -> torch.device:
        """Where this process computes."""
        return self._fabric.device

    @property
    def rank(self) -> int:
        """This process's number among ``world``."""
        return self._fabric.global_rank

    @property
    def world(self) -> int:
        """How many processes train together."""
        return self._fabric.world_size

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and talks to the terminal."""
        return self._fabric.is_global_zero

    def setup(self, module: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Optimizer]:
        """Move a module to the device and make its gradients common to all processes."""
        wrapped: tuple[nn.Module, Optimizer] = self._fabric.setup(module, optimizer)
        return wrapped

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of ``loss``."""
        self._fabric.backward(loss)

    @contextmanager
    def accumulate(self, module: Any, waiting: bool) -> Iterator[None]:
        """While ``waiting`` for further passes, keep gradients from being sent to the other processes."""
        with self._fabric.no_backward_sync(module, enabled=waiting and self.world > 1):
            yield

    def autocast(self) -> Any:
        """The precision of forward passes outside a wrapped module."""
        return self._fabric.autocast()

    def sum(self, value: Tensor) -> Tensor:
        """The sum of a tensor over all processes, on the device that it came from."""
        if self.world == 1:
            return value
        total = value.clone()
        torch.distributed.all_reduce(total, group=None if value.is_cuda else self._talk)
        return total

    def share(self, value: Tensor) -> None:
        """Overwrite ``value`` in place with the first process's."""
        if self.world > 1:
            torch.distributed.broadcast(value, src=0)

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process."""
        return flag if self.world == 1 else bool(self.sum(torch.tensor(float(flag))) > 0)

    @contextmanager
    def first_goes_first(self) -> Iterator[None]:
        """Let the first process do the work of the block; the others then find it done."""
        if not self.is_first:
            self.barrier()
        yield
        if self.is_first:
            self.barrier()

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.world > 1:
            torch.distributed.barrier(group=self._talk)


class Bfloat16(Precision):
    """Forward passes in bfloat16, and nothing else: its gradients need no scaling.

    Fabric's own forbids to differentiate outputs but by its ``backward``, and rounds inputs, too.
    """

    precision = "bf16-mixed"

    def __init__(self, device: str) -> None:
        self._device = device

    def forward_context(self) -> torch.autocast:
        """What the passes of a wrapped module run in."""
        return torch.autocast(self._device, dtype=torch.bfloat16)


def wants_bfloat16(precision: str, device: str) -> bool:
    """Whether to compute in bfloat16; auto: where the device multiplies it itself instead of emulating it."""
    if precision != "auto":
        return precision == "bf16"
    on_gpu = device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return on_gpu or (device == "cpu" and torch.cpu._is_avx512_bf16_supported())
