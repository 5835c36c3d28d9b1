"""LPIPS: how different two pictures look, by the features of a network (Zhang et al. 2018, version 0.1)."""

from typing import Literal

import torch
from torch import Tensor, nn

from unmask.codec.blocks import channels_last

_COMPARED = {"vgg": (3, 8, 15, 22, 29), "alex": (1, 4, 7, 9, 11)}  # layers of the trunk
_WIDTHS = {"vgg": (64, 128, 256, 512, 512), "alex": (64, 192, 384, 256, 256)}  # their channels


class Perceptual(nn.Module):
    """LPIPS with VGG16 or AlexNet inside: frozen, and the same in training and evaluation.

    Its state is ``weights.require("lpips-vgg")``, or alex; until that is loaded, all distances are NaN.
    """

    shift: Tensor
    scale: Tensor

    def __init__(self, net: Literal["vgg", "alex"]) -> None:
        super().__init__()
        self.compared = _COMPARED[net]
        with torch.device("meta"):  # weights that are always loaded need not be drawn first
            trunk = _vgg() if net == "vgg" else _alex()
        self.trunk = trunk.to_empty(device="cpu")
        self.heads = nn.ParameterList(torch.empty(width) for width in _WIDTHS[net])
        self.register_buffer("shift", torch.tensor([-0.030, -0.088, -0.188]).view(3, 1, 1), persistent=False)
        self.register_buffer("scale", torch.tensor([0.458, 0.448, 0.450]).view(3, 1, 1), persistent=False)
        for parameter in self.parameters():
            nn.init.constant_(parameter, torch.nan)
        self.requires_grad_(False)
        channels_last(self)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Distances of corresponding images in x and y, with gradients to both.

        x, y: (B, 3, H, W) in [0, 1].  Returns (B,), float32 or wider even under autocast.
        """
        distance = x.new_zeros(len(x))
        # Two passes, not one over both: where one side needs no gradients, its activations are not kept.
        levels = zip(self.features(x), self.features(y), self.heads, strict=True)
        with torch.autocast(x.device.type, enabled=False):
            for a, b, head in levels:
                distance = distance + ((a - b).square().movedim(1, 3) @ head).mean((1, 2))
        return distance

    def features(self, x: Tensor) -> list[Tensor]:
        """Features of the network at five depths, scaled to length 1 at every position.

        x: (B, 3, H, W) in [0, 1].  Returns five (B, C, h, w), float32 or wider even under autocast.
        """
        x = (2 * x - 1 - self.shift) / self.scale  # LPIPS is defined on [−1, 1]
        seen = []
        for index, layer in enumerate(self.trunk):
            x = layer(x)
            if index in self.compared:
                seen.append(_normalised(x))
        return seen


def _normalised(x: Tensor) -> Tensor:
    """Features divided by their length over channels; where all are 0 they stay 0, and so do gradients."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))  # squares of features overflow float16
    length: Tensor = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x * (length + 1e-10).reciprocal()


def _vgg() -> nn.Sequential:
    """VGG16 as far as its last convolution, numbered as in torchvision."""
    layers: list[nn.Module] = []
    width = 3
    for depth, out in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(depth):
            layers += _convolution(width, out, 3, padding=1)
            width = out
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers[:-1])


def _alex() -> nn.Sequential:
    """AlexNet as far as its last convolution, numbered as in torchvision."""
    return nn.Sequential(
        *_convolution(3, 64, 11, stride=4, padding=2),
        nn.MaxPool2d(3, stride=2),
        *_convolution(64, 192, 5, padding=2),
        nn.MaxPool2d(3, stride=2),
        *_convolution(192, 384, 3, padding=1),
        *_convolution(384, 256, 3, padding=1),
        *_convolution(256, 256, 3, padding=1),
    )


def _convolution(width: int, out: int, kernel: int, *, stride: int = 1, padding: int) -> list[nn.Module]:
    return [nn.Conv2d(width, out, kernel, stride=stride, padding=padding), nn.ReLU(inplace=True)]
