"""Processes that work together, as threads of one: what they tell each other without torchrun's seconds."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

import torch
from torch import Tensor

from unmask.distributed import Group

T = TypeVar("T")


class Thread(Group):
    """One of several that exchange values by a list that they share."""

    def __init__(self, rank: int, given: list[Any], wait: Barrier) -> None:
        super().__init__(rank, len(given))
        self._given, self._wait = given, wait

    def _all(self, value: Any) -> list[Any]:
        self._given[self.rank] = value
        self._wait.wait()
        values = list(self._given)
        self._wait.wait()
        return values

    def sum(self, value: Tensor) -> Tensor:
        return torch.stack(self._all(value)).sum(0)

    def agreed(self, find: Callable[..., T], *arguments: Any) -> T:
        value: T = self._all(find(*arguments) if self.is_first else None)[0]
        return value

    def barrier(self) -> None:
        self._all(None)

    def _gathered(self, made: list[T]) -> Iterator[T]:
        lists = self._all(made)
        return (item for one in lists for item in one) if self.is_first else iter(())


def together(world: int, work: Callable[[Group], T]) -> list[T]:
    """What ``work`` returns in each of so many processes."""
    given, wait = [None] * world, Barrier(world, timeout=60)

    def one(rank: int) -> T:
        try:
            return work(Thread(rank, given, wait))
        except BaseException:
            wait.abort()  # as torchrun ends the others
            raise

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(one, range(world)))
