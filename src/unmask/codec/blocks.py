"""The layers of encoder and decoder (Esser et al., 2021)."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

MERGE_FROM = 1024  # positions; merging the weights of ``Up`` takes longer than it saves on fewer


def norm(channels: int, groups: int) -> nn.GroupNorm:
    """Group normalisation with the epsilon that this family of networks was always trained with."""
    return nn.GroupNorm(groups, channels, eps=1e-6)


class Residual(nn.Module):
    """(B, C, H, W) to (B, C', H, W): two normalised convolutions round a shortcut."""

    def __init__(self, channels_in: int, channels_out: int, groups: int) -> None:
        super().__init__()
        self.norm1 = norm(channels_in, groups)
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, padding=1)
        self.norm2 = norm(channels_out, groups)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1)
        same = channels_in == channels_out
        self.shortcut = nn.Identity() if same else nn.Conv2d(channels_in, channels_out, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the shortcut plus what the two convolutions add to it."""
        y = self.conv1(F.silu(self.norm1(x)))
        y = self.conv2(F.silu(self.norm2(y)))
        total: Tensor = self.shortcut(x) + y
        return total


class Attention(nn.Module):
    """(B, C, h, w) to itself: every position attends to every other, with one head."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.norm = norm(channels, groups)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return x plus the output of attention at each position."""
        q, k, v = rearrange(self.qkv(self.norm(x)), "B (three C) h w -> three B 1 (h w) C", three=3)
        y = F.scaled_dot_product_attention(q, k, v)  # (B, 1, hw, C): one head
        y = rearrange(y, "B 1 (h w) C -> B C h w", h=x.shape[2])
        total: Tensor = x + self.out(y)
        return total


class Down(nn.Module):
    """Half the resolution: a strided convolution that pads to the right and at the bottom only."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C, H/2, W/2)."""
        y: Tensor = self.conv(F.pad(x, (0, 1, 0, 1)))
        return y


class Up(nn.Module):
    """Twice the resolution: each pixel repeated, then a convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, h, w) to (B, C, 2h, 2w)."""
        if x.shape[2] * x.shape[3] < MERGE_FROM or torch.compiler.is_exporting():
            y: Tensor = self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            return y
        return F.conv_transpose2d(x, merged(self.conv.weight), self.conv.bias, stride=2, padding=1)


def merged(weight: Tensor) -> Tensor:
    """(O, I, 3, 3) for pixels repeated twice to the (I, O, 4, 4) of a transposed convolution on the pixels.

    A pixel's copies meet neighbouring weights, whose sum meets the pixel itself: 16 products instead of 36.
    """
    spread = weight.flip(2, 3).transpose(0, 1)
    rows = F.pad(spread, (0, 0, 0, 1)) + F.pad(spread, (0, 0, 1, 0))
    return F.pad(rows, (0, 1)) + F.pad(rows, (1, 0))


def channels_last(module: nn.Module) -> None:
    """Lay the weights out for convolutions over the last axis, which is faster on CPU and on GPU alike."""
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
