"""Differentiable augmentation: what the discriminator sees is jittered, real and reconstructed alike.

Zhao et al. (2020). Each function takes (B, 3, H, W) images in [0, 1] and keeps their shape; each draw is one
number a picture. Gradients pass to the images.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def augment(images: Tensor, rng: torch.Generator) -> Tensor:
    """Brightness, saturation, contrast, then translation: the paper's four."""
    for change in (brightness, saturation, contrast, translation):
        images = change(images, rng)
    return images


def brightness(images: Tensor, rng: torch.Generator) -> Tensor:
    """Add one number from [−½, ½] to a whole picture; the mean over draws is the picture itself."""
    return images + _uniform(images, rng, -0.5, 0.5)


def saturation(images: Tensor, rng: torch.Generator) -> Tensor:
    """Scale the distance from grey by one number from [0, 2]; a pixel's mean over its channels stays."""
    grey = images.mean(1, keepdim=True)
    return grey + (images - grey) * _uniform(images, rng, 0.0, 2.0)


def contrast(images: Tensor, rng: torch.Generator) -> Tensor:
    """Scale the distance from the picture's mean by one number from [½, 1½]; that mean stays."""
    mean = images.mean((1, 2, 3), keepdim=True)
    return mean + (images - mean) * _uniform(images, rng, 0.5, 1.5)


def translation(images: Tensor, rng: torch.Generator, ratio: float = 1 / 8) -> Tensor:
    """Shift by up to ``ratio`` of the edge each way, in whole pixels; black comes in from outside."""
    B, _, H, W = images.shape
    reach_y, reach_x = round(H * ratio), round(W * ratio)
    dy = torch.randint(-reach_y, reach_y + 1, (B, 1, 1), generator=rng, device=rng.device)
    dx = torch.randint(-reach_x, reach_x + 1, (B, 1, 1), generator=rng, device=rng.device)
    rows = torch.arange(H, device=rng.device)[None, :, None] + reach_y + dy  # (B, H, 1)
    columns = torch.arange(W, device=rng.device)[None, None, :] + reach_x + dx  # (B, 1, W)
    padded = F.pad(images, (reach_x, reach_x, reach_y, reach_y))
    picture = torch.arange(B, device=rng.device)[:, None, None]
    places = tuple(place.to(images.device) for place in (picture, rows, columns))
    moved = padded.permute(0, 2, 3, 1)[places]
    return moved.permute(0, 3, 1, 2)  # (B, 3, H, W)


def _uniform(images: Tensor, rng: torch.Generator, low: float, high: float) -> Tensor:
    draws = torch.rand(len(images), 1, 1, 1, generator=rng, device=rng.device)
    return (low + (high - low) * draws).to(images.device)
