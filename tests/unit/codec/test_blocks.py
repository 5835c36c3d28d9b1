import torch
import torch.nn.functional as F

from unmask.codec.blocks import MERGE_FROM, Up
from unmask.rng import generator, initialise


def test_up_is_a_convolution_of_repeated_pixels_at_every_size(rng):
    """Large grids take another way; values and all gradients are those of the plain one, borders included."""
    up = Up(6).double()
    initialise(up, generator(0))
    for h, w in ((1, 1), (5, 3), (40, 33)):
        x = torch.randn(2, 6, h, w, generator=rng, dtype=torch.float64, requires_grad=True)
        repeated = x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
        plain = F.conv2d(repeated, up.conv.weight, up.conv.bias, padding=1)
        weights = torch.randn(plain.shape, generator=rng, dtype=torch.float64)
        wanted = [x, *up.parameters()]
        torch.testing.assert_close(up(x), plain)
        torch.testing.assert_close(
            torch.autograd.grad((up(x) * weights).sum(), wanted),
            torch.autograd.grad((plain * weights).sum(), wanted),
        )
    assert 5 * 3 < MERGE_FROM <= 40 * 33  # both ways were taken
