"""The built-in pictures of style 3d: what is in the file, and that its groups keep near twins together."""

import hashlib
import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

BUILTIN = resources.files("unmask.data") / "builtin"
TONES = ["light", "medium-light", "medium", "medium-dark", "dark"]


@pytest.fixture(scope="module")
def emoji_zip():
    with resources.as_file(BUILTIN / "emoji.zip") as path, zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def everything(emoji_zip):
    """The index of all styles."""
    return json.loads(emoji_zip.read("index.json"))


@pytest.fixture(scope="module")
def index(everything):
    return [entry for entry in everything if entry["style"] == "3d"]


@pytest.fixture(scope="module")
def pixels(emoji_zip, index):
    """(3390, 64, 64, 3) uint8, in the order of the index."""
    return np.stack([np.asarray(Image.open(io.BytesIO(emoji_zip.read(entry["file"])))) for entry in index])


def members(index, group):
    return {entry["name"] for entry in index if entry["group"] == group}


def group_named(index, name):
    (group,) = {entry["group"] for entry in index if entry["name"] == name}
    return members(index, group)


def test_the_index_lists_every_picture_once_in_the_order_of_the_zip(emoji_zip, everything, index):
    assert len(index) == 3390
    files = [entry["file"] for entry in everything]
    assert [*files, "styles.json", "index.json"] == emoji_zip.namelist()


def test_the_file_is_small_and_nothing_is_compressed_twice(emoji_zip):
    assert Path(emoji_zip.filename).stat().st_size < 32_000_000
    pictures = [info for info in emoji_zip.infolist() if info.filename.endswith(".webp")]
    assert {info.compress_type for info in pictures} == {zipfile.ZIP_STORED}


def test_the_file_is_the_one_that_its_script_promises(emoji_zip):
    script = Path(__file__).parents[3] / "tools" / "build_emoji.py"
    promised = re.search(r'TARGET_SHA256 = "(\w+)"', script.read_text())[1]
    place = re.findall(r'"([^"]+)"', re.search(r"TARGET = .+", script.read_text())[0])
    assert script.parents[1].joinpath(*place).samefile(emoji_zip.filename)
    assert hashlib.sha256(Path(emoji_zip.filename).read_bytes()).hexdigest() == promised


def test_its_licences_are_shipped_with_it():
    assert "Copyright (c) Microsoft Corporation" in (BUILTIN / "LICENSE-emoji").read_text()
    assert "Unicode, Inc." in (BUILTIN / "LICENSE-emoji-names").read_text()


def test_every_picture_is_64_pixels_wide_distinct_and_on_white(pixels):
    assert pixels.shape == (3390, 64, 64, 3)
    assert len({picture.tobytes() for picture in pixels}) == 3390
    bright_rim = (np.abs(pixels[:, 0].astype(int) - 255) < 3).mean()
    assert bright_rim > 0.95


def test_every_entry_has_a_name_a_group_and_a_category(index):
    for entry in index:
        assert entry["name"].strip()
        assert entry["group"]
        assert entry["skin_tone"] in {None, *TONES}
        assert entry["gender"] in {None, "man", "woman"}
    assert Counter(entry["category"] for entry in index)["Flags"] == 256


def test_code_points_spell_the_emoji(index):
    of_name = {entry["name"]: entry["codepoints"] for entry in index}
    assert "".join(chr(int(point, 16)) for point in of_name["grinning face"].split()) == "😀"
    assert of_name["man astronaut dark skin tone"] == "1F468 1F3FF 200D 1F680"
    assert of_name["Scotland"].endswith("E007F")


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("waving hand", "waving hand dark skin tone"),
        ("man astronaut", "woman astronaut medium skin tone"),
        ("person running", "woman running light skin tone"),
        ("man", "woman red hair"),
        ("family man woman boy", "family woman girl"),
        ("kiss", "kiss man man dark skin tone"),
        ("people holding hands", "women holding hands light skin tone"),
        ("prince", "person with crown"),
        ("backhand index pointing left", "backhand index pointing right"),
        ("red heart", "blue heart"),
        ("Ireland", "Côte d’Ivoire"),
    ],
)
def test_variants_of_one_drawing_share_a_group(index, one, another):
    assert another in group_named(index, one)


def test_different_drawings_do_not_share_a_group(index):
    assert "woman firefighter" not in group_named(index, "woman astronaut")
    assert "crying face" not in group_named(index, "grinning face")
    assert len({entry["group"] for entry in index}) > 1300


def test_all_skin_tones_of_an_emoji_are_there_and_in_one_group(index):
    families = defaultdict(list)
    for entry in index:
        if entry["skin_tone"]:
            families[re.sub("1F3F[B-F]", "", entry["codepoints"])].append(entry)
    assert len(families) == 304
    for family in families.values():
        assert sorted(TONES.index(entry["skin_tone"]) for entry in family) == [0, 1, 2, 3, 4]
        assert len({entry["group"] for entry in family}) == 1


def test_no_picture_has_a_near_twin_in_another_group(index, pixels):
    """Distance in ink, relative to how much ink there is; mirrored too, since training flips."""
    ink = 1 - pixels.astype(np.float32) / 255
    ink = ink.reshape(-1, 32, 2, 32, 2, 3).mean((2, 4))  # (N, 32, 32, 3)
    flat, mirrored = ink.reshape(len(ink), -1), ink[:, :, ::-1].reshape(len(ink), -1)
    energy = (flat**2).sum(1)
    overlap = np.maximum(flat @ flat.T, flat @ mirrored.T)
    squared = (energy[:, None] + energy[None] - 2 * overlap) / np.sqrt(energy[:, None] * energy[None])
    groups = np.array([entry["group"] for entry in index])
    elsewhere = groups[:, None] != groups[None]
    np.fill_diagonal(squared, np.inf)

    assert squared[elsewhere].min() > 0.15**2
    squared[elsewhere] = np.inf
    assert (squared.min(1) < 0.15**2).mean() > 0.2  # without groups, many would


def test_skin_tones_are_labelled_by_what_the_picture_shows(index, pixels):
    """Bare hands, where no hair or clothes count: light is the brightest, dark the darkest."""
    for hand in ("waving hand", "thumbs up", "clapping hands", "flexed biceps", "nose"):
        brightness = {
            entry["skin_tone"]: pixels[i].mean()
            for i, entry in enumerate(index)
            if entry["name"].startswith(f"{hand} ") and entry["skin_tone"]
        }
        assert sorted(brightness, key=brightness.__getitem__, reverse=True) == TONES
