from types import SimpleNamespace

import pytest
import torch

from unmask.diffusion import process
from unmask.rng import generator
from unmask.training.config import DiffusionConfig
from unmask.training.prior_task import PriorTask


@pytest.mark.parametrize(("num_codes", "num_steps"), [(4, 4), (4, 16), (6, 12)])
def test_masks_of_a_fixed_share_give_the_bound_exactly(num_codes, num_steps):
    """With every time once in a batch, the loss is the mean of h(n), whether steps outnumber codes or not."""
    diffusion = DiffusionConfig(steps=num_steps, masking="fixed", stratified=True)
    task = SimpleNamespace(_diffusion=diffusion, _prior=SimpleNamespace(mask_id=9))
    h = torch.rand(num_codes + 1, generator=generator(0))
    x0 = torch.zeros(num_steps, num_codes, dtype=torch.int64)
    masked, t = PriorTask._mask(task, x0, generator(1))
    costs = masked * h[masked.sum(1)][:, None]
    bound = process.loss("elbo", costs, masked, t, num_steps).mean()
    torch.testing.assert_close(bound, h[1:].mean())
