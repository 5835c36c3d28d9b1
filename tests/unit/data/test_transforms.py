import io
import struct
import threading
import time
import zlib
from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageColor

from unmask.data.transforms import (
    MAX_SLOW_PIXELS,
    UPRIGHT,
    Room,
    contact_sheet,
    decode,
    decoding,
    develop,
    identify,
    square,
    to_pictures,
    to_tensor,
    upright_jpeg,
)
from unmask.errors import DataError

QUARTERS = Image.fromarray(  # red, green / blue, white: every turn of it is different
    np.array([[(255, 0, 0), (0, 255, 0)], [(0, 0, 255), (255, 255, 255)]], np.uint8)
).resize((48, 32), Image.Resampling.NEAREST)


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image).astype(int)


def bomb(width: int, height: int, colour: int = 2) -> bytes:
    """A PNG that is all header; of colour 3 it lacks the palette that this type has."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(height * (width + 1)) if colour == 3 else b""))
        + chunk(b"IEND", b"")
    )


class TestDecode:
    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "TIFF", "PPM"])
    def test_lossless_formats_come_back_as_they_were(self, encode, noise, kind):
        options = {"lossless": True} if kind == "WEBP" else {}
        assert (pixels(decode(encode(noise(), kind, **options))) == pixels(noise())).all()

    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_a_turned_picture_is_turned_upright(self, encode, kind, orientation):
        exif = Image.Exif()
        exif[0x0112] = orientation
        data = encode(QUARTERS, kind, exif=exif, quality=95)
        upright = QUARTERS.transpose(UPRIGHT[orientation]) if orientation > 1 else QUARTERS
        assert abs(pixels(decode(data)) - pixels(upright)).mean() < 12  # the exact pixels but for JPEG's loss

    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
    def test_what_is_upright_is_not_turned_again(self, encode, kind):
        exif = Image.Exif()
        exif[0x0112] = 6
        once = decode(encode(QUARTERS.resize((16, 32)), kind, exif=exif))
        assert once.size == (32, 16)
        assert (pixels(develop(once, "white")) == pixels(once)).all()

    def test_broken_metadata_do_not_cost_the_picture(self, encode, noise):
        data = encode(noise(), exif=b"Exif\0\0MM\0*\0\0")
        with pytest.raises(Exception, match=r"."):
            identify(data).getexif()
        assert (pixels(decode(data)) == pixels(noise())).all()

    @pytest.mark.parametrize("kind", ["PNG", "TIFF"])
    def test_sixteen_bit_grey_is_scaled_and_not_clipped(self, encode, kind):
        ramp = np.linspace(0, 65535, 256).round().astype(np.uint16).reshape(16, 16)
        decoded = pixels(decode(encode(Image.fromarray(ramp), kind)))
        assert (decoded[..., 0].ravel() == np.arange(256)).all()

    @pytest.mark.parametrize(
        ("white", "dtype"), [(1, "float32"), (255, "float32"), (65535, "int32"), (9e9, "float32")]
    )
    def test_the_brightest_level_of_wide_grey_is_white(self, encode, white, dtype):
        ramp = (np.linspace(0, 1, 256) * white).astype(dtype).reshape(16, 16)
        decoded = pixels(decode(encode(Image.fromarray(ramp), "TIFF")))
        assert abs(decoded[..., 0].ravel() - np.arange(256)).max() <= 1

    def test_numbers_that_are_none_are_black(self, encode):
        ramp = np.full((16, 16), 0.5, np.float32)
        ramp[0] = np.nan
        decoded = pixels(decode(encode(Image.fromarray(ramp), "TIFF")))
        assert decoded[0].max() == 0
        assert decoded[1:].min() == decoded[1:].max() == 128

    def test_a_picture_without_any_number_is_black(self, encode):
        data = encode(Image.fromarray(np.full((16, 16), np.nan, np.float32)), "TIFF")
        assert pixels(decode(data)).max() == 0

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr", "LAB"])
    def test_every_mode_becomes_rgb(self, encode, mode):
        kind = "PNG" if mode in ("LA", "P", "RGBA") else "TIFF"
        assert decode(encode(Image.new(mode, (16, 16)), kind)).mode == "RGB"

    def test_cmyk_white_is_white(self, encode):
        data = encode(Image.new("RGB", (16, 16), "white").convert("CMYK"), "JPEG")
        assert pixels(decode(data)).min() > 250

    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
    def test_what_is_transparent_shows_the_background(self, encode, kind):
        image = Image.new("RGBA", (16, 16), (255, 0, 0, 0))
        image.paste((255, 0, 0, 255), (0, 0, 8, 16))
        decoded = decode(encode(image, kind, lossless=True), background="#0000ff")
        assert decoded.getpixel((0, 0)) == (255, 0, 0)
        assert decoded.getpixel((15, 0)) == (0, 0, 255)

    def test_half_transparent_is_half_background(self, encode):
        data = encode(Image.new("RGBA", (16, 16), (0, 0, 0, 128)))
        assert decode(data).getpixel((8, 8)) == (127, 127, 127)

    def test_a_palette_can_be_transparent(self, encode):
        image = QUARTERS.convert("P", palette=Image.Palette.ADAPTIVE)
        data = encode(image, transparency=image.getpixel((0, 0)))
        assert decode(data, background="black").getpixel((0, 0)) == (0, 0, 0)
        assert decode(data, background="black").getpixel((47, 31)) == (255, 255, 255)

    def test_one_colour_can_be_transparent(self, encode):
        assert decode(encode(QUARTERS, transparency=(255, 0, 0)), background="black").getpixel((0, 0)) == (
            0,
            0,
            0,
        )

    @pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
    def test_of_an_animation_the_first_frame_counts(self, encode, kind):
        frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "blue")]
        data = encode(frames[0], kind, save_all=True, append_images=frames[1:])
        assert abs(pixels(decode(data))[8, 8] - (255, 0, 0)).max() <= 3

    def test_a_truncated_picture_says_so(self, encode, noise):
        with pytest.raises(DataError, match="truncated"):
            decode(encode(noise(width=64, height=64), "JPEG")[:-500])

    def test_a_text_is_not_a_picture(self):
        with pytest.raises(DataError, match="not an image"):
            decode(b"Dear diary")

    def test_nothing_is_not_a_picture(self):
        with pytest.raises(DataError, match="empty"):
            decode(b"")

    @pytest.mark.parametrize("size", [(30_000, 30_000), (9_460, 9_460)])
    def test_a_bomb_is_refused_by_its_header(self, size):
        with pytest.raises(DataError, match="pixels allowed"):
            identify(bomb(*size))

    @pytest.mark.filterwarnings("ignore")
    def test_a_bomb_is_refused_where_pillow_only_warns(self):
        with pytest.raises(DataError, match="pixels allowed"):
            identify(bomb(9_460, 9_460))

    def test_formats_that_nobody_asked_for_are_not_parsed(self, encode, noise):
        with pytest.raises(DataError, match="not an image"):
            decode(encode(noise(), "ICO"))


SEEDS = {
    "JPEG": {"quality": 90},
    "PNG": {},
    "GIF": {},
    "WEBP": {},
    "BMP": {},
    "TIFF": {"compression": "tiff_lzw"},
}


@pytest.mark.filterwarnings("ignore")  # Pillow grumbles about some of them
@pytest.mark.parametrize("kind", SEEDS)
@settings(max_examples=100, deadline=None, database=None)
@given(
    damage=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=8),
    cut=st.integers(1, 2000),
)
def test_damage_of_any_kind_gives_a_picture_or_a_reason(kind, damage, cut):
    file = io.BytesIO()
    QUARTERS.save(file, kind, **SEEDS[kind])
    data = bytearray(file.getvalue()[:cut])
    for place, value in damage:
        data[place % len(data)] = value
    with suppress(DataError):
        assert decode(bytes(data)).mode == "RGB"


class TestSquare:
    @pytest.mark.parametrize("size", [(128, 64), (64, 128), (64, 64)])
    def test_it_is_the_shorter_side_resized_and_the_centre_cropped(self, noise, size):
        image = noise(1, 8, 8).resize(size, Image.Resampling.BICUBIC)
        whole = image.resize((size[0] // 2, size[1] // 2), Image.Resampling.LANCZOS)
        left, top = (whole.width - 32) // 2, (whole.height - 32) // 2
        expected = whole.crop((left, top, left + 32, top + 32))
        assert abs(pixels(square(image, 32)) - pixels(expected)).max() <= 1

    def test_fine_detail_is_averaged_and_not_skipped(self):
        """A picture of one-pixel stripes becomes grey; picking pixels would give black or white."""
        stripes = Image.fromarray(np.tile(np.array([0, 255], np.uint8), (256, 128))).convert("RGB")
        assert abs(pixels(square(stripes, 16)) - 127.5).max() < 4

    def test_the_longer_side_loses_both_ends_alike(self):
        wide = Image.new("RGB", (300, 100), "black")
        wide.paste("white", (100, 0, 200, 100))
        assert pixels(square(wide, 50))[:, 3:-3].min() > 250

    def test_a_small_picture_is_enlarged(self, noise):
        assert square(noise(), 40).size == (40, 40)


class TestWhateverADecoderRaises:
    def test_a_palette_that_is_missing_costs_the_picture(self):
        with pytest.raises(DataError, match=r"damaged: \w+"):
            decode(bomb(8, 8, colour=3))

    @pytest.mark.parametrize("error", [AssertionError, RuntimeError, MemoryError, RecursionError, KeyError])
    def test_costs_the_picture(self, encode, noise, monkeypatch, error):
        def fail(*_: object) -> None:
            raise error("from within")

        header = identify(encode(noise()))
        monkeypatch.setattr(type(header), "load", fail)
        with pytest.raises(DataError, match=r"damaged: .*from within"):
            decode(encode(noise()))


class TestBounds:
    @pytest.mark.parametrize("size", [10, 2000])
    def test_many_bytes_that_decode_slowly_are_refused_before(self, size):
        """Runs that go nowhere, and comments between numbers, take minutes for a few pixels."""
        runs = b"\0\2\0\0" * 1_000_001
        header = struct.pack("<IiiHHIIiiII", 40, size, size, 1, 8, 1, len(runs), 0, 0, 256, 0)
        file = b"BM" + struct.pack("<IHHI", 1078 + len(runs), 0, 0, 1078) + header + bytes(1024) + runs
        with pytest.raises(DataError, match="decodes slowly"):
            decode(file)
        with pytest.raises(DataError, match="decodes slowly"):
            decode(b"P3 10 10 255 " + b"#\n" * 10)

    def test_what_would_decode_for_minutes_is_refused_before(self):
        side, wide = int(MAX_SLOW_PIXELS**0.5) + 1, b"P6\n%d %d\n65535\n"
        with pytest.raises(DataError, match="decodes slowly"):
            identify(wide % (side, side))
        identify(wide % (side - 1, side - 1))
        identify(b"P6\n%d %d\n255\n" % (side, side))

    def test_no_more_pixels_are_decoded_at_once_than_there_is_room_for(self):
        room, lock = Room(100), threading.Lock()
        now, most, done = 0, 0, []

        def work(num_pixels: int) -> None:
            nonlocal now, most
            with room.taken(num_pixels):
                with lock:
                    now += min(num_pixels, 100)
                    most = max(most, now)
                time.sleep(0.005)
                with lock:
                    now -= min(num_pixels, 100)
            done.append(num_pixels)

        sizes = [30, 100, 40, 250, 1, 60, 70, 20] * 3  # one that is larger than all room has all of it
        threads = [threading.Thread(target=work, args=(size,)) for size in sizes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == 100
        assert sorted(done) == sorted(sizes)

    def test_room_is_given_back_when_decoding_fails(self):
        room = Room(10)
        for _ in range(3):
            with pytest.raises(ValueError, match="x"), room.taken(10):
                raise ValueError("x")


class TestFastDecode:
    @pytest.mark.parametrize("mode", ["RGB", "L"])
    @pytest.mark.parametrize("size", [(640, 480), (20, 30)])
    def test_it_is_nearly_the_plain_picture(self, encode, noise, mode, size):
        smooth = noise(0, 8, 6).resize(size, Image.Resampling.BICUBIC).convert(mode)
        data = encode(smooth, "JPEG", quality=90)
        fast = upright_jpeg(identify(data), data, 64)
        assert fast.size == size or (min(fast.size) >= 64 and fast.width < size[0])
        plain = decode(data)
        assert abs(pixels(square(fast, 64)) - pixels(square(plain, 64))).mean() < 4

    def test_it_is_turned_upright_too(self, encode):
        exif = Image.Exif()
        exif[0x0112] = 6
        data = encode(QUARTERS, "JPEG", exif=exif, quality=95)
        assert (
            abs(pixels(upright_jpeg(identify(data), data, 8).resize((32, 48))) - pixels(decode(data))).mean()
            < 12
        )

    def test_a_truncated_picture_is_an_error(self, encode, noise):
        data = encode(noise(width=64, height=64), "JPEG")[:-500]
        header = identify(data)
        with pytest.raises(DataError, match="damaged"), decoding(*header.size):
            upright_jpeg(header, data, 8)


class TestTensors:
    def test_pixels_survive_the_way_to_a_tensor_and_back(self, noise):
        images = np.stack([np.asarray(noise(number, 12, 8)) for number in range(3)])
        tensor = to_tensor(images)
        assert tensor.shape == (3, 3, 8, 12)
        assert tensor.dtype == torch.float32
        assert tensor.is_contiguous()
        assert (tensor[1, 2, 3, 4] * 255).round() == images[1, 3, 4, 2]
        assert to_pictures(tensor) == [noise(number, 12, 8) for number in range(3)]

    def test_black_is_zero_and_white_is_one(self):
        assert to_tensor(np.array([0, 255, 0], np.uint8).reshape(1, 1, 1, 3)).flatten().tolist() == [0, 1, 0]

    def test_what_is_out_of_range_is_clipped(self):
        colour = torch.tensor([-0.2, 0.5, 1.7]).reshape(1, 3, 1, 1)
        assert to_pictures(colour)[0].getpixel((0, 0)) == (0, 128, 255)


class TestGrid:
    def test_pictures_stand_row_by_row(self):
        colours = ["red", "lime", "blue", "black", "gray"]
        sheet = contact_sheet([Image.new("RGB", (10, 6), colour) for colour in colours], columns=3, gap=2)
        assert sheet.size == (34, 14)
        found = [sheet.getpixel((12 * column + 5, 8 * row + 3)) for row in (0, 1) for column in (0, 1, 2)]
        assert found == [ImageColor.getrgb(colour) for colour in [*colours, "white"]]

    def test_fewer_pictures_than_columns_make_one_short_row(self):
        assert contact_sheet([Image.new("RGB", (10, 6))] * 2, columns=8).size == (22, 6)
