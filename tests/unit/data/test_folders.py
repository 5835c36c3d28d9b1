"""A folder of pictures through one edit: every result has a file of its own, and no picture ends the rest."""

import pytest
from PIL import Image

from unmask.data.folders import edit_folder
from unmask.errors import ConfigError, DataError


@pytest.fixture
def photos(tmp_path):
    """Makes a folder of files of these names."""

    def make(*names):
        folder = tmp_path / "photos"
        folder.mkdir()
        for name in names:
            (folder / name).touch()
        return folder

    return make


def version(file):
    return [Image.new("RGB", (4, 4))]


def names(paths):
    return [path.name for path in paths]


def test_pictures_that_differ_in_their_suffix_alone_keep_it(photos, tmp_path):
    paths = edit_folder(version, photos("cat.jpg", "cat.png", "dog.jpg"), tmp_path / "out")
    assert names(paths) == ["cat.jpg.png", "cat.png.png", "dog.png"]
    assert all(path.is_file() for path in paths)


def test_two_results_of_one_name_are_refused_before_anything_is_drawn(photos, tmp_path):
    with pytest.raises(DataError, match=r"results of 2 images would be cat\.jpg\.png"):
        edit_folder(pytest.fail, photos("cat.jpg", "cat.png", "cat.jpg.webp"), tmp_path / "out")


def test_a_version_never_takes_the_place_of_another_pictures_result(photos, tmp_path):
    told = []
    paths = edit_folder(
        lambda file: version(file) * (2 if file.stem == "cat" else 1),
        photos("cat-1.jpg", "cat.jpg"),
        tmp_path / "out",
        on_problem=told.append,
    )
    assert names(paths) == ["cat-1.png"]
    assert told[0].startswith("left out: cat.jpg: ")


def test_one_picture_that_is_too_small_does_not_end_the_folder(photos, tmp_path):
    def edit(file):
        if file.stem == "small":
            raise ConfigError("too small")
        return version(file)

    told = []
    paths = edit_folder(
        edit, photos("large.png", "small.png", "wide.png"), tmp_path / "out", on_problem=told.append
    )
    assert names(paths) == ["large.png", "wide.png"]
    assert told == ["left out: small.png: too small"]


def test_folders_that_cannot_be_used_are_said(photos, tmp_path):
    folder, loop = photos("cat.png"), tmp_path / "loop"
    loop.symlink_to(loop)
    (tmp_path / "file").touch()
    (tmp_path / "same").symlink_to(folder)
    for pictures, out, problem in (
        (tmp_path / "none", "out", "cannot be read"),
        (loop, "out", "cannot be read"),
        (folder, "loop", "cannot be written"),
        (folder, "file", "cannot be written"),
        (folder, "same", "holds the images themselves"),
    ):
        with pytest.raises(DataError, match=problem):
            edit_folder(pytest.fail, pictures, tmp_path / out)
