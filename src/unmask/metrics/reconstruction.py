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
from unmask.metrics.fid import Moments, frechet_distance
from unmask.metrics.inception import Inception


@torch.no_grad()
def measure_reconstructions(
    codec: Autoencoder,
    pixels: PixelSet,
    *,
    batch: int,
    device: torch.device,
    perceptual: Perceptual | None = None,
    inception: Inception | None = None,
    share: tuple[int, int] = (0, 1),
    add_up: Callable[[Tensor], Tensor] = lambda x: x,
    report: Report = lambda done, total: None,
) -> dict[str, float]:
    """Means of L1, PSNR, SSIM and, given its network, LPIPS; codebook usage; given Inception, FID.

    ``share`` is (rank, world): this process measures every world-th picture from the rank-th on; ``add_up``
    adds a tensor up over the processes.
    """
    sums: dict[str, Tensor] = {}
    counts = torch.zeros(codec.codebook_size, dtype=torch.int64, device=device)
    real, copied = Moments(), Moments()
    mine = range(share[0], len(pixels), share[1])
    for start in range(0, len(mine), batch):
        images = to_tensor(pixels.read(mine[start : start + batch])).to(device)
        codes = codec.encode(images)
        output = codec.decode(codes)
        counts += torch.bincount(codes.flatten(), minlength=len(counts))
        for name, value in _distances(images, output, perceptual).items():
            sums[name] = sums.get(name, torch.zeros((), device=device)) + value.double().sum()
        if inception is not None:
            real.update(inception(_levels(images)))
            copied.update(inception(_levels(output)))
        report(start + len(images), len(mine))
    figures = {name: add_up(value).item() / len(pixels) for name, value in sums.items()}
    if inception is not None:
        figures["fid"] = frechet_distance(real.total(add_up), copied.total(add_up))
    return figures | usage(add_up(counts))


def _distances(images: Tensor, output: Tensor, perceptual: Perceptual | None) -> dict[str, Tensor]:
    """(B,) each: how far the pictures are from their copies."""
    distances = {
        "l1": (images - output).abs().mean((1, 2, 3)),
        "psnr": psnr(images, output),
        "ssim": ssim(images, output),
    }
    return distances if perceptual is None else distances | {"lpips": perceptual(images, output)}


def _levels(images: Tensor) -> Tensor:
    """[0, 1] to the 256 levels that a file would hold."""
    return images.mul(255).round().byte()
