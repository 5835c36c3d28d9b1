"""The Inception network of 2015-12-05, which FID is defined by: uint8 pictures -> 2048 features.

Layers have TensorFlow's names, and its peculiarities are kept: a resize without half-pixel offsets, average
pools that leave padding out of the mean, a maximum in the last block where all others take an average.
"""

from collections import Counter, OrderedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.backends import cudnn

from unmask.codec.blocks import channels_last
from unmask.third_party import weights

SIDE_PX = 299
WIDTH = 2048  # features of a picture


class Inception(nn.Module):
    """The pooled features that FID, precision and recall compare; frozen, with its weights loaded.

    WeightsError says what to type where the weights have not been fetched.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = _inception()
        self.layers.load_state_dict(weights.require("inception"))
        channels_last(self.layers)
        self.requires_grad_(False)

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        """Features of pictures of any size, float32 even under autocast and on GPUs that would shorten it.

        images: (B, 3, H, W) uint8.  Returns (B, 2048) float32.
        """
        assert images.dtype == torch.uint8, f"Inception takes uint8 images, not {images.dtype}"
        return self.features(resize(images.float()))

    @torch.no_grad()
    def features(self, levels: Tensor) -> Tensor:
        """(B, 2048) features of the output of ``resize``, (B, 3, 299, 299) float32 in [0, 255]."""
        with torch.autocast(levels.device.type, enabled=False), cudnn.flags(enabled=True, allow_tf32=False):
            x = ((levels - 128) / 128).contiguous(memory_format=torch.channels_last)
            features: Tensor = self.layers(x).mean((2, 3))
        return features


def resize(x: Tensor) -> Tensor:
    """Pictures at 299 × 299, by the bilinear interpolation of TensorFlow 1.

    x: (B, C, H, W) float.  Returns (B, C, 299, 299).
    """
    return _interpolate(_interpolate(x, dim=3), dim=2)


def _interpolate(x: Tensor, dim: int) -> Tensor:
    size = x.shape[dim]
    scale = size / SIDE_PX
    position = torch.arange(SIDE_PX, dtype=x.dtype, device=x.device) * scale  # no half-pixel offset
    low = position.long()
    fraction = (position - low).view([-1 if axis == dim else 1 for axis in range(x.ndim)])
    before = x.index_select(dim, low)
    after = x.index_select(dim, (low + 1).clamp(max=size - 1))
    return before + (after - before) * fraction


class Convolution(nn.Module):
    """A convolution, normalised by stored statistics and rectified."""

    def __init__(
        self, width: int, out: int, kernel: tuple[int, int], stride: int, padding: tuple[int, int]
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out, width, *kernel))
        self.beta, self.mean, self.var = (nn.Parameter(torch.empty(out)) for _ in range(3))
        self.stride = stride
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, H, W) to (B, out, H', W')."""
        x = F.conv2d(x, self.weight, stride=self.stride, padding=self.padding)
        return F.relu(F.batch_norm(x, self.mean, self.var, bias=self.beta, eps=1e-3))


class Tower(nn.Sequential):
    """Layers one after the other, under TensorFlow's names."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(OrderedDict(_named(*layers)))


class Mixed(Tower):
    """Paths side by side over one input, their channels one after the other."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, H, W) to (B, the paths' widths together, H', W')."""
        return torch.cat([path(x) for path in self], dim=1)


_KINDS = {Convolution: "conv", Mixed: "mixed", Tower: "tower", nn.MaxPool2d: "pool", nn.AvgPool2d: "pool"}


def _named(*layers: nn.Module) -> list[tuple[str, nn.Module]]:
    """Layers with TensorFlow's names: by kind, numbered from the second on (conv, conv_1, conv_2)."""
    seen: Counter[str] = Counter()
    names = []
    for layer in layers:
        kind = _KINDS[type(layer)]
        names.append((f"{kind}_{seen[kind]}" if seen[kind] else kind, layer))
        seen[kind] += 1
    return names


def _conv(width: int, out: int, *kernel: int) -> Convolution:
    """A convolution that keeps height and width."""
    high, wide = kernel * 2 if len(kernel) == 1 else kernel
    return Convolution(width, out, (high, wide), 1, (high // 2, wide // 2))


def _valid(width: int, out: int, stride: int = 1) -> Convolution:
    """A 3 × 3 convolution without padding."""
    return Convolution(width, out, (3, 3), stride, (0, 0))


def _average() -> nn.AvgPool2d:
    return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)


def _down() -> nn.MaxPool2d:
    return nn.MaxPool2d(3, stride=2)


def _inception() -> Tower:
    return Tower(
        *(_valid(3, 32, stride=2), _valid(32, 32), _conv(32, 64, 3), _down()),
        *(_conv(64, 80, 1), _valid(80, 192), _down()),
        *(_mixed_35(192, 32), _mixed_35(256, 64), _mixed_35(288, 64), _to_17()),
        *(_mixed_17(128), _mixed_17(160), _mixed_17(160), _mixed_17(192), _to_8()),
        *(_mixed_8(1280, _average()), _mixed_8(2048, nn.MaxPool2d(3, stride=1, padding=1))),
    )


def _mixed_35(width: int, pooled: int) -> Mixed:
    """A block at 35 × 35 positions."""
    return Mixed(
        _conv(width, 64, 1),
        Tower(_conv(width, 48, 1), _conv(48, 64, 5)),
        Tower(_conv(width, 64, 1), _conv(64, 96, 3), _conv(96, 96, 3)),
        Tower(_average(), _conv(width, pooled, 1)),
    )


def _to_17() -> Mixed:
    """From 35 × 35 to 17 × 17 positions."""
    tower = Tower(_conv(288, 64, 1), _conv(64, 96, 3), _valid(96, 96, stride=2))
    return Mixed(_valid(288, 384, stride=2), tower, _down())


def _mixed_17(c: int) -> Mixed:
    """A block at 17 × 17 positions with towers of width ``c``."""
    twice = (_conv(c, c, 7, 1), _conv(c, c, 1, 7), _conv(c, c, 7, 1), _conv(c, 192, 1, 7))
    return Mixed(
        _conv(768, 192, 1),
        Tower(_conv(768, c, 1), _conv(c, c, 1, 7), _conv(c, 192, 7, 1)),
        Tower(_conv(768, c, 1), *twice),
        Tower(_average(), _conv(768, 192, 1)),
    )


def _to_8() -> Mixed:
    """From 17 × 17 to 8 × 8 positions."""
    return Mixed(
        Tower(_conv(768, 192, 1), _valid(192, 320, stride=2)),
        Tower(_conv(768, 192, 1), _conv(192, 192, 1, 7), _conv(192, 192, 7, 1), _valid(192, 192, stride=2)),
        _down(),
    )


def _mixed_8(width: int, pool: nn.Module) -> Mixed:
    """A block at 8 × 8 positions; its kind of pool is what tells the last one from the one before."""
    return Mixed(
        _conv(width, 320, 1),
        Tower(_conv(width, 384, 1), _crossed()),
        Tower(_conv(width, 448, 1), _conv(448, 384, 3), _crossed()),
        Tower(pool, _conv(width, 192, 1)),
    )


def _crossed() -> Mixed:
    return Mixed(_conv(384, 384, 1, 3), _conv(384, 384, 3, 1))
