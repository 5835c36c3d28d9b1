"""Settings of a codec and its losses. Free of torch, so that ``--help`` is instant."""

import math
from dataclasses import dataclass, field
from typing import Literal

from unmask.errors import ConfigError, require_at_least


@dataclass(frozen=True, kw_only=True)
class QuantizerConfig:
    """Vector quantisation: latent vectors to one of K codes."""

    kind: Literal["nearest", "gumbel", "fsq"] = "nearest"
    """nearest: nearest codebook vector (the paper). gumbel: Gumbel-softmax. fsq: rounded scalars (FSQ)."""
    codebook_size: int = 1024
    """K, the number of codes. With fsq it must be the product of the levels."""
    codebook_weight: float = 1.0
    """nearest: weight of the codebook loss (paper: 1; the authors' code: 0.25)."""
    commitment_weight: float = 0.25
    """nearest: weight of the commitment loss (paper: 0.25; the authors' code: 1)."""
    kmeans_batches: int = 0
    """nearest: initialise the codebook by k-means, seeded as k-means++, over the latents of this many
    batches. 0: small random vectors."""
    recycle_after: int = 0
    """nearest: move a code that was unused for this many steps onto a latent far from all codes. 0: never."""
    anneal_steps: int = 150_000
    """gumbel: steps over which the temperature falls from 1 to 1/16."""
    kl_weight: float = 1e-8
    """gumbel: weight of the KL divergence between the code distribution and the uniform one."""
    levels: tuple[int, ...] = (8, 8, 4, 4)
    """fsq: number of values of each scalar."""

    def __post_init__(self) -> None:
        part = "codec.quantizer"
        require_at_least(2, part, self, "codebook_size")
        require_at_least(1, part, self, "anneal_steps")
        require_at_least(0, part, self, "codebook_weight", "commitment_weight", "kl_weight")
        require_at_least(0, part, self, "kmeans_batches", "recycle_after")
        if self.kind == "fsq" and min(self.levels, default=0) < 2:
            raise ConfigError(f"fsq levels {self.levels} must be numbers of values, each at least 2")
        if self.kind == "fsq" and math.prod(self.levels) != self.codebook_size:
            raise ConfigError(
                f"fsq levels {self.levels} make {math.prod(self.levels)} codes, "
                f"but codec.quantizer.codebook-size is {self.codebook_size}",
                hint=f"--codec.quantizer.codebook-size {math.prod(self.levels)}",
            )


@dataclass(frozen=True, kw_only=True)
class CodecConfig:
    """VQGAN: encoder, quantiser, decoder. The paper's: 256×256 pixels to 16×16 codes and back."""

    width: int = 128
    """Channels at full resolution."""
    multipliers: tuple[int, ...] = (1, 1, 2, 2, 4)
    """Channels of each level, as multiples of the width. Each level after the first halves the resolution."""
    blocks: int = 2
    """Residual blocks per level."""
    attention: tuple[int, ...] = (16,)
    """Downsampling factors at which attention follows each block (the middle block always has it)."""
    code_width: int = 256
    """Channels of a latent vector and of the codebook."""
    groups: int = 32
    """Groups of every group normalisation."""
    pixel_range: tuple[float, float] = (0.0, 1.0)
    """The values of black and white inside the network. Outside they are always 0 and 1."""
    family: Literal["paper", "taming"] = "paper"
    """taming: the network of taming-transformers, with one more block on each level of the decoder, swish
    before the last convolutions, and 1×1 convolutions on both sides of the quantiser."""
    quantizer: QuantizerConfig = field(default_factory=QuantizerConfig)

    def __post_init__(self) -> None:
        require_at_least(1, "codec", self, "width", "blocks", "code_width", "groups")
        if min(self.multipliers, default=0) < 1:
            raise ConfigError(f"codec.multipliers={self.multipliers} must be widths of at least 1")
        if not -math.inf < self.pixel_range[0] < self.pixel_range[1] < math.inf:
            raise ConfigError(
                f"codec.pixel-range={self.pixel_range} must be two numbers, the larger one last"
            )
        for multiplier in self.multipliers:
            if (self.width * multiplier) % self.groups:
                raise ConfigError(
                    f"codec.width={self.width} × {multiplier} is not divisible by codec.groups={self.groups}"
                )
        factors = {2**level for level in range(len(self.multipliers))}
        if not set(self.attention) <= factors:
            raise ConfigError(
                f"codec.attention={self.attention} names a factor that this codec does not reach; "
                f"it has {sorted(factors)}"
            )

    @property
    def factor(self) -> int:
        """Pixels per code along an edge: 16 at the paper's settings."""
        return int(2 ** (len(self.multipliers) - 1))

    def grid(self, size_px: int) -> int:
        """Codes along the edge of an image of ``size_px`` pixels."""
        if size_px < self.factor or size_px % self.factor:
            raise ConfigError(
                f"images of {size_px} pixels do not divide into codes of {self.factor} pixels each",
                hint=f"--images.size {max(1, round(size_px / self.factor)) * self.factor}",
            )
        return size_px // self.factor


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """The loss of the codec: L1 + perceptual + λ · adversarial."""

    perceptual: Literal["vgg", "alex", "off"] = "vgg"
    """Network of the LPIPS loss (unmask weights get lpips-vgg). off: L1 alone."""
    perceptual_weight: float = 1.0
    """Weight of the LPIPS loss relative to L1."""
    adversarial: Literal["hinge", "logistic", "off"] = "hinge"
    """Adversarial loss. hinge: that of the authors' code. logistic: that of the paper's text."""
    adversarial_start: int = 30_001
    """First step with the discriminator and the adversarial loss."""
    adaptive_max: float = 1.0
    """λ_max, the maximum of the adaptive weight λ. inf: no clamp (an ablation of the paper)."""
    augment: bool = True
    """DiffAug: differentiable augmentation of the discriminator's inputs (an ablation of the paper)."""
    discriminator_width: int = 64
    """Channels of the discriminator's first layer; later ones have up to eight times as many."""
    discriminator_layers: int = 3
    """Layers of the discriminator, which determine the size of the patches that it classifies."""

    def __post_init__(self) -> None:
        require_at_least(0, "loss", self, "perceptual_weight", "adversarial_start", "adaptive_max")
        require_at_least(1, "loss", self, "discriminator_width", "discriminator_layers")

    def check_size(self, size_px: int) -> None:
        """Refuse images of which nothing would be left within the networks of the loss."""
        least = {"vgg": 16, "alex": 31, "off": 1}[self.perceptual]
        if size_px < least:
            raise ConfigError(
                f"loss.perceptual={self.perceptual} wants images of {least} pixels, not {size_px}",
                hint="--loss.perceptual off",
            )
        # Each layer halves the picture, and two convolutions without a stride take a row and a column each.
        least = 3 * 2**self.discriminator_layers
        if self.adversarial != "off" and size_px < least:
            raise ConfigError(
                f"a discriminator of {self.discriminator_layers} layers wants images of {least} pixels, "
                f"not {size_px}",
                hint="--loss.discriminator-layers 1, or --loss.adversarial off",
            )
