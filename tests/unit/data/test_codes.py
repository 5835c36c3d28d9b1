import io
import json
import tarfile
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.together import together
from tests.untrained import SMALL_CODEC
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import QuantizerConfig
from unmask.data import codes as store
from unmask.data.codes import encode_pixels, open_codes
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.data.transforms import to_tensor
from unmask.data.views import every_view
from unmask.distributed import ALONE
from unmask.errors import DataError
from unmask.rng import generator

CODEC = replace(SMALL_CODEC, quantizer=QuantizerConfig(codebook_size=300))


@pytest.fixture
def codec():
    return Autoencoder(CODEC, generator(0)).eval()


@pytest.fixture
def pixels(tmp_path, rng):
    pictures = torch.randint(256, (23, 8, 8, 3), generator=rng, dtype=torch.uint8).numpy()
    np.save(tmp_path / "noise.npy", pictures)
    source = open_source(str(tmp_path / "noise.npy"))
    return open_pixels(source, ImagesConfig(size=8, validation=0.3), tmp_path / "cache")


@pytest.fixture
def make(codec, pixels, tmp_path):
    def make(
        flips=True,
        shift=0,
        batch=4,
        out="noise.codes",
        captions=(),
        pixels=pixels,
        encode=codec.encode,
        processes=ALONE,
        **others,
    ):
        images = ImagesConfig(size=8, validation=0.3, flip=flips, shift=shift, **others)
        about = {"codec": "abc", "grid": (4, 4), "codebook_size": 300, "data": "noise", "captions": captions}
        return encode_pixels(
            encode, pixels, images, tmp_path / out, **about, batch=batch, processes=processes
        )

    return make


def expected(codec, pixels, split, *, mirrored=False):
    images = to_tensor(pixels.split(split).read(range(len(pixels.split(split)))))
    with torch.no_grad():
        return codec.encode(images.flip(3) if mirrored else images).flatten(1)


def test_codes_are_those_of_the_pictures_and_of_their_mirror_images(make, codec, pixels):
    codes = make()
    train = codes.split("train")
    everything = train.read(range(len(train)))
    assert torch.equal(everything[0::2], expected(codec, pixels, "train"))
    assert torch.equal(everything[1::2], expected(codec, pixels, "train", mirrored=True))
    validation = codes.split("validation")
    assert torch.equal(validation.read(range(len(validation))), expected(codec, pixels, "validation"))
    assert everything.dtype == torch.int64


def test_without_flips_there_is_a_row_a_picture(make, pixels):
    assert len(make(flips=False).split("train")) == len(pixels.split("train"))


def test_shards_are_encoded_together_without_a_stored_pixel(make, codec, pixels, tmp_path):
    """Two shards and three processes: the codes are those of one process that has the pictures in a file."""
    source = write_shards(tmp_path, np.load(tmp_path / "noise.npy"), 15)
    images = ImagesConfig(size=8, cache="off", validation=0.3)

    def encode(group):
        streamed = open_pixels(source, images, tmp_path / "streamed", processes=group)
        return make(out="shards.codes", pixels=streamed, processes=group), streamed

    found = together(3, encode)
    assert found[0][1].whole().names == [f"{number:03}.png" for number in range(23)]
    for codes, streamed in found:
        for split in ("train", "validation"):
            rows = codes.split(split).read(range(0, len(codes.split(split)), 2 if split == "train" else 1))
            assert torch.equal(rows, expected(codec, streamed, split))
    assert not list((tmp_path / "streamed").rglob("*.npy"))


def write_shards(folder, pictures, border):
    """A source of two tar archives."""
    for shard, numbers in enumerate((range(border), range(border, len(pictures)))):
        with tarfile.open(folder / f"x-{shard}.tar", "w") as archive:
            for number in numbers:
                Image.fromarray(pictures[number]).save(file := io.BytesIO(), "PNG")
                member = tarfile.TarInfo(f"{number:03}.png")
                member.size = file.tell()
                archive.addfile(member, io.BytesIO(file.getvalue()))
    return open_source(str(folder / "x-{0..1}.tar"))


def test_memory_does_not_grow_with_the_pixels_of_all_pictures(make, tmp_path):
    """Of 240 more there are names, hashes and places, a tenth of their pixels; 64 may be decoded ahead."""
    largest, images = [], ImagesConfig(size=64, cache="off", validation=0.3)
    for count in (80, 320):
        colours = np.arange(count, dtype="<u4").view(np.uint8).reshape(count, 1, 1, 4)[..., :3]
        source = write_shards(tmp_path, np.broadcast_to(colours, (count, 64, 64, 3)), count // 2)
        sizes = []

        def look(*_, sizes=sizes):
            sizes.append(tracemalloc.get_traced_memory()[0])

        tracemalloc.start()
        look()
        pixels = open_pixels(source, images, tmp_path / f"streamed-{count}", progress=look)
        make(
            out=f"{count}.codes", pixels=pixels, encode=lambda batch: look() or torch.zeros(len(batch), 4, 4)
        )
        tracemalloc.stop()
        largest.append(max(sizes) - sizes[0])
    assert largest[1] - largest[0] < 0.5 * 240 * 64 * 64 * 3


CROPS = {"crop": "random", "scale": (1.0, 2.0), "crops": 3}


class TestRandomCrops:
    @pytest.fixture
    def cropped(self, tmp_path, pixels):
        source = open_source(str(tmp_path / "noise.npy"))
        return open_pixels(source, ImagesConfig(size=8, validation=0.3, **CROPS), tmp_path / "cache")

    def test_every_crop_has_its_rows_and_validation_the_first(self, make, codec, cropped):
        codes = make(pixels=cropped, **CROPS)
        train = cropped.split("train")
        rows = codes.split("train").read(range(6 * len(train))).reshape(len(train), 6, 16)
        with torch.no_grad():
            crops = [codec.encode(to_tensor(train.read(range(len(train)), n))).flatten(1) for n in range(3)]
        assert torch.equal(rows[:, 0::2], torch.stack(crops, 1))
        assert not torch.equal(rows[:, 0], rows[:, 2])
        validation = codes.split("validation")
        assert torch.equal(validation.read(range(len(validation))), expected(codec, cropped, "validation"))

    def test_another_number_of_them_is_another_store(self, make, cropped):
        make(pixels=cropped, **CROPS)
        with pytest.raises(DataError, match="other images or settings"):
            make(pixels=cropped, **CROPS | {"crops": 4})


def test_with_shifts_every_view_has_its_row_and_those_of_validation_stay_as_they_are(make, codec, pixels):
    codes = make(shift=1)
    train, validation = codes.split("train"), codes.split("validation")
    pictures = pixels.split("train").read([3])
    views = [np.ascontiguousarray(view) for view in every_view(pictures, flip=True, shift=1)]
    with torch.no_grad():
        expected_rows = torch.cat([codec.encode(to_tensor(view)).flatten(1) for view in views])
    assert torch.equal(train.read(range(30, 40)), expected_rows)
    assert torch.equal(validation.read(range(len(validation))), expected(codec, pixels, "validation"))


def test_a_store_is_memory_mapped_and_small(make, tmp_path):
    make()
    rows = np.load(tmp_path / "noise.codes/codes.npy", mmap_mode="r")
    assert rows.dtype == np.uint16
    assert rows.shape == (23, 2, 16)


@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_an_encoding_that_was_cut_off_goes_on(make, codec, pixels, tmp_path, monkeypatch, stop_after):
    real, calls = store._encode, []
    monkeypatch.setattr(store, "_encode", lambda *a: calls.append(0) or real(*a))
    whole = make(out="whole.codes")
    num_batches = len(calls)
    calls.clear()

    def cut_off(*arguments):
        calls.append(1)
        if len(calls) > stop_after:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(store, "_encode", cut_off)
    with pytest.raises(KeyboardInterrupt):
        make()
    monkeypatch.setattr(store, "_encode", real)
    with (tmp_path / ".noise.codes.partial/codes.npy").open("ab") as file:
        file.write(b"half a row")
    monkeypatch.setattr(store, "_encode", lambda *a: calls.append(2) or real(*a))
    resumed = make(workers=1)
    assert np.array_equal(resumed._rows, whole._rows)
    assert calls.count(2) == num_batches - stop_after, "what was there is not encoded again"


@pytest.mark.parametrize("length", [0, 40])
def test_a_file_cut_off_within_its_header_is_begun_anew(make, tmp_path, length):
    whole = np.array(make()._rows)
    partial = tmp_path / ".noise.codes.partial"
    (tmp_path / "noise.codes").rename(partial)
    (partial / "codes.npy").write_bytes((partial / "codes.npy").read_bytes()[:length])
    assert np.array_equal(make()._rows, whole)


def test_of_two_that_encode_the_same_one_waits_for_the_other(make, monkeypatch):
    real, calls = store._encode, []
    second = threading.Thread(target=make)

    def together(*arguments):
        calls.append(1)
        if len(calls) == 1:
            second.start()
            second.join(timeout=0.3)  # time enough to write a row, were it not for the first
        return real(*arguments)

    monkeypatch.setattr(store, "_encode", together)
    rows = make()._rows
    second.join()
    num_calls = len(calls)
    assert np.array_equal(rows, make(out="whole.codes")._rows)
    assert len(calls) == 2 * num_calls, "the second found everything done"


def test_a_partial_store_of_another_codec_is_not_gone_on_with(make, codec, pixels, tmp_path):
    whole = make(out="whole.codes")
    partial = tmp_path / ".noise.codes.partial"
    partial.mkdir()
    (partial / "codes.json").write_text(json.dumps({"codec": "other"}))
    (partial / "codes.npy").write_bytes(b"\0" * 10_000)
    assert np.array_equal(make()._rows, whole._rows)


def test_codes_of_another_codec_are_refused_with_what_to_type(make, tmp_path):
    make()
    with pytest.raises(DataError) as error:
        open_codes(tmp_path / "noise.codes", "def")
    assert "codes from codec abc" in str(error.value)
    assert "unmask encode CODEC noise" in str(error.value)


def test_a_store_of_other_settings_is_not_mistaken_for_these(make):
    make(flips=True)
    for other in ({"flips": False}, {"shift": 1}):
        with pytest.raises(DataError, match="other images or settings"):
            make(**other)


def cut(path):
    path.write_bytes(path.read_bytes()[:-10])


def flip(path):
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 8]) + data[-1:])


def shorten(path):
    np.save(path, np.load(path)[:5])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("name", ["codes.npy", "codes.json", "index.jsonl"])
@pytest.mark.parametrize("damage", [cut, flip, empty, Path.unlink])
def test_a_damaged_store_is_refused_where_it_is_read_and_made_again_where_it_is_made(
    make, tmp_path, damage, name
):
    whole = np.array(make()._rows)
    damage(tmp_path / "noise.codes" / name)
    with pytest.raises(DataError, match=r"codes\.npy|codes\.json|holds no codes"):
        open_codes(tmp_path / "noise.codes", "abc")
    assert np.array_equal(make()._rows, whole)
    assert np.array_equal(open_codes(tmp_path / "noise.codes", "abc")._rows, whole)


@pytest.mark.parametrize("content", ["{}", "[", "[]", '{"format": 99}', '{"format": 1, "codec": "abc"}'])
def test_a_stamp_that_says_nothing_is_refused(make, tmp_path, content):
    make()
    (tmp_path / "noise.codes/codes.json").write_text(content)
    with pytest.raises(DataError, match=r"codes\.json"):
        open_codes(tmp_path / "noise.codes", "abc")


def test_a_store_of_a_newer_version_is_never_made_again(make, tmp_path):
    make()
    (tmp_path / "noise.codes/codes.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match="upgrade"):
        make()


def test_a_folder_of_somebody_elses_is_never_made_again(make, tmp_path):
    make()
    (tmp_path / "noise.codes/codes.json").unlink()
    (tmp_path / "noise.codes/notes.txt").touch()
    with pytest.raises(DataError, match="holds no codes"):
        make()
    make(out="damaged.codes")
    with (tmp_path / "damaged.codes/codes.npy").open("r+b") as rows:
        rows.seek(-1, 2)
        rows.write(b"?")
    (tmp_path / "damaged.codes/notes.txt").touch()
    with pytest.raises(DataError, match=r"is damaged, but .* also holds notes\.txt"):
        make(out="damaged.codes")
    assert (tmp_path / "damaged.codes/notes.txt").exists()
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is a file; codes are kept in a folder"):
        make(out="file")


class TestAStoreOfTheVersionBefore:
    """It has no hashes: shape, type and range are all that can be looked at."""

    @pytest.fixture
    def older(self, make, tmp_path):
        whole = np.array(make()._rows)
        folder = tmp_path / "noise.codes"
        stamp = json.loads((folder / "codes.json").read_bytes()) | {"format": 1}
        del stamp["checksum"]
        (folder / "codes.json").write_text(json.dumps(stamp))
        for name in ("index.jsonl", "whole.json"):
            (folder / name).unlink()
        return folder, whole

    def test_is_read(self, older, make):
        folder, whole = older
        assert np.array_equal(open_codes(folder, "abc")._rows, whole)
        assert np.array_equal(make()._rows, whole)
        assert not (folder / "index.jsonl").exists()

    @pytest.mark.parametrize("damage", [cut, shorten, lambda path: np.save(path, np.load(path) + 300)])
    def test_is_refused_or_made_again_where_it_cannot_be_right(self, older, make, damage):
        folder, whole = older
        damage(folder / "codes.npy")
        with pytest.raises(DataError, match=r"codes\.npy is damaged"):
            open_codes(folder, "abc")
        assert np.array_equal(make()._rows, whole)


def test_a_folder_without_codes_says_how_to_make_some(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match="unmask encode"):
        open_codes(tmp_path, "abc")


class TestCaptions:
    @pytest.fixture
    def captions(self, pixels):
        return [None, *(f"number {number}" for number in range(1, len(pixels)))]

    def test_every_view_of_a_picture_has_its_caption(self, make, pixels, captions, tmp_path):
        make(captions=captions)
        codes, border = open_codes(tmp_path / "noise.codes", "abc"), len(pixels.split("train"))
        assert codes.split("train").captions == [told for told in captions[:border] for _ in range(2)]
        assert codes.split("validation").captions == captions[border:]

    def test_a_store_without_captions_has_none(self, make, tmp_path):
        codes = make()
        assert codes.split("train").captions == [None] * len(codes.split("train"))
        assert codes.stamp.captions == ""
        assert not (tmp_path / "noise.codes" / "captions.json").exists()

    def test_another_room_for_them_holds_where_the_codes_are_known(self, make, captions, tmp_path):
        make(captions=captions, caption_words=16)
        again = make(captions=captions, caption_words=4)
        assert again.stamp.images["caption_words"] == 4
        assert open_codes(tmp_path / "noise.codes", "abc").stamp.images["caption_words"] == 4

    def test_other_captions_leave_the_codes(self, make, captions, tmp_path):
        make(captions=captions)
        before = (tmp_path / "noise.codes" / "codes.npy").stat().st_mtime_ns
        for told in (["something else"] * len(captions), [], captions):
            last = make(captions=told).split("validation").captions[-1]
            assert last == (told[-1] if told else None)
        assert (tmp_path / "noise.codes" / "codes.npy").stat().st_mtime_ns == before

    @pytest.mark.parametrize("damage", [None, "[]", '["x"]', "{", "7"])
    def test_captions_that_were_damaged_are_refused_and_mended(self, make, tmp_path, captions, damage):
        make(captions=captions)
        path = tmp_path / "noise.codes" / "captions.json"
        path.write_text(damage) if damage else path.unlink()
        with pytest.raises(DataError, match=r"captions\.json is absent or damaged"):
            open_codes(tmp_path / "noise.codes", "abc")
        make(captions=captions)
        open_codes(tmp_path / "noise.codes", "abc")
