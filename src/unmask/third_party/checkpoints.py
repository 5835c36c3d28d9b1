"""State dicts out of files that ``torch.save`` wrote, with nothing in them ever run.

torch builds tensors and plain values (``weights_only``) and refuses to look up anything else. Lightning
writes the names of its own classes beside the weights; they are read as something that holds nothing.
"""

import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

from unmask.errors import WeightsError

_LIGHTNING = ("pytorch_lightning.", "lightning.pytorch.", "lightning_fabric.")


class _Nothing:
    """Stands for a class of Lightning's: made of anything, it holds nothing and does nothing."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, _: Any) -> None:
        pass


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """The tensors of a state dict by their names; of a Lightning checkpoint, those of its ``state_dict``."""
    if not path.is_file():
        raise WeightsError(f"there is no file {path}")
    try:
        content = _load(path)
    except Exception as error:  # damaged files can make torch raise anything
        raise WeightsError(f"{path} cannot be read: {_reason(error)}") from error
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict) or not content:
        raise WeightsError(f"{path} holds no state dict")
    for key, value in content.items():
        if not isinstance(value, Tensor):
            raise WeightsError(f"{path} holds no state dict: {key} is a {type(value).__name__}, not a tensor")
    return {str(key): value for key, value in content.items()}


def _load(path: Path) -> Any:
    if not zipfile.is_zipfile(path):  # as torch wrote before 1.6
        return torch.load(path, map_location="cpu", weights_only=True)
    globals_ = get_unsafe_globals_in_checkpoint(path)
    if foreign := [name for name in globals_ if not name.startswith(_LIGHTNING)]:
        raise pickle.UnpicklingError(f"it asks for {', '.join(foreign)}, which is no part of a tensor")
    with safe_globals([(_Nothing, name) for name in globals_]):
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)


def _reason(error: Exception) -> str:
    """Why a file was refused; torch's own words go on to recommend running what is in it."""
    if found := re.search(r"GLOBAL (\S+)", str(error)):
        return f"it asks for {found[1]}, which is no part of a tensor"
    if not str(error) or str(error).startswith("Weights only load failed"):
        return "torch.save wrote no such file"
    return str(error).splitlines()[0]
