"""Files that commands leave behind: refused before anything is computed, or written whole."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unmask.cli.edits import sheet_of
from unmask.cli.pictures import check_out, write_file, write_sheet, write_table
from unmask.data.folders import write_beside
from unmask.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "suffix", "sentence"),
    [
        ("sheet.jpg", ".png", "sheet.jpg does not end in .png; other formats do not keep every pixel"),
        ("film.png", ".gif", "film.png does not end in .gif\n  --gif film.gif"),
        ("nowhere/sheet.png", ".png", "there is no folder nowhere\n  mkdir -p nowhere"),
        ("nowhere/bits.csv", None, "there is no folder nowhere"),
        (".", ".png", ". is a folder; wanted the name of a file\n  --gif result.png"),
    ],
)
def test_a_file_that_could_not_be_written_is_refused(path, suffix, sentence):
    with pytest.raises((ConfigError, DataError)) as refused:
        check_out(Path(path), suffix, option="--gif")
    assert sentence in str(refused.value)


def test_what_can_be_written_is_not_refused(folder):
    check_out(Path("sheet.PNG"))
    check_out(folder / "film.gif", ".gif")
    check_out(Path("anything"), None)


def test_a_sheet_replaces_what_has_its_name(folder, capsys):
    for name in ("red", "blue"):
        write_sheet(Path("a.png"), Image.new("RGB", (2, 2), name), "sheet")
    with Image.open("a.png") as picture:
        assert picture.format == "PNG"
        assert np.asarray(picture)[0, 0].tolist() == [0, 0, 255]
    assert [path.name for path in folder.iterdir()] == ["a.png"]
    assert capsys.readouterr().out == 2 * "sheet: a.png\n"


def test_a_table_is_read_back_as_it_was_written(folder):
    rows = [["picture", "bits"], ['one, "quoted"', "1.5"]]
    write_table(None, rows, "bits")
    assert not list(folder.iterdir())
    write_table(Path("bits.csv"), rows, "bits")
    with Path("bits.csv").open(newline="") as file:
        assert list(csv.reader(file)) == rows


def test_what_the_disk_refuses_is_a_sentence():
    Path("file").touch()
    with pytest.raises(DataError, match=r"file/bits.csv cannot be written: Not a directory"):
        write_file(Path("file/bits.csv"), b"")


def test_what_is_drawn_is_written_beside_other_pictures_and_the_same_once(folder):
    red, blue, green = (Image.new("RGB", (2, 2), name) for name in ("red", "blue", "green"))
    for _ in range(2):
        assert write_beside([red], Path("a.png")) == [Path("a.png")]
        assert write_beside([blue], Path("a.png")) == [Path("a-2.png")]
        assert write_beside([red, blue], Path("b.png")) == [Path("b-1.png"), Path("b-2.png")]
        assert write_beside([green, blue], Path("b.png")) == [Path("b-3.png"), Path("b-4.png")]
    assert len(list(folder.iterdir())) == 6
    assert np.asarray(Image.open("b-1.png"))[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(("edge", "shown"), [(64, 256), (100, 200), (1024, 256)])
def test_a_sheet_shows_a_picture_in_its_place_beside_what_came_of_it(edge, shown):
    before, after = (
        Image.new("RGB", (edge // 2, edge // 2), "red"),
        Image.new("RGB", (edge, edge // 2), "blue"),
    )
    sheet = sheet_of(before, [after, after], (edge // 2, 0))
    assert sheet.size == (3 * shown + 2 * 8, shown // 2)
    colours = [sheet.getpixel((x, shown // 4)) for x in (shown // 4, 3 * shown // 4, shown + 20)]
    assert colours == [(255, 255, 255), (255, 0, 0), (0, 0, 255)]
