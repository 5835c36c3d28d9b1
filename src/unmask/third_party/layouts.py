"""Other people's weight files -> tensors under our names.

Ours are TensorFlow's names for Inception; ``trunk`` with torchvision's numbers for the convolutions of VGG16
and AlexNet, and ``heads`` for the linear layers of LPIPS.
"""

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from unmask.errors import WeightsError
from unmask.third_party import pickles


def read(file: str, content: bytes) -> dict[str, Tensor]:
    """The tensors of a weight file under our names; the ending of ``file`` says of what kind it is."""
    reader = _READERS.get(Path(file).suffix)
    if reader is None:
        raise WeightsError(f"{file} is of no kind that can be read ({', '.join(_READERS)})")
    try:
        return under_our_names(reader(content))
    except Exception as error:  # damaged files can make readers raise anything
        raise WeightsError(f"{file} cannot be read: {error}") from error


_READERS: dict[str, Callable[[bytes], dict[str, Tensor]]] = {
    ".ckpt": pickles.read_numpy,
    ".pt": pickles.read_torchscript,
    ".pth": lambda content: dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)),
    ".safetensors": safetensors.torch.load,
}


def under_our_names(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of any upstream layout under our names, without what we have no use for."""
    ours = {}
    for key, tensor in tensors.items():
        matches = ((rule, re.fullmatch(pattern, key)) for pattern, rule in _RULES.items())
        rule, match = next(((rule, match) for rule, match in matches if match), (None, None))
        if rule is None or match is None:
            raise ValueError(f"it holds {key!r}, which is no part of the networks known here")
        ours.update({name: value.contiguous() for name, value in rule(match, tensor).items()})
    return ours


def _head(match: re.Match[str], tensor: Tensor) -> dict[str, Tensor]:
    return {f"heads.{match[1]}": tensor.flatten()}


_FEATURES = {"VGG16": (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28), "AlexNet": (0, 3, 6, 8, 10)}


def _flax(match: re.Match[str], tensor: Tensor) -> dict[str, Tensor]:
    """A convolution in Flax's layout, height and width first, under torchvision's number."""
    network, index, part = match.groups()
    name = f"trunk.{_FEATURES[network][int(index)]}"
    return {f"{name}.bias": tensor} if part == "bias" else {f"{name}.weight": tensor.permute(3, 2, 0, 1)}


def _torchscript(match: re.Match[str], tensor: Tensor) -> dict[str, Tensor]:
    """TensorFlow's names, but that the last two blocks say tower_1_mixed_conv for tower_1/mixed/conv."""
    nested = re.sub(r"(tower(?:_\d)?)_(?=mixed|conv)", r"\1.", match[1]).replace("mixed_conv", "mixed.conv")
    return {nested: tensor}


_STEM = {"1a_3x3": "conv", "2a_3x3": "conv_1", "2b_3x3": "conv_2", "3b_1x1": "conv_3", "4a_3x3": "conv_4"}
_BLOCKS = ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e", "7a", "7b", "7c")
_BRANCHES = {  # of the blocks whose names begin so, the first that fits
    "5": {"1x1": "", "5x5": "tower.", "3x3dbl": "tower_1.", "_pool": "tower_2."},
    "6a": {"3x3": "", "3x3dbl": "tower."},
    "6": {"1x1": "", "7x7": "tower.", "7x7dbl": "tower_1.", "_pool": "tower_2."},
    "7a": {"3x3": "tower.", "7x7x3": "tower_1."},
    "7": {"1x1": "", "3x3": "tower.", "3x3dbl": "tower_1.", "_pool": "tower_2."},
}
_PLACES: dict[str | None, str] = {
    **{None: "conv", "1": "conv", "2": "conv_1", "3": "conv_2", "4": "conv_3", "5": "conv_4"},
    **{"2a": "mixed.conv", "2b": "mixed.conv_1", "3a": "mixed.conv", "3b": "mixed.conv_1"},
}
_PARTS = {"conv.weight": "weight", "bn.bias": "beta", "bn.running_mean": "mean", "bn.running_var": "var"}


def _stem(match: re.Match[str], tensor: Tensor) -> dict[str, Tensor]:
    stem, part = match.groups()
    return {f"{_STEM[stem]}.{_PARTS[part]}": tensor}


def _block(match: re.Match[str], tensor: Tensor) -> dict[str, Tensor]:
    block, branch, place, part = match.groups()
    mixed = f"mixed_{_BLOCKS.index(block)}".removesuffix("_0")
    tower = next(towers for start, towers in _BRANCHES.items() if block.startswith(start))[branch]
    return {f"{mixed}.{tower}{_PLACES[place]}.{_PARTS[part]}": tensor}


def _unit_scale(match: re.Match[str], tensor: Tensor) -> dict[str, Tensor]:
    """Nothing: the 2015 Inception does not scale after normalising, and its files say so with ones."""
    if not (tensor == 1).all():
        raise ValueError(f"{match[0]} is not 1, so this is not the Inception of 2015-12-05")
    return {}


_RULES: dict[str, Callable[[re.Match[str], Tensor], dict[str, Tensor]]] = {
    r"(trunk|heads|conv|mixed)[\w.]*": lambda match, tensor: {match[0]: tensor},
    r"classifier\..*|fc\..*|.*\.num_batches_tracked": lambda match, tensor: {},  # of no use
    r"features\.(\d+\.(?:weight|bias))": lambda match, tensor: {f"trunk.{match[1]}": tensor},  # torchvision
    r"lin(\d)\.model\.1\.weight": _head,  # the lpips package
    r"NetLinLayer_(\d)/Conv_0/kernel": _head,
    r"(VGG16|AlexNet)_0/Conv_(\d+)/(kernel|bias)": _flax,
    r"net\.layers\.(.*)": _torchscript,
    r".*\.bn\.weight": _unit_scale,  # pytorch-fid and torch-fidelity, as are the next two
    r"Conv2d_(\w+)\.((?:conv|bn)\.\w+)": _stem,
    r"Mixed_(\w+)\.branch(_pool|\d+x\d+x?\w*?)(?:_(\d[ab]?))?\.((?:conv|bn)\.\w+)": _block,
}
