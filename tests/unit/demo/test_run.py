"""The folder of a demo: an earlier one makes room, and nothing else is touched."""

import pytest

from unmask.demo.chapters import CHAPTERS
from unmask.demo.run import MARK, make_room, run_demo
from unmask.demo.story import Demo
from unmask.errors import DataError


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples/holiday.png").write_bytes(b"a photograph")
    (tmp_path / "index.html").write_bytes("<title>Mein Urlaub in Öland</title>".encode("latin-1"))
    with pytest.raises(DataError, match="something else"):
        make_room(tmp_path, CHAPTERS)
    assert (tmp_path / "samples/holiday.png").read_bytes() == b"a photograph"


def test_an_earlier_demo_makes_room_and_other_files_stay(tmp_path):
    (tmp_path / "samples").mkdir()
    for name in ("samples/old.png", "notes.txt"):
        (tmp_path / name).write_text("old")
    (tmp_path / "index.html").write_bytes(MARK + b", a tour</title>")
    make_room(tmp_path, CHAPTERS)
    assert {path.name for path in tmp_path.rglob("*")} == {"index.html", "notes.txt"}


def test_a_place_that_cannot_be_a_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot hold a demo"):
        make_room(tmp_path / "file", CHAPTERS)


def test_a_place_that_cannot_be_a_folder_is_refused_before_images_are_prepared(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Demo, "check", lambda demo: pytest.fail("images were prepared"))
    with pytest.raises(DataError, match=r"file cannot hold a demo: .*Not a directory"):
        run_demo(Demo("emoji", "emoji-3d", tmp_path / "file", lambda words: None))
