"""Pixels to codes and back: the networks of stage 1 (the paper, "Learning Codes")."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from unmask.codec.blocks import Attention, Down, Residual, Up, channels_last, norm
from unmask.codec.config import CodecConfig
from unmask.codec.quantizers import Quantized, make_quantizer
from unmask.errors import DataError
from unmask.rng import initialise


class Reconstruction(NamedTuple):
    """The output of a training pass through the codec."""

    images: Tensor  # (B, 3, H, W), near [0, 1] but not clamped, so that gradients reach every pixel
    quantized: Quantized


class Autoencoder(nn.Module):
    """The codec. Images are float32 in [0, 1] at its edge, codes int64 (B, h, w)."""

    def __init__(self, config: CodecConfig, rng: torch.Generator | None = None) -> None:
        """Build the networks; with ``rng`` their weights are drawn from it, else they await loading."""
        super().__init__()
        self.config = config
        self.encoder = nn.Sequential(*encoder_layers(config))
        self.quantizer = make_quantizer(config.quantizer, config.code_width)
        self.decoder = nn.Sequential(*decoder_layers(config))
        if rng is not None:
            initialise(self, rng)
            self.quantizer.initialise(rng)
        channels_last(self)

    @property
    def codebook_size(self) -> int:
        """K, the number of codes."""
        return self.config.quantizer.codebook_size

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def latents(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) images to (B, E, h, w) latents, not yet quantised."""
        low, high = self.config.pixel_range
        x = (low + (high - low) * images).contiguous(memory_format=torch.channels_last)
        latents: Tensor = self.encoder(x)
        return latents

    def pixels(self, latents: Tensor) -> Tensor:
        """(B, E, h, w) quantised latents to (B, 3, H, W) images, not clamped."""
        low, high = self.config.pixel_range
        y: Tensor = self.decoder(latents.contiguous(memory_format=torch.channels_last))
        return (y.float() - low) / (high - low)

    def forward(self, images: Tensor, step: int, rng: torch.Generator) -> Reconstruction:
        """One training pass: encode, quantise with gradients, decode."""
        quantized = self.quantizer(self.latents(images), step, rng)
        return Reconstruction(self.pixels(quantized.latents), quantized)

    def encode(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) images in [0, 1] to (B, h, w) codes."""
        self._check(images)
        return self.quantizer.nearest(self.latents(images))

    def decode(self, codes: Tensor) -> Tensor:
        """(B, h, w) codes to (B, 3, H, W) images in [0, 1], in one piece as in training (see ``tiles``)."""
        return self.pixels(self.quantizer.lookup(codes)).clamp(0, 1)

    def _check(self, images: Tensor) -> None:
        factor = self.config.factor
        if images.ndim != 4 or images.shape[1] != 3:
            raise DataError(f"the codec takes images (B, 3, H, W), not {tuple(images.shape)}")
        if any(edge < factor or edge % factor for edge in images.shape[2:]):
            height, width = images.shape[2:]
            raise DataError(
                f"an image of {width}×{height} pixels does not divide into codes of {factor}×{factor}"
            )


def encoder_layers(config: CodecConfig) -> list[nn.Module]:
    """From 3 channels at full size to ``code_width`` channels on the code grid."""
    widths = [config.width * multiplier for multiplier in config.multipliers]
    layers: list[nn.Module] = [nn.Conv2d(3, config.width, 3, padding=1)]
    channels = config.width
    for level, width in enumerate(widths):
        if level:
            layers.append(Down(channels))
        layers += _level(config, channels, width, factor=2**level, blocks=config.blocks)
        channels = width
    layers += _middle(channels, config.groups)
    layers += _last(config, channels, config.code_width)
    return [*layers, nn.Conv2d(config.code_width, config.code_width, 1)] if _taming(config) else layers


def decoder_layers(config: CodecConfig) -> list[nn.Module]:
    """The encoder's mirror: from ``code_width`` channels on the grid to 3 channels at full size."""
    widths = [config.width * multiplier for multiplier in config.multipliers]
    channels = widths[-1]
    blocks = config.blocks + _taming(config)
    layers: list[nn.Module] = [nn.Conv2d(config.code_width, config.code_width, 1)] if _taming(config) else []
    layers += [nn.Conv2d(config.code_width, channels, 3, padding=1), *_middle(channels, config.groups)]
    for level, width in reversed(list(enumerate(widths))):
        layers += _level(config, channels, width, factor=2**level, blocks=blocks)
        channels = width
        if level:
            layers.append(Up(channels))
    return layers + _last(config, channels, 3)


def _taming(config: CodecConfig) -> bool:
    return config.family == "taming"


def _level(
    config: CodecConfig, channels_in: int, channels: int, *, factor: int, blocks: int
) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for _ in range(blocks):
        layers.append(Residual(channels_in, channels, config.groups))
        if factor in config.attention:
            layers.append(Attention(channels, config.groups))
        channels_in = channels
    return layers


def _middle(channels: int, groups: int) -> list[nn.Module]:
    return [
        Residual(channels, channels, groups),
        Attention(channels, groups),
        Residual(channels, channels, groups),
    ]


def _last(config: CodecConfig, channels_in: int, channels: int) -> list[nn.Module]:
    """Normalisation and convolution; between them the paper's authors trained without an activation."""
    activation = [nn.SiLU()] if _taming(config) else []
    return [norm(channels_in, config.groups), *activation, nn.Conv2d(channels_in, channels, 3, padding=1)]
