"""Tensors on disk: a safetensors file, and as JSON whatever plain values stand around them.

A training's state is a tree of dicts, lists, tuples and plain values with tensors at its leaves.
``flatten`` parts the tensors from the tree and ``rebuild`` joins them again, so no pickle is ever needed.
``save`` and ``load`` keep both in a folder, ``state.safetensors`` and ``state.json``, each under a checksum.
"""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from unmask.reading import DamagedError, parsing, read_json
from unmask.storage.seals import digest, sealed, unsealed

TENSORS, TREE = OURS = ("state.safetensors", "state.json")
PLAIN = (str, int, float, bool, type(None))


def write(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Put the tensors into one safetensors file, each by itself even where they share memory."""
    packed = torch.contiguous_format
    own = {name: leaf.detach().to("cpu", copy=True, memory_format=packed) for name, leaf in tensors.items()}
    save_file(own, path)


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file, on the CPU, mapped from the disk rather than copied."""
    try:
        return load_file(path)
    except RuntimeError as error:  # torch raises this for a file that cannot be opened or mapped
        raise OSError(str(error)) from error


def save(
    folder: Path, about: dict[str, Any], skeleton: dict[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Put what ``flatten`` made of a state into ``folder``, with ``format`` and ``step`` about it."""
    write(folder / TENSORS, tensors)
    content = about | {"sha256": digest(folder / TENSORS), "state": skeleton}
    (folder / TREE).write_text(json.dumps(sealed(content)))


def load(folder: Path) -> tuple[dict[str, Any], Any]:
    """What was saved with a state, and the state; DamagedError if a checksum differs."""
    older = ("format", "step", "sha256", "state")
    with parsing():
        content = unsealed(read_json(folder / TREE), older)
        if content.pop("sha256") != digest(folder / TENSORS):
            raise DamagedError(f"{TENSORS} is not the file that was saved")
        return content, rebuild(content.pop("state"), read(folder / TENSORS))


def num_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes that the tensors take on the disk, without headers."""
    return sum(tensor.nbytes for tensor in tensors)


def are_finite(state: Any) -> bool:
    """Whether every number in the tensors of ``state`` is finite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in flatten(state)[1].values())


def flatten(state: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The JSON that describes ``state``, and its tensors by their paths, those of one memory only once."""
    tensors: dict[str, Tensor] = {}
    names: dict[Any, str] = {}

    def fold(value: Any, path: str) -> Any:
        if isinstance(value, Tensor):
            name = names.setdefault(_memory(value), _unused(path, tensors))
            tensors.setdefault(name, value)
            return {"tensor": name}
        if isinstance(value, Mapping):
            assert all(type(key) in (str, int) for key in value), f"{path}: keys are words or integers"
            return {"dict": [[key, fold(item, f"{path}/{key}")] for key, item in value.items()]}
        if type(value) in (list, tuple):
            items = [fold(item, f"{path}/{index}") for index, item in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        assert type(value) in PLAIN, f"{path} is of type {type(value).__name__}, which has no place in a file"
        return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value

    tree = fold(state, "")
    return {"tree": tree, "strides": {name: _stride(tensor) for name, tensor in tensors.items()}}, tensors


def rebuild(skeleton: dict[str, Any], tensors: Mapping[str, Tensor]) -> Any:
    """The state that ``flatten`` parted: mappings as dicts, tensors as their ``clone()`` on the CPU.

    ValueError, KeyError or TypeError says that skeleton and tensors do not belong together.
    """
    strides = skeleton["strides"]
    if strides.keys() != tensors.keys():
        raise ValueError(f"tensors missing or surplus: {sorted(strides.keys() ^ tensors.keys())}")
    # Copied, for memory as aligned as torch's own: matrix products may round otherwise elsewhere.
    own = {name: _strided(tensor, strides[name]) for name, tensor in tensors.items()}

    def unfold(node: Any) -> Any:
        match node:
            case {"tensor": name}:
                return own[name]
            case {"dict": pairs}:
                return {key: unfold(item) for key, item in pairs}
            case {"tuple": items}:
                return tuple(map(unfold, items))
            case {"float": text}:
                return float(text)
            case list():
                return list(map(unfold, node))
        if type(node) not in PLAIN:
            raise ValueError(f"unknown kind of value: {node}")
        return node

    return unfold(skeleton["tree"])


def _memory(tensor: Tensor) -> Any:
    """Equal for tensors that are one and the same memory, seen in the same way."""
    return tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def _unused(path: str, names: Mapping[str, Tensor]) -> str:
    """The path itself, unless a key with a slash in it made the same one."""
    return path if path not in names else _unused(f"{path}'", names)


def _stride(tensor: Tensor) -> tuple[int, ...]:
    """The strides that a clone has: channels_last and transposes are kept, gaps and repeats are not."""
    return torch.empty_like(tensor, device="meta").stride()


def _strided(tensor: Tensor, stride: list[int]) -> Tensor:
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype).copy_(tensor)
