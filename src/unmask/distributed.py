"""The processes that work together: one alone, or those that torchrun started. Rank, world, device."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch import Tensor
from torch import distributed as dist

from unmask.devices import require_device

PATIENCE = timedelta(days=7)  # of processes that wait while the first prepares pictures or encodes them


class Processes:
    """This process among those that work together: where it computes and how it agrees with the others."""

    def __init__(self, device: str = "auto") -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))
        self.device = require_device(device)
        if self.device == torch.device("cuda"):  # which of several is not said
            self.device = require_device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
        self._group = None
        if self.world > 1:
            if not dist.is_initialized():
                gpu = self.device if self.device.type == "cuda" else None
                dist.init_process_group("nccl" if gpu else "gloo", device_id=gpu)
                atexit.register(dist.destroy_process_group)
            # Gradients go from GPU to GPU. What else there is to say goes another way, on which nobody waits
            # for a GPU, and everybody for as long as the first one works.
            self._group = dist.new_group(backend="gloo", timeout=PATIENCE)

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and talks to the terminal."""
        return self.rank == 0

    def sum(self, value: Tensor) -> Tensor:
        """The sum of a tensor over all processes, on the device that it came from."""
        if self.world == 1:
            return value
        total = value.clone()
        dist.all_reduce(total, group=None if value.is_cuda else self._group)
        return total

    def broadcast(self, value: Tensor) -> None:
        """Overwrite ``value`` in place with the first process's."""
        if self.world > 1:
            dist.broadcast(value, src=0, group=None if value.is_cuda else self._group)

    def largest(self, value: int) -> int:
        """The largest value of any process."""
        common = torch.tensor(value)
        if self.world > 1:
            dist.all_reduce(common, dist.ReduceOp.MAX, group=self._group)
        return int(common)

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
            dist.barrier(group=self._group)
