import pytest
import torch

from tests.untrained import SMALL_CODEC, K
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.preview import decode_partly
from unmask.rng import generator


@pytest.fixture
def codec():
    return Autoencoder(SMALL_CODEC, generator(0)).eval()


@torch.no_grad()
def test_codes_that_are_all_known_are_decoded_as_ever(codec, rng):
    codes = torch.randint(K, (2, 3, 5), generator=rng)
    assert torch.equal(decode_partly(codec, codes, tile=32), codec.decode(codes))


@torch.no_grad()
@pytest.mark.parametrize("grid", [(3, 5), (3, 40)])
def test_patches_not_known_are_grey_and_hide_no_others(codec, rng, grid):
    """The second grid is larger than a tile."""
    codes = torch.randint(K, (1, *grid), generator=rng)
    codes[:, 1, 2:4] = K
    images = decode_partly(codec, codes, tile=32)
    grey = (images == 0.5).all(1)[0]
    assert grey[2:4, 4:8].all()
    assert grey.sum() == 8
