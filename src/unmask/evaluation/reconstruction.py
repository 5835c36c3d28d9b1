"""Metrics of reconstructions over a set of images."""

from collections.abc import Callable

import torch
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.losses import usage
from unmask.codec.perceptual import Perceptual
from unmask.data.pixels import PixelSet
from unmask.data.transforms import to_levels, to_tensor
from unmask.distributed import ALONE, Group
from unmask.evaluation.distortion import WINDOW, psnr, ssim
from unmask.evaluation.fid import Moments, frechet_distance
from unmask.evaluation.inception import WIDTH, Inception
from unmask.progress import Report, silent

Measure = Callable[[Tensor, Tensor], Tensor]
"""How far pictures are from their copies: two (B, 3, H, W) in [0, 1] to (B,)."""


@torch.no_grad()
def measure_reconstructions(
    codec: Autoencoder,
    pixels: PixelSet,
    *,
    batch: int,
    perceptual: Perceptual | None = None,
    inception: Inception | None = None,
    processes: Group = ALONE,
    report: Report = silent,
) -> dict[str, float]:
    """Means of L1, PSNR, SSIM and, given its network, LPIPS; codebook usage; given Inception, FID.

    All is computed where the codec is, and networks that are elsewhere come there. Of
    ``processes`` each one measures every so many-th picture, of which there may be none.
    """
    device = codec.device
    measures: dict[str, Measure] = {"l1": lambda x, y: (x - y).abs().mean((1, 2, 3)), "psnr": psnr}
    if pixels.read([]).shape[1] >= WINDOW:  # smaller pictures have none
        measures["ssim"] = ssim
    if perceptual:
        measures["lpips"] = perceptual.to(device)
    if inception:
        inception.to(device)
    sums = torch.zeros(len(measures), dtype=torch.float64)
    counts = torch.zeros(codec.codebook_size, dtype=torch.int64)
    real = copied = Moments.none(WIDTH if inception else 0)
    mine = range(processes.rank, len(pixels), processes.world)
    for start in range(0, len(mine), batch):
        images = to_tensor(pixels.read(mine[start : start + batch])).to(device)
        codes = codec.encode(images)
        output = codec.decode(codes)
        counts += torch.bincount(codes.flatten().cpu(), minlength=len(counts))
        distances = torch.stack([measure(images, output) for measure in measures.values()])  # (F, B)
        sums += distances.cpu().double().sum(1)
        if inception:
            real += Moments.of(inception(to_levels(images)))
            copied += Moments.of(inception(to_levels(output)))
        report(start + len(images), len(mine))
    metrics = dict(zip(measures, (processes.sum(sums) / len(pixels)).tolist(), strict=True))
    if inception and len(pixels) > 1:  # one picture has no covariance
        metrics["fid"] = frechet_distance(real.total(processes.sum), copied.total(processes.sum))
    return metrics | usage(processes.sum(counts))
