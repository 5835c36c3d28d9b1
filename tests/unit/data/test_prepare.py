import threading

import numpy as np
from PIL import Image

from unmask.data import prepare as module
from unmask.data.base import content_hash
from unmask.data.config import ImagesConfig
from unmask.data.prepare import Prepared, Unusable, prepare, prepare_all
from unmask.data.sources import open_source
from unmask.data.transforms import decode, square


def test_a_picture_becomes_a_square_with_its_facts(tmp_path, noise):
    noise(0, 30, 20).convert("L").save(tmp_path / "a.tiff")
    item = prepare(open_source(str(tmp_path)), 0, ImagesConfig(size=8))
    assert isinstance(item, Prepared)
    assert (item.name, item.format, item.mode, item.size) == ("a.tiff", "TIFF", "L", (30, 20))
    data = (tmp_path / "a.tiff").read_bytes()
    assert item.group == item.content == content_hash(data)
    assert (item.pixels == np.asarray(square(decode(data), 8))).all()


def test_a_picture_that_is_too_small_is_named_with_its_size(tmp_path, noise):
    noise(0, 7, 500).save(tmp_path / "a.png")
    item = prepare(open_source(str(tmp_path)), 0, ImagesConfig(min_side=8))
    assert item == Unusable("a.png", "7×500 pixels; the shorter side must have 8")


def test_the_group_of_the_source_goes_before_the_content():
    item = prepare(open_source("emoji"), 0, ImagesConfig(size=8))
    assert item.group == open_source("emoji").entry(0).group != item.content


def test_fast_decoding_is_used_for_jpegs_when_asked_for(tmp_path, noise):
    smooth = noise(0, 10, 10).resize((400, 400), Image.Resampling.BICUBIC)
    smooth.save(tmp_path / "a.jpg", quality=90)
    smooth.convert("CMYK").save(tmp_path / "b.jpg", quality=90)
    smooth.save(tmp_path / "c.png")
    source = open_source(str(tmp_path))
    plain = [prepare(source, index, ImagesConfig(size=16)).pixels for index in range(3)]
    fast = [prepare(source, index, ImagesConfig(size=16, fast_decode=True)).pixels for index in range(3)]
    assert [(a == b).all() for a, b in zip(plain, fast, strict=True)] == [False, True, True]
    assert abs(plain[0].astype(int) - fast[0]).mean() < 4


def test_all_come_in_order_whichever_is_ready_first(folder, monkeypatch):
    """The first picture is held back until the second has been decoded."""
    second_done = threading.Event()
    decode_one = module.prepare

    def slow_first(source, index, config):
        if index == 0:
            assert second_done.wait(30)
        item = decode_one(source, index, config)
        if index == 1:
            second_done.set()
        return item

    monkeypatch.setattr(module, "prepare", slow_first)
    items = prepare_all(open_source(str(folder)), ImagesConfig(size=8, workers=2))
    assert [item.name for item in items] == [f"{number:02}.png" for number in range(12)]


def test_only_the_pictures_asked_for_are_prepared(folder):
    items = prepare_all(open_source(str(folder)), ImagesConfig(size=8), range(10, 12))
    assert [item.name for item in items] == ["10.png", "11.png"]


def test_giving_up_midway_stops_the_threads(folder):
    before = threading.active_count()
    items = prepare_all(open_source(str(folder)), ImagesConfig(size=8))
    next(items)
    items.close()
    assert threading.active_count() == before
