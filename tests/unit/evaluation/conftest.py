"""Inception features of real pictures, computed once for all that is compared with them."""

import pytest
import torch
from einops import rearrange

from unmask.evaluation.inception import Inception


@pytest.fixture(scope="session")
def photograph_features(fetched, photographs) -> tuple[torch.Tensor, torch.Tensor]:
    """(32, 2048) features of crops of an astronaut and a cat, and of as many of a cup and a rocket."""
    fetched("inception")
    crops = rearrange(photographs, "(two n) C (i H) (j W) -> two (n i j) C H W", two=2, H=64, W=64)
    network = Inception()
    return network(crops[0]), network(crops[1])
