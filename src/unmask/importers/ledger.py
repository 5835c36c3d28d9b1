"""Accounts for every tensor of a foreign file: taken, left aside, or unexpected."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from unmask.errors import WeightsError

SHOWN = 8  # names of one kind in a message


class Ledger:
    """The tensors of a file under foreign names, taken one by one until none is left."""

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        self.path = path
        self._tensors = dict(tensors)
        self._left = set(tensors)
        self._missing: list[str] = []
        self._misshapen: list[str] = []

    def matches(self, pattern: str) -> list[re.Match[str]]:
        """The names that begin as the pattern says."""
        return [match for name in self._tensors if (match := re.match(pattern, name))]

    def size(self, *places: tuple[str, int]) -> int:
        """The length that most of these (name, axis) have.

        So sizes come from the tensors, and a misshapen one is still recognised.
        """
        found = [
            self._tensors[name].shape[axis]
            for name, axis in places
            if name in self._tensors and self._tensors[name].ndim > axis
        ]
        if not found:
            raise WeightsError(f"{self.path} is of another layout: it lacks {places[0][0]}")
        return Counter(found).most_common(1)[0][0]

    def take(self, name: str, shape: Sequence[int]) -> Tensor:
        """The tensor of that name as float32; where it is missing or misshapen, ``close`` will say so."""
        tensor = self._tensors.get(name)
        self._left.discard(name)
        if tensor is None:
            self._missing.append(name)
        elif tensor.shape != torch.Size(shape):
            self._misshapen.append(f"{name} is {tuple(tensor.shape)}, not {tuple(shape)}")
        else:
            return tensor.float()
        return torch.zeros(tuple(shape))

    def leave(self, *patterns: str) -> None:
        """Leave aside what we have no use for: names that are wholly as one of the patterns says."""
        self._left = {name for name in self._left if not any(re.fullmatch(p, name) for p in patterns)}

    def close(self) -> None:
        """Refuse the file unless every tensor that was wanted was there, and no other."""
        faults = {
            "lacks": self._missing,
            "holds unknown": sorted(self._left),
            "does not fit:": self._misshapen,
        }
        sentences = [f"{verb} {_listed(names)}" for verb, names in faults.items() if names]
        if sentences:
            raise WeightsError(f"{self.path} {'; it '.join(sentences)}")


def translate(
    ledger: Ledger, wanted: Mapping[str, Sequence[int]], theirs: Callable[[str], Iterable[str]]
) -> dict[str, Tensor]:
    """Tensors under our names, each joined along its first axis from those that ``theirs`` names."""
    ours = {}
    for name, (length, *rest) in wanted.items():
        names = tuple(theirs(name))
        ours[name] = torch.cat([ledger.take(one, (length // len(names), *rest)) for one in names])
    return ours


def shapes(make: Callable[[], nn.Module]) -> dict[str, torch.Size]:
    """Names and shapes of a network's weights, without room for them."""
    with torch.device("meta"):
        return {name: tensor.shape for name, tensor in make().state_dict().items()}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
