"""Distortion of images, pixel by pixel: PSNR and SSIM.

Both take (B, 3, H, W) pictures in [0, 1] and return (B,), float32 even under autocast; larger is closer.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

WINDOW = 11  # pixels across the Gaussian of Wang et al. (2004)
SIGMA = 1.5


def psnr(x: Tensor, y: Tensor) -> Tensor:
    """Peak signal-to-noise ratio in dB; equal pictures have an infinite one."""
    return -10 * (x.float() - y.float()).square().mean((1, 2, 3)).log10()


def ssim(x: Tensor, y: Tensor) -> Tensor:
    """Structural similarity: how alike means, spreads and patterns are, over a sliding Gaussian window."""
    assert min(x.shape[-2:]) >= WINDOW, f"images of {tuple(x.shape[-2:])} are smaller than one window"
    x, y = x.float(), y.float()
    mean_x, mean_y = _blur(x), _blur(y)
    var_x = _blur(x * x) - mean_x.square()
    var_y = _blur(y * y) - mean_y.square()
    covariance = _blur(x * y) - mean_x * mean_y
    c1, c2 = 0.01**2, 0.03**2
    alike = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    spread = (mean_x.square() + mean_y.square() + c1) * (var_x + var_y + c2)
    return (alike / spread).mean((1, 2, 3))


def _blur(x: Tensor) -> Tensor:
    """Gaussian means over every window that lies wholly within the picture."""
    place = torch.arange(WINDOW, device=x.device, dtype=x.dtype) - (WINDOW - 1) / 2
    weights = torch.exp(-place.square() / (2 * SIGMA**2))
    weights = (weights / weights.sum()).expand(x.shape[1], 1, 1, -1)
    with torch.autocast(x.device.type, enabled=False):  # variances are differences of near-equal squares
        x = F.conv2d(x, weights, groups=x.shape[1])
        return F.conv2d(x, weights.transpose(2, 3), groups=x.shape[1])
