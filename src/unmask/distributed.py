"""The processes that work together: one alone, or those that torchrun started. Rank, world, device.

Imports torch only when called.
"""

import atexit
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from unmask.devices import require_device

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup

T = TypeVar("T")
PATIENCE = timedelta(days=7)  # of processes that wait for work of the first alone


class Group:
    """One process by itself, or one of several: how it shares work and agrees with the others."""

    def __init__(self, rank: int = 0, world: int = 1, channel: "ProcessGroup | None" = None) -> None:
        self.rank, self.world, self._channel = rank, world, channel

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and talks to the terminal."""
        return self.rank == 0

    def share(self, work: Callable[[range], Iterable[T]], numbers: range, batch: int) -> Iterator[T]:
        """The results of ``work`` on the numbers, ``batch`` at a time, in order; all at the first process.

        Processes take parts in turn, and may have none in the last turn. Parts are the same for any number
        of processes, so that sharing changes no result. The other processes get nothing.
        """
        parts = [numbers[start : start + batch] for start in range(0, len(numbers), batch)]
        for turn in range(0, len(parts), self.world):
            mine = parts[turn : turn + self.world][self.rank : self.rank + 1]
            made = (item for part in mine for item in work(part))
            yield from made if self.world == 1 else self._gathered(list(made))

    def _gathered(self, made: list[T]) -> Iterator[T]:
        """The results of all processes, in the order of their ranks; only at the first."""
        from torch import distributed as dist

        lists: list[list[T]] = [[] for _ in range(self.world if self.is_first else 0)]
        dist.gather_object(made, lists or None, group=self._channel)
        return (item for one in lists for item in one)

    def agreed(self, find: Callable[..., T], *arguments: Any) -> T:
        """The first process's result, at all of them; only the first computes it."""
        found = [find(*arguments) if self.is_first else None]
        if self.world > 1:
            from torch import distributed as dist

            dist.broadcast_object_list(found, src=0, group=self._channel)
        return found[0]  # type: ignore[return-value]

    def sum(self, value: "Tensor") -> "Tensor":
        """The sum of a tensor over all processes, on the device that it came from."""
        if self.world == 1:
            return value
        from torch import distributed as dist

        total = value.clone()
        dist.all_reduce(total, group=None if value.is_cuda else self._channel)
        return total

    def broadcast(self, value: "Tensor") -> None:
        """Overwrite ``value`` in place with the first process's."""
        if self.world > 1:
            from torch import distributed as dist

            dist.broadcast(value, src=0, group=None if value.is_cuda else self._channel)

    def largest(self, value: int) -> int:
        """The largest value of any process."""
        if self.world == 1:
            return value
        import torch
        from torch import distributed as dist

        common = torch.tensor(value)
        dist.all_reduce(common, dist.ReduceOp.MAX, group=self._channel)
        return int(common)

    @contextmanager
    def first_goes_first(self) -> Iterator[None]:
        """Run the block at the first process, and then at the others, which find its work done."""
        if not self.is_first:
            self.barrier()
        yield
        if self.is_first:
            self.barrier()

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.world > 1:
            from torch import distributed as dist

            dist.barrier(group=self._channel)


ALONE = Group()


class Processes(Group):
    """This process among those that torchrun started, or alone: where it computes, too."""

    def __init__(self, device: str = "auto") -> None:
        super().__init__(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))
        import torch
        from torch import distributed as dist

        self.device = require_device(device)
        if self.device == torch.device("cuda"):  # without an index
            self.device = require_device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
        if self.world > 1:
            if not dist.is_initialized():
                gpu = self.device if self.device.type == "cuda" else None
                dist.init_process_group("nccl" if gpu else "gloo", device_id=gpu)
                atexit.register(dist.destroy_process_group)
            # Gradients go from GPU to GPU. All else takes a channel that waits for no GPU, with a timeout
            # long enough for work of the first process alone.
            self._channel = dist.new_group(backend="gloo", timeout=PATIENCE)
