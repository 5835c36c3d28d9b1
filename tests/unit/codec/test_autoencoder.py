import pytest
import torch

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.codec.tiles import decode_tiles
from unmask.errors import DataError
from unmask.rng import generator

SMALL = {"width": 8, "multipliers": (1, 2), "blocks": 1, "attention": (2,), "code_width": 4, "groups": 4}


def small_codec(**changes):
    return Autoencoder(CodecConfig(**SMALL | changes), generator(0))


@pytest.mark.parametrize("kind", ["nearest", "gumbel", "fsq"])
@pytest.mark.parametrize("levels", [2, 3, 4])
def test_codes_have_the_grid_of_the_down_sampling(kind, levels, rng):
    quantizer = QuantizerConfig(kind=kind, codebook_size=16, levels=(4, 4))
    codec = small_codec(multipliers=(1,) * levels, attention=(), quantizer=quantizer)
    images = torch.rand(2, 3, 32, 48, generator=rng)
    codes = codec.encode(images)
    factor = 2 ** (levels - 1)
    assert codes.shape == (2, 32 // factor, 48 // factor)
    assert codes.dtype == torch.int64
    assert 0 <= codes.min() <= codes.max() < 16
    assert codec.decode(codes).shape == images.shape


def test_a_codec_is_a_function_of_its_seed():
    first, again, other = (Autoencoder(CodecConfig(**SMALL), generator(seed)) for seed in (1, 1, 2))
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name
    assert not torch.equal(first.quantizer.codebook, other.quantizer.codebook)


def test_decoded_pictures_stay_within_black_and_white(rng):
    codec = small_codec(pixel_range=(-1.0, 1.0))
    with torch.no_grad():
        codec.decoder[-1].weight.mul_(100)
    images = codec.decode(codec.encode(torch.rand(1, 3, 16, 16, generator=rng)))
    assert images.min() == 0
    assert images.max() == 1


def test_the_pixel_range_is_the_networks_own_affair(rng):
    """The same weights with another inner range see affinely changed pictures, and callers see [0, 1]."""
    plain, signed = small_codec(), small_codec(pixel_range=(-1.0, 1.0))
    images = torch.rand(1, 3, 16, 16, generator=rng)
    torch.testing.assert_close(plain.latents(2 * images - 1), signed.latents(images))
    latents = plain.latents(images)
    torch.testing.assert_close(plain.pixels(latents), 2 * signed.pixels(latents) - 1)


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [((1, 1, 16, 16), "not (1, 1, 16, 16)"), ((3, 16, 16), "takes images"), ((1, 3, 15, 16), "16×15 pixels"),
     ((1, 3, 1, 16), "16×1 pixels")],
)  # fmt: skip
def test_pictures_that_do_not_fit_are_refused_in_a_sentence(shape, complaint):
    with pytest.raises(DataError) as error:
        small_codec().encode(torch.zeros(shape))
    assert complaint in str(error.value)


@torch.no_grad()
@pytest.mark.parametrize("grid", [(8, 8), (40, 33)])
def test_codes_are_decoded_in_one_piece_as_in_training(grid, rng):
    """A codec trained on 40 codes along an edge has never seen a tile of 32."""
    codec = small_codec()
    codes = torch.randint(1024, (1, *grid), generator=rng)
    whole = codec.pixels(codec.quantizer.lookup(codes))
    assert torch.equal(codec.decode(codes), whole.clamp(0, 1))


def test_a_grid_within_a_tile_is_decoded_in_one_piece():
    codes, calls = torch.zeros(1, 6, 5, dtype=torch.int64), []
    decode_tiles(lambda part: calls.append(part.shape) or torch.zeros(1, 3, 12, 10), codes, 2, tile=6)
    assert calls == [codes.shape]


@pytest.mark.parametrize("grid", [(7, 7), (6, 20), (13, 9)])
def test_tiles_of_a_purely_local_decoder_equal_the_whole(grid, rng):
    """With a decoder that looks no further than its own code, overlap and fading change nothing."""
    codes = torch.randint(100, (2, *grid), generator=rng)

    def decode(part):
        assert max(part.shape[1:]) <= 6, "no part is larger than a tile"
        return part[:, None].expand(-1, 3, -1, -1).repeat_interleave(2, 2).repeat_interleave(2, 3).float()

    tiled = decode_tiles(decode, codes, factor=2, tile=6, overlap=2)
    expected = codes[:, None].expand(-1, 3, -1, -1).repeat_interleave(2, 2).repeat_interleave(2, 3).float()
    torch.testing.assert_close(tiled, expected)
