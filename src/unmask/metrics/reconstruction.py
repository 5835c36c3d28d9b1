"""How much of a picture survives the codec, over a whole set of pictures."""

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.losses import usage
from unmask.codec.perceptual import Perceptual
from unmask.images.pixels import PixelSet
from unmask.images.progress import Report
from unmask.images.transforms import to_tensor
from unmask.metrics.distortion import psnr, ssim


@torch.no_grad()
def measure_reconstructions(
    codec: Autoencoder,
    pixels: PixelSet,
    *,
    batch: int,
    device: torch.device,
    perceptual: Perceptual | None = None,
    share: tuple[int, int] = (0, 1),
    total: Callable[[Tensor], Tensor] = lambda x: x,
    report: Report = lambda done, total: None,
) -> dict[str, float]:
    """Means over the set of L1, PSNR, SSIM and, given its network, LPIPS; and codebook usage.

    ``share`` is (rank, world): which part of the set this process measures; ``total`` adds a tensor up over
    the processes.
    """
    rank, world = share
    sums = dict.fromkeys(["l1", "psnr", "ssim", "lpips"], torch.zeros((), dtype=torch.float64, device=device))
    counts = torch.zeros(codec.codebook_size, dtype=torch.int64, device=device)
    mine = range(rank, len(pixels), world)
    for start in range(0, len(mine), batch):
        images = to_tensor(pixels.read(mine[start : start + batch])).to(device)
        codes = codec.encode(images)
        output = codec.decode(codes)
        counts += torch.bincount(codes.flatten(), minlength=len(counts))
        values = {
            "l1": (images - output).abs().mean((1, 2, 3)),
            "psnr": psnr(images, output),
            "ssim": ssim(images, output),
        }
        if perceptual is not None:
            values["lpips"] = perceptual(images, output)
        for name, value in values.items():
            sums[name] = sums[name] + value.double().sum()
        report(start + len(images), len(mine))
    figures = {name: total(value).item() / len(pixels) for name, value in sums.items()}
    if perceptual is None:
        del figures["lpips"]
    return figures | usage(total(counts))
