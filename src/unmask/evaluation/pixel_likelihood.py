"""Bits per dimension of images.

An image x with codes z has −log p(x) ≤ −log p(x | z) − log p(z): the prior gives log p(z), and
pixels follow a Gaussian around the decoder's output, whose spread a small head learns while the codec is
frozen. Pixels are levels, so each takes the mass that the Gaussian has on its level, never a
density: the sum over all levels is 1, and the bound is one on a probability.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from unmask.codec.autoencoder import Autoencoder
from unmask.data.base import combined_hash
from unmask.data.batches import Batches
from unmask.data.pixels import PixelSet
from unmask.data.transforms import to_levels, to_tensor
from unmask.devices import tuned_allocator
from unmask.distributed import ALONE, Group
from unmask.errors import DataError
from unmask.evaluation.estimate import mean_of
from unmask.progress import Report, silent
from unmask.rng import generator, initialise
from unmask.storage import files, locks
from unmask.storage import state as tensors

BATCH = 16
RECIPE = 1  # to be raised when a head would be fitted otherwise
FIT_STEPS, FIT_BATCH, FIT_RATE = 400, 16, 2e-3
WHITE = 255.0
LOG_SCALES = (-4.0, 8.0)  # in levels of 8 bits: from far below one to far above all


@dataclass(frozen=True)
class DimensionBits:
    """Bits of images for each channel of each pixel: a bound, and the two parts that it is made of."""

    of_pixels: list[float]
    """What the pixels of each image cost given its codes."""
    of_codes: list[float]
    """What the codes of each image cost."""

    @property
    def bits(self) -> list[float]:
        """What each image costs: both together."""
        return [a + b for a, b in zip(self.of_pixels, self.of_codes, strict=True)]

    @property
    def mean(self) -> float:
        """The mean over the images."""
        return mean_of(torch.tensor(self.bits, dtype=torch.float64)).value

    @property
    def standard_error(self) -> float:
        """The standard error of that mean."""
        return mean_of(torch.tensor(self.bits, dtype=torch.float64)).standard_error


class ScaleHead(nn.Module):
    """The log of each pixel's spread, in levels of 8 bits, from what the decoder's last layer sees."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 3, 3, padding=1, bias=False)
        self.usual = nn.Parameter(torch.zeros(3))

    def forward(self, features: Tensor) -> Tensor:
        """(B, width, H, W) to (B, 3, H, W)."""
        scales: Tensor = self.out(F.silu(self.hidden(features))) + self.usual[:, None, None]
        return scales.clamp(*LOG_SCALES)


def level_nats(levels: Tensor, mean: Tensor, log_scale: Tensor, bits: int = 8) -> Tensor:
    """−log of the mass that a Gaussian has on each level, in nats, float64; the end levels reach to infinity.

    levels, mean, log_scale: all of one shape, in levels of 8 bits. With fewer ``bits`` a level is several of
    those, and its mass theirs together.
    """
    width = 2 ** (8 - bits)
    levels, mean, scale = levels.double(), mean.double(), log_scale.double().exp()
    low = (levels / width).floor() * width - 0.5
    a, b = (low - mean) / scale, (low + width - mean) / scale
    lowest, highest = torch.special.log_ndtr(b), torch.special.log_ndtr(-a)
    a, b = torch.where(a + b > 0, -b, a), torch.where(a + b > 0, -a, b)  # the side where no digits are lost
    upper = torch.special.log_ndtr(b)
    inner = upper + torch.log(-torch.expm1(torch.special.log_ndtr(a) - upper))
    return -torch.where(low < 0, lowest, torch.where(low + width > WHITE, highest, inner))


def decoded(codec: Autoencoder, images: Tensor) -> tuple[Tensor, Tensor]:
    """(B, 3, H, W) images to the decoder's last features and its means of pixels, in levels of 8 bits."""
    latents = codec.quantizer.lookup(codec.encode(images))
    features: Tensor = codec.decoder[:-1](latents.contiguous(memory_format=torch.channels_last))
    low, high = codec.config.pixel_range
    mean = (codec.decoder[-1](features).float() - low) / (high - low)
    return features, WHITE * mean.clamp(0, 1)


@torch.no_grad()
def pixel_nats(codec: Autoencoder, head: ScaleHead, images: Tensor, bits: int = 8) -> Tensor:
    """(B, 3, H, W) nats of each channel of each pixel, given the codes; float64 on the CPU."""
    features, mean = decoded(codec, images)
    return level_nats(to_levels(images).cpu(), mean.cpu(), head(features).cpu(), bits)


def bits_per_dimension(
    codec: Autoencoder,
    head: ScaleHead,
    pixels: PixelSet,
    bits_per_code: Sequence[float],
    *,
    bits: int = 8,
    report: Report = silent,
    processes: Group = ALONE,
) -> DimensionBits:
    """Bits per dimension of images with ``bits`` bits per channel.

    ``head`` is from ``scale_head``, ``bits_per_code`` from ``Pipeline.score``. ``processes`` share the
    images, and all get the result.
    """

    def cost(numbers: range) -> list[float]:
        nats = pixel_nats(codec, head, to_tensor(pixels.read(numbers)).to(codec.device), bits)
        costs: list[float] = (nats.mean((1, 2, 3)) / math.log(2)).tolist()
        return costs

    costs: list[float] = []
    for one in processes.share(cost, range(len(pixels)), BATCH):
        costs.append(one)
        report(len(costs), len(pixels))
    of_pixels = processes.agreed(lambda: costs)
    dimensions = 3 * codec.config.factor**2  # that share a code
    return DimensionBits(of_pixels, [cost / dimensions for cost in bits_per_code])


def scale_head(
    codec: Autoencoder,
    fingerprint: str,
    pixels: PixelSet,
    *,
    steps: int = FIT_STEPS,
    report: Report = silent,
) -> ScaleHead:
    """The network that predicts the spread of pixels around a codec's output, for ``bits_per_dimension``.

    It is fitted on ``pixels`` once and then read from the cache folder.
    """
    if not len(pixels):
        raise DataError("there are no images to fit the spread of pixels on", hint="name some:  --fit DATA")
    key = combined_hash([RECIPE, fingerprint, pixels.fingerprint, steps])
    with files.in_cache("the spread of pixels") as folder:
        path = folder / f"{key}.scale"
        if (head := _remembered(codec, path)) is not None:
            return head
        with locks.alone(path):
            if (head := _remembered(codec, path)) is None:  # another process was not quicker
                with tuned_allocator():
                    head = fit_scale(codec, pixels, steps=steps, report=report)
                with files.replace_folder(path, tensors.OURS) as partial:
                    about = {"format": RECIPE, "step": steps}
                    tensors.save(partial, about, *tensors.flatten(head.state_dict()))
    return head


def _remembered(codec: Autoencoder, path: Path) -> ScaleHead | None:
    """The head that was fitted before, if it is whole."""
    head = _new_head(codec)
    try:
        head.load_state_dict(tensors.load(path)[1])
    except Exception:  # absent, or damaged, which can make readers raise anything
        return None
    return head.requires_grad_(False)


def fit_scale(codec: Autoencoder, pixels: PixelSet, *, steps: int, report: Report = silent) -> ScaleHead:
    """A head that makes the images likely; the codec is not touched."""
    head, batches = _new_head(codec), Batches(pixels, batch=FIT_BATCH, seed=0, flip=False)
    optimizer = torch.optim.Adam(head.parameters(), lr=FIT_RATE)
    for step in range(steps):
        images = batches.at(step).to(codec.device)
        with torch.no_grad():
            features, mean = decoded(codec, images)
        levels, mean = to_levels(images).cpu(), mean.cpu()
        if step == 0:
            _start_from_the_usual_error(head, levels - mean)
        loss = level_nats(levels, mean, head(features).cpu()).mean()
        optimizer.param_groups[0]["lr"] = FIT_RATE * (1 - step / steps)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        report(step + 1, steps)
    return head.requires_grad_(False)


def _new_head(codec: Autoencoder) -> ScaleHead:
    head = ScaleHead(codec.config.width * codec.config.multipliers[0])
    initialise(head, generator(0, "scale head"))
    return head.to(codec.device)


@torch.no_grad()
def _start_from_the_usual_error(head: ScaleHead, error: Tensor) -> None:
    """One spread for all pixels of a channel: what is left to learn is where it is smaller or larger."""
    head.out.weight.zero_()
    usual = rearrange(error, "B C H W -> C (B H W)").square().mean(1).sqrt()
    head.usual.copy_(usual.clamp(min=0.1).log())
