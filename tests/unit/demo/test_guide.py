"""The folder of a tour: an earlier one makes room, and nothing else is touched."""

import pytest

from unmask.demo.chapters import CHAPTERS
from unmask.demo.guide import make_room
from unmask.errors import DataError


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples/holiday.png").write_bytes(b"a picture")
    with pytest.raises(DataError, match="something else than a tour"):
        make_room(tmp_path, CHAPTERS)
    assert (tmp_path / "samples/holiday.png").read_bytes() == b"a picture"


def test_an_earlier_tour_makes_room_and_other_files_stay(tmp_path):
    make_room(tmp_path / "demo", CHAPTERS)
    for name in ("samples/old.png", "index.html", "notes.txt"):
        (tmp_path / "demo" / name).write_text("old")
    make_room(tmp_path / "demo", CHAPTERS[:-1])
    left = {path.name for path in (tmp_path / "demo").rglob("*") if path.is_file()}
    assert left == {"tour.json", "notes.txt"}
    folders = {path.name for path in (tmp_path / "demo").iterdir() if path.is_dir()}
    assert folders == {chapter.folder for chapter in CHAPTERS[:-1]}


def test_a_place_that_cannot_be_a_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot hold a tour: "):
        make_room(tmp_path / "file", CHAPTERS)


def test_chapters_do_not_share_folders():
    assert len({chapter.folder for chapter in CHAPTERS}) == len(CHAPTERS)
