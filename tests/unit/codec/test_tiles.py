"""Pictures larger than a tile through an encoder."""

import pytest
import torch

from unmask.codec.tiles import encode_tiles


def local_encoder(images):
    """A code is the level of the first of its 2×2 pixels."""
    assert max(images.shape[2:]) <= 12, "no part is larger than a tile"
    return images[:, 0, ::2, ::2].long()


@pytest.mark.parametrize("grid", [(3, 6), (7, 7), (6, 20), (13, 9), (10, 11)])
def test_tiles_of_a_purely_local_encoder_equal_the_whole(grid, rng):
    images = torch.randint(0, 100, (2, 3, 2 * grid[0], 2 * grid[1]), generator=rng).float()
    tiled = encode_tiles(local_encoder, images, factor=2, tile=6, overlap=2)
    assert torch.equal(tiled, images[:, 0, ::2, ::2].long())


def test_a_picture_within_a_tile_is_encoded_in_one_piece(rng):
    images, calls = torch.rand(1, 3, 12, 10, generator=rng), []

    def encode(part):
        calls.append(part.shape)
        return torch.zeros(1, 6, 5, dtype=torch.int64)

    encode_tiles(encode, images, factor=2, tile=6, overlap=2)
    assert calls == [images.shape]


def test_no_code_within_the_picture_comes_from_the_edge_of_a_tile():
    """Codes that say how far they are from their tile's edge, where an encoder sees nothing beyond."""
    edge = torch.arange(6).minimum(5 - torch.arange(6))

    def encode(part):
        h, w = part.shape[2] // 2, part.shape[3] // 2
        return torch.minimum(edge[:h, None], edge[None, :w])[None]

    codes = encode_tiles(encode, torch.zeros(1, 3, 28, 40), factor=2, tile=6, overlap=4)
    assert codes[0, 1:-1, 1:-1].min() > 0
    assert codes[0, 2:-2, 2:-2].min() > 1
