"""PSNR and SSIM are those of scikit-image, picture by picture."""

import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from unmask.evaluation.distortion import psnr, ssim


@pytest.fixture
def pairs(photographs, rng) -> tuple[torch.Tensor, torch.Tensor]:
    x = photographs[..., :200] / 255  # (4, 3, 256, 200)
    strength = torch.tensor([0.01, 0.05, 0.2, 0.5]).view(4, 1, 1, 1)
    return x, (x + strength * torch.randn(x.shape, generator=rng)).clamp(0, 1)


def numpy_pairs(x, y):
    return zip(x.permute(0, 2, 3, 1).double().numpy(), y.permute(0, 2, 3, 1).double().numpy(), strict=True)


def test_psnr_is_that_of_scikit_image(pairs):
    wanted = [peak_signal_noise_ratio(x, y, data_range=1) for x, y in numpy_pairs(*pairs)]
    assert torch.allclose(psnr(*pairs).double(), torch.tensor(wanted).double(), rtol=0, atol=1e-4)
    assert max(wanted) - min(wanted) > 20


def test_ssim_is_that_of_scikit_image(pairs):
    wang = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1}
    wanted = [structural_similarity(x, y, channel_axis=-1, **wang) for x, y in numpy_pairs(*pairs)]
    assert torch.allclose(ssim(*pairs).double(), torch.tensor(wanted).double(), rtol=0, atol=1e-4)
    assert max(wanted) - min(wanted) > 0.5


def test_equal_pictures_are_at_the_top_of_both_scales(photographs):
    x = photographs / 255
    assert torch.equal(psnr(x, x), torch.full((4,), torch.inf))
    assert torch.allclose(ssim(x, x), torch.ones(4))


def test_known_error_gives_known_decibels():
    assert psnr(torch.zeros(1, 3, 16, 16), torch.full((1, 3, 16, 16), 0.1)).item() == pytest.approx(20)


@pytest.mark.parametrize("measure", [psnr, ssim])
def test_half_precision_pictures_and_autocast_lose_nothing_more(measure, pairs):
    x, y = (image.bfloat16() for image in pairs)
    with torch.autocast("cpu", torch.bfloat16):
        measured = measure(x, y)
    assert measured.dtype == torch.float32
    assert torch.allclose(measured, measure(x.float(), y.float()))
