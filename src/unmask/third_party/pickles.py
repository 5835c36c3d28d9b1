"""Tensors out of pickles, with nothing in the pickles ever run.

A pickle is a program. Those read here go through an unpickler that knows how to build arrays, by name, and
refuses everything else.
"""

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


class _Unpickler(pickle.Unpickler):
    """Builds what it knows by name; a pickle that asks for anything else is refused."""

    def __init__(self, content: bytes, known: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._known = known

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in self._known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no part of an array")
        return self._known[f"{module}.{name}"]


_NUMPY = {
    "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0],  # where it lives differs by version
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
}


def read_numpy(content: bytes) -> dict[str, Tensor]:
    """The arrays of a pickle of nested dictionaries, their keys joined by slashes."""
    tree = _Unpickler(content, _NUMPY).load()
    leaves = _leaves(tree, lambda node: node.items() if isinstance(node, dict) else None)
    return {"/".join(keys): torch.from_numpy(array) for keys, array in leaves}


def read_torchscript(content: bytes) -> dict[str, Tensor]:
    """The parameters and buffers of a TorchScript archive, named as ``state_dict`` names them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        tree = _TorchScriptUnpickler(archive).load()
    leaves = _leaves(tree, lambda node: vars(node).items() if isinstance(node, _Node) else None)
    return {".".join(keys): leaf for keys, leaf in leaves if isinstance(leaf, Tensor)}


class _Node:
    """A module of a TorchScript archive without its code: only what it holds."""


class _TorchScriptUnpickler(_Unpickler):
    """Rebuilds the tree of modules in a TorchScript archive as bare nodes; its code is never opened."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._root = archive.namelist()[0].partition("/")[0]
        known = {
            "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
            "torch.FloatStorage": np.dtype("<f4"),
            "torch.jit._pickle.build_intlist": list,
            "collections.OrderedDict": OrderedDict,
        }
        super().__init__(archive.read(f"{self._root}/data.pkl"), known)

    def find_class(self, module: str, name: str) -> Any:
        return _Node if module.startswith("__torch__.") else super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Tensor:
        _, dtype, key, _, _ = pid  # "storage", type of its elements, name of its file, device, length
        content = bytearray(self._archive.read(f"{self._root}/data/{key}"))  # writable, as torch wants it
        return torch.from_numpy(np.frombuffer(content, dtype))


def _rebuild_tensor(storage: Tensor, offset: int, size: Any, stride: Any, *_: Any) -> Tensor:
    return storage.as_strided(size, stride, offset)


def _leaves(
    node: Any, children: Callable[[Any], Iterable[tuple[str, Any]] | None]
) -> Iterator[tuple[list[str], Any]]:
    """Every leaf below a node with the keys that lead to it; ``children`` of a leaf are None."""
    below = children(node)
    if below is None:
        yield [], node
        return
    for key, child in below:
        for keys, leaf in _leaves(child, children):
            yield [key, *keys], leaf
