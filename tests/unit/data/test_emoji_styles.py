"""The six styles of the built-in pictures: captions, parts of the split, licences."""

import json
import re
import zipfile
from collections import Counter, defaultdict
from importlib import resources

import numpy as np
import pytest

from unmask.data.config import ImagesConfig
from unmask.data.pixels import open_pixels
from unmask.data.sources import EMOJI_STYLES, open_source
from unmask.data.splits import split

BUILTIN = resources.files("unmask.data") / "builtin"
LONGEST_CAPTION, VOCABULARY = 16, 2500  # words


@pytest.fixture(scope="module")
def index():
    with resources.as_file(BUILTIN / "emoji.zip") as path, zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("index.json"))


@pytest.fixture(scope="module")
def parts(index):
    """Part of the split -> entries of the index."""
    entries = open_source("emoji").entries
    pairs = {number for number, entry in enumerate(entries) if entry.pair}
    rows = split([entry.group for entry in entries], ImagesConfig.validation, pairs)
    return {name: [index[row] for row in numbers] for name, numbers in rows.items()}


def words(entry):
    return re.findall("[a-z0-9]+", entry["caption"])


def test_every_style_is_a_set_of_its_own_and_all_are_one(index):
    counts = Counter(entry["style"] for entry in index)
    assert tuple(counts) == EMOJI_STYLES
    assert {style: len(open_source(f"emoji-{style}")) for style in EMOJI_STYLES} == counts
    assert len(open_source("emoji")) == len(index)


def test_sets_of_different_styles_have_different_fingerprints():
    sets = ["emoji", *(f"emoji-{style}" for style in EMOJI_STYLES)]
    assert len({open_source(name).fingerprint for name in sets}) == len(sets)


def test_captions_are_a_few_plain_words_of_a_small_vocabulary(index):
    assert all(re.fullmatch("[a-z0-9, ]+", entry["caption"]) for entry in index)
    assert max(len(words(entry)) for entry in index) <= LONGEST_CAPTION
    assert len({word for entry in index for word in words(entry)}) <= VOCABULARY


@pytest.mark.parametrize(
    ("style", "name", "caption"),
    [
        ("flat", "woman astronaut medium skin tone", "woman astronaut, medium skin tone, people, style flat"),
        ("3d", "grinning face", "grinning face, smileys, style 3d"),
        ("3d", "prince", "prince, man, people, style 3d"),
        ("twemoji", "Côte d’Ivoire", "flag cote divoire, flags, style twemoji"),
        ("firefox", "keycap 5", None),
        ("emojione", "man red hair", None),
        ("emojione", "three o’clock", "three oclock, travel, style emojione"),
    ],
)
def test_a_caption_says_what_skin_tone_gender_kind_and_style(index, style, name, caption):
    found = [entry["caption"] for entry in index if (entry["style"], entry["name"]) == (style, name)]
    assert found == ([caption] if caption else [])


def test_one_emoji_is_called_the_same_in_every_style(index):
    names, groups = defaultdict(set), defaultdict(set)
    for entry in index:
        names[entry["codepoints"]].add((entry["name"], entry["caption"].rpartition(",")[0]))
        groups[entry["codepoints"]].add(entry["group"])
    assert all(len(found) == 1 for found in (*names.values(), *groups.values()))
    assert {entry["style"] for entry in index if entry["codepoints"] == "1F600"} == set(EMOJI_STYLES)


def test_firefox_is_aligned_by_what_it_draws(index):
    of_name = {entry["name"] for entry in index if entry["style"] == "firefox"}
    assert {"cat face", "cat", "backhand index pointing up", "ribbon"} <= of_name
    assert "grinning cat" not in of_name  # they are foxes


def test_no_concept_crosses_the_split_in_any_style(parts):
    held_out = {entry["group"] for entry in parts["validation"]}
    assert held_out.isdisjoint(entry["group"] for entry in parts["train"])
    assert {entry["style"] for entry in parts["validation"]} == set(EMOJI_STYLES)


def test_pairs_are_known_in_other_styles_and_unseen_in_their_own(parts):
    trained = defaultdict(set)
    for entry in parts["train"]:
        trained[entry["group"]].add(entry["style"])
    for entry in parts["pairs"]:
        assert len(trained[entry["group"]]) >= 2
        assert entry["style"] not in trained[entry["group"]]
        assert entry["skin_tone"] is None
    assert 350 < len(parts["pairs"]) < 450
    assert {entry["style"] for entry in parts["pairs"]} == set(EMOJI_STYLES)


@pytest.mark.parametrize("style", EMOJI_STYLES)
def test_no_validation_picture_has_a_near_twin_among_those_trained_on(style, tmp_path):
    """Distance in ink, relative to how much ink there is; mirrored too, since training flips."""
    pixels = open_pixels(open_source(f"emoji-{style}"), ImagesConfig(size=32, cache="off"), tmp_path)
    trained, held_out = (ink(pixels.split(part)) for part in ("train", "validation"))
    energies = (trained**2).sum((1, 2, 3))[:, None], (held_out**2).sum((1, 2, 3))[None]
    overlap = np.maximum(*(flat(trained) @ flat(seen).T for seen in (held_out, held_out[:, :, ::-1])))
    distances = np.sqrt((sum(energies) - 2 * overlap) / np.sqrt(energies[0] * energies[1]))
    assert distances.min() > 0.14


def ink(pixels):
    return 1 - pixels.read(range(len(pixels))).astype(np.float32) / 255


def flat(pictures):
    return pictures.reshape(len(pictures), -1)


def test_a_single_style_has_no_pairs():
    assert not any(entry.pair for entry in open_source("emoji-3d").entries)
    assert any(entry.pair for entry in open_source("emoji").entries)


def test_pairs_are_neither_trained_on_nor_validation_and_a_whole_set_has_them(tmp_path):
    config = ImagesConfig(size=8, cache="off")
    pixels = open_pixels(open_source("emoji-firefox"), config, tmp_path)
    assert len(pixels.split("pairs")) == 0
    pixels = open_pixels(open_source("emoji"), config, tmp_path)
    sizes = {part: len(pixels.split(part)) for part in ("train", "validation", "pairs")}
    assert sum(sizes.values()) == len(pixels) == len(pixels.whole())
    assert sizes["pairs"] > 350
    assert not set(pixels.split("pairs").names) & set(pixels.split("train").names)


def test_author_and_licence_of_every_style_are_shipped_and_said():
    about = open_source("emoji").about
    notice = (BUILTIN / "LICENSE-emoji-styles").read_text()
    with resources.as_file(BUILTIN / "emoji.zip") as path, zipfile.ZipFile(path) as archive:
        styles = json.loads(archive.read("styles.json"))
    assert tuple(styles) == EMOJI_STYLES
    for title, author, licence, address in styles.values():
        assert f"{title} by {author}, {licence}: {address}" in about["licences"]
        assert author in notice
        assert address in notice
        assert licence in notice
    assert "Noto" not in open_source("emoji-3d").about["licences"]
