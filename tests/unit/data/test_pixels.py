import errno
import shutil
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unmask.data import cache as cache_module
from unmask.data import pixels as module
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source
from unmask.data.transforms import decode, square
from unmask.errors import ConfigError, DataError
from unmask.storage.arrays import Growing

CONFIG = ImagesConfig(size=8, validation=0.3)
OFF = ImagesConfig(size=8, validation=0.3, cache="off")


class Work:
    """Counts the pictures that are decoded; may be told to give up after some."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.decoded = 0
        self.stop_after = stop_after

    def __call__(self, done: int, total: int) -> None:
        self.decoded += 1
        if done == self.stop_after:
            raise KeyboardInterrupt


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def opened(folder, cache):
    """Open the folder's pixels and say how many pictures had to be decoded for that."""

    def opened(config: ImagesConfig = CONFIG):
        work = Work()
        return open_pixels(open_source(str(folder)), config, cache, progress=work), work.decoded

    return opened


def everything(pixels) -> dict[str, np.ndarray]:
    sets = [pixels.split("train"), pixels.split("validation")]
    return {name: one.read([row])[0] for one in sets for row, name in enumerate(one.names)}


def expected(folder: Path, leaving_out: str = "") -> dict[str, np.ndarray]:
    paths = [path for path in folder.glob("*.png") if path.name != leaving_out]
    return {path.name: np.asarray(square(decode(path.read_bytes()), 8)) for path in paths}


def same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> bool:
    return left.keys() == right.keys() and all((left[name] == right[name]).all() for name in left)


@pytest.mark.parametrize("config", [CONFIG, OFF], ids=["prepared", "off"])
class TestEitherWay:
    def test_every_picture_is_in_one_split_with_its_own_pixels(self, folder, opened, config):
        pixels, decoded = opened(config)
        assert same(everything(pixels), expected(folder))
        assert len(pixels) == len(pixels.split("train")) + len(pixels.split("validation")) == decoded == 12
        assert len(pixels.split("validation")) > 0

    def test_many_are_read_at_once_in_the_order_asked_for(self, opened, config):
        train = opened(config)[0].split("train")
        batch = train.read([3, 0, 3])
        assert batch.shape == (3, 8, 8, 3)
        assert batch.dtype == np.uint8
        assert (batch == np.stack([train.read([row])[0] for row in (3, 0, 3)])).all()

    def test_what_is_read_may_be_written_to(self, opened, config):
        train = opened(config)[0].split("train")
        train.read([0])[:] = 0
        assert train.read([0]).max() > 0

    def test_the_second_time_nothing_is_prepared(self, folder, opened, config):
        opened(config)
        pixels, decoded = opened(config)
        assert decoded == 0
        assert same(everything(pixels), expected(folder))

    def test_unusable_pictures_are_left_out_and_named(self, folder, opened, config):
        (folder / "05.png").write_text("Dear diary")
        good = expected(folder, leaving_out="05.png")
        for pixels, _ in (opened(config), opened(config)):
            assert [(item.name, item.reason) for item in pixels.unusable] == [("05.png", "not an image")]
            assert same(everything(pixels), good)

    @pytest.mark.parametrize("stop_after", [1, 7, 12])
    def test_what_was_done_before_a_stop_is_not_done_again(self, folder, cache, opened, config, stop_after):
        with pytest.raises(KeyboardInterrupt):
            open_pixels(open_source(str(folder)), config, cache, progress=Work(stop_after))
        pixels, decoded = opened(config)
        assert decoded == 12 - stop_after
        assert same(everything(pixels), expected(folder))

    def test_a_kill_costs_nothing(self, folder, cache, opened, config):
        code = f"""
import os, signal
from pathlib import Path
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source

def die(done, total):
    if done == 5:
        os.kill(os.getpid(), signal.SIGKILL)

open_pixels(open_source({str(folder)!r}), {config!r}, Path({str(cache)!r}), progress=die)
"""
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
        pixels, decoded = opened(config)
        assert decoded == 7
        assert same(everything(pixels), expected(folder))

    def test_a_full_disk_keeps_what_is_done_and_says_what_to_do(
        self, folder, cache, opened, config, monkeypatch
    ):
        write = Growing.append

        def fill_up(rows, *labels, **row):
            if len(rows.lines) == 5:
                raise OSError(errno.ENOSPC, "No space left on device")
            write(rows, *labels, **row)

        monkeypatch.setattr(Growing, "append", fill_up)
        with pytest.raises(DataError, match=r"full(.|\n)*UNMASK_CACHE"):
            opened(config)
        monkeypatch.setattr(Growing, "append", write)
        assert opened(config)[1] == 7

    def test_nothing_usable_is_an_error_with_the_first_reason(self, folder, opened, config):
        for path in folder.iterdir():
            path.write_text("Dear diary")
        with pytest.raises(DataError, match=r"none of the 12 .*00\.png: not an image"):
            opened(config)

    def test_no_pictures_is_an_error_that_says_what_is_there(self, folder, opened, config):
        for path in folder.iterdir():
            path.rename(path.with_suffix(".heic"))
        with pytest.raises(DataError, match=r"no images but 12 \.heic; wanted .*\.png"):
            opened(config)

    def test_a_single_picture_needs_validation_0(self, folder, opened, config):
        for path in sorted(folder.iterdir())[1:]:
            path.unlink()
        with pytest.raises(DataError, match=r"--images\.validation 0"):
            opened(config)
        pixels, _ = opened(ImagesConfig(size=8, validation=0, cache=config.cache))
        assert len(pixels.split("train")) == 1
        assert len(pixels.split("validation")) == 0
        assert pixels.split("validation").read([]).shape == (0, 8, 8, 3)


class TestNeverStale:
    def test_a_changed_picture_is_prepared_again(self, folder, opened, noise):
        opened()
        noise(99).save(folder / "03.png")
        pixels, _ = opened()
        assert same(everything(pixels), expected(folder))

    def test_an_added_picture_is_there(self, folder, opened, noise):
        opened()
        noise(99).save(folder / "new.png")
        assert "new.png" in everything(opened()[0])

    @pytest.mark.parametrize(
        "change", [{"size": 9}, {"background": "black"}, {"min_side": 4}, {"fast_decode": True}]
    )
    def test_a_setting_that_changes_pixels_is_not_served_old_ones(self, opened, change):
        opened()
        assert opened(ImagesConfig(**{"size": 8, "validation": 0.3} | change))[1] == 12

    def test_a_setting_that_does_not_change_pixels_costs_nothing(self, opened):
        opened()
        assert opened(ImagesConfig(size=8, validation=0.5, flip=False, workers=3))[1] == 0

    @pytest.mark.parametrize("file", ["pixels.npy", "index.jsonl"])
    def test_a_damaged_cache_is_made_again(self, folder, cache, opened, file):
        opened()
        [damaged] = cache.glob(f"*.pixels/{file}")
        damaged.write_bytes(damaged.read_bytes()[:-300])
        pixels, decoded = opened()
        assert decoded == 12
        assert same(everything(pixels), expected(folder))

    def test_a_flipped_bit_of_a_pixel_is_noticed(self, folder, cache, opened):
        opened()
        [stored] = cache.glob("*.pixels/pixels.npy")
        stored.write_bytes(stored.read_bytes()[:-1] + b"\x55")
        pixels, decoded = opened()
        assert decoded == 12
        assert same(everything(pixels), expected(folder))

    def test_a_cache_of_the_version_before_is_taken_as_it_is(self, folder, cache, opened):
        """Its lines have no checksum, and nothing says that it was compared."""
        opened()
        [whole] = cache.glob("*.pixels/whole.json")
        whole.unlink()
        index = whole.with_name("index.jsonl")
        lines = index.read_bytes().splitlines()
        index.write_bytes(b"".join(line.partition(b"\t")[0] + b"\n" for line in lines))
        pixels, decoded = opened()
        assert decoded == 0
        assert same(everything(pixels), expected(folder))

    @pytest.mark.parametrize("loss", ["torn line", "lost pixels", "noise"])
    def test_a_loss_of_power_leaves_nothing_wrong_behind(self, folder, cache, opened, loss):
        """The system may have written the index and not the pixels, or a part of a line."""
        with pytest.raises(KeyboardInterrupt):
            open_pixels(open_source(str(folder)), CONFIG, cache, progress=Work(6))
        [partial] = cache.glob(".*.partial")
        index, stored = partial / "index.jsonl", partial / "pixels.npy"
        if loss == "torn line":
            index.write_bytes(index.read_bytes()[:-5])
        elif loss == "lost pixels":
            stored.write_bytes(stored.read_bytes()[:-192] + bytes(192))
        else:
            index.write_bytes(index.read_bytes() + b"\0\xff\n\0")
        pixels, decoded = opened()
        assert decoded == (6 if loss == "noise" else 7)
        assert same(everything(pixels), expected(folder))
        assert opened()[1] == 0


class TestFingerprint:
    def test_it_is_the_same_stored_or_not_and_in_an_archive(self, folder, cache, opened):
        with zipfile.ZipFile(folder.parent / "set.zip", "w") as archive:
            for path in folder.iterdir():
                archive.write(path, path.name)
        packed = open_pixels(open_source(str(folder.parent / "set.zip")), CONFIG, cache, progress=Work())
        for name in ("train", "validation"):
            fingerprints = {
                pixels.split(name).fingerprint for pixels in (opened()[0], opened(OFF)[0], packed)
            }
            assert len(fingerprints) == 1

    def test_it_tells_sets_and_pixels_apart(self, folder, opened, noise):
        before = opened()[0]
        assert before.split("train").fingerprint != before.split("validation").fingerprint
        noise(99).save(folder / before.split("train").names[0])
        after = opened()[0]
        assert after.split("train").fingerprint != before.split("train").fingerprint

    def test_it_does_not_mind_names(self, folder, opened):
        before = opened()[0].split("train").fingerprint
        for path in list(folder.iterdir()):
            path.rename(path.with_name(f"renamed-{path.name}"))
        assert opened()[0].split("train").fingerprint == before


class TestCacheFolder:
    def test_it_is_where_the_environment_says(self, folder, tmp_path, monkeypatch):
        monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "elsewhere"))
        open_pixels(open_source(str(folder)), CONFIG, progress=Work())
        assert [path.name for path in (tmp_path / "elsewhere").glob("*.pixels/*")]

    def test_without_room_nothing_is_begun(self, opened, monkeypatch):
        usage = shutil.disk_usage("/")._replace(free=1000)
        monkeypatch.setattr(cache_module.shutil, "disk_usage", lambda _: usage)
        with pytest.raises(DataError, match=r"12 images take .* MB left(.|\n)*--images\.cache off"):
            opened()
        assert opened(OFF)[1] == 12

    def test_a_folder_that_cannot_be_made_is_an_error(self, folder, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(DataError, match=r"cannot hold prepared images(.|\n)*UNMASK_CACHE"):
            open_pixels(open_source(str(folder)), CONFIG, tmp_path / "file", progress=Work())

    def test_of_two_processes_one_prepares_and_both_read(self, folder, cache):
        code = f"""
from pathlib import Path
from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import open_source

decoded = []
note = lambda done, total: decoded.append(done)
pixels = open_pixels(open_source({str(folder)!r}), {CONFIG!r}, Path({str(cache)!r}), progress=note)
print(len(decoded), pixels.split("train").fingerprint)
"""
        command = [sys.executable, "-c", code]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=60)[0].split() for process in both]
        assert sorted(int(decoded) for decoded, _ in said) == [0, 12]
        assert said[0][1] == said[1][1]


class TestOff:
    def test_no_pixels_are_stored(self, cache, opened):
        opened(OFF)
        assert not list(cache.glob("**/pixels.npy"))

    def test_a_picture_that_is_gone_is_an_error_with_its_name(self, folder, opened):
        train = opened(OFF)[0].split("train")
        (folder / train.names[2]).unlink()
        with pytest.raises(DataError, match=train.names[2]):
            train.read([0, 1, 2])


def test_fast_decoding_without_its_library_says_what_to_install(folder, cache, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'unmask\[fast\]'"):
        open_pixels(open_source(str(folder)), ImagesConfig(fast_decode=True), cache)


def test_a_bar_is_shown_unless_someone_else_is_told(folder, cache, capsys):
    open_pixels(open_source(str(folder)), CONFIG, cache)
    assert capsys.readouterr().out == ""


def test_some_pictures_of_a_set_are_a_set_of_their_own(opened):
    train = opened(replace(CONFIG, captions="folder"))[0].split("train")
    some = train.take([3, 1])
    assert some.names == [train.names[3], train.names[1]]
    assert some.captions == [train.captions[3], train.captions[1]]
    assert np.array_equal(some.read([0, 1]), train.read([3, 1]))
    assert some.fingerprint == train.take([3, 1]).fingerprint
    assert len({some.fingerprint, train.take([1, 3]).fingerprint, train.fingerprint}) == 3


def test_pixels_do_not_wait_for_torch():
    code = "import sys, unmask.data.pixels, unmask.cli.data; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestRandomCrops:
    CROPS = ImagesConfig(size=4, crop="random", scale=(1.0, 3.0), validation=0.3)

    @pytest.fixture
    def opened(self, folder, cache):
        return lambda config: open_pixels(open_source(str(folder)), config, cache).split("train")

    def test_each_picture_has_one_of_its_own_and_others_on_demand(self, opened):
        pixels = opened(self.CROPS)
        assert pixels.read([3, 1]).shape == (2, 4, 4, 3)
        assert np.array_equal(pixels.read([3, 1])[1], pixels.read([1])[0])
        assert np.array_equal(pixels.read([1]), pixels.read([1], 0))
        assert not np.array_equal(pixels.read([1], 0), pixels.read([1], 1))
        assert not np.array_equal(pixels.read([1], 7, 0), pixels.read([1], 7, 1))

    def test_are_the_same_from_the_cache_and_decoded_live(self, opened):
        live = opened(replace(self.CROPS, cache="off"))
        assert np.array_equal(opened(self.CROPS).read([0, 2], 5), live.read([0, 2], 5))

    def test_are_cut_from_squares_that_other_scales_share_but_have_fingerprints_of_their_own(
        self, opened, cache
    ):
        narrower, centre = replace(self.CROPS, scale=(2.0, 3.0)), ImagesConfig(size=12, validation=0.3)
        sets = [opened(config) for config in (self.CROPS, narrower, centre)]
        assert len({pixels.fingerprint for pixels in sets}) == 3
        assert len(list(cache.glob("*.pixels"))) == 1

    def test_settings_of_random_crops_change_nothing_about_the_centre(self, opened, cache):
        plain, scaled = opened(CONFIG), opened(replace(CONFIG, scale=(2.0, 3.0), crops=2))
        assert plain.fingerprint == scaled.fingerprint
        assert np.array_equal(plain.read([0]), scaled.read([0], 5))

    def test_of_no_pictures_there_are_none(self, opened):
        assert len(opened(self.CROPS).read([])) == 0
