"""A PNG file says how its picture was drawn, and what it says is read strictly."""

import io
import json
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from tests.untrained import untrained
from unmask.data import provenance
from unmask.data.patches import runs_of
from unmask.data.pictures import encoded, open_picture
from unmask.data.provenance import HEAD, KEY, MAX_BYTES, MAX_CHUNKS, SIGNATURE, Provenance, inscribed, read
from unmask.data.transforms import contact_sheet
from unmask.diffusion.settings import Settings
from unmask.pipeline import Pipeline
from unmask.samples import SampleFolder

SAID = Provenance(
    task="canvas",
    model="runs/prior",
    fingerprint="0123-abcd",
    seed=7,
    number=3,
    prompt="a “cat”, schön",
    negative="dog",
    size=(96, 64),
    settings=Settings(steps=9, temperature=(1.0, 0.5), order="halton"),
)


@pytest.fixture(scope="module")
def model():
    return Pipeline(untrained(), torch.device("cpu"), name="toy")


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def file_saying(text, before=b""):
    return SIGNATURE + before + chunk(b"iTXt", HEAD + text)


def test_what_is_written_is_read():
    data = encoded(inscribed(Image.new("RGB", (4, 4)), SAID))
    assert read(data) == SAID
    assert encoded(inscribed(Image.new("RGB", (4, 4)), replace(SAID))) == data
    with Image.open(io.BytesIO(data)) as picture:
        assert json.loads(picture.text[KEY])["prompt"] == SAID.prompt  # for other programs, too


def test_the_first_image_of_the_first_seed_says_so_too():
    said = json.loads(str(Provenance()))
    assert said.items() >= {"task": "sample", "seed": 0, "number": 0}.items()
    assert said.keys() == {"task", "seed", "number", "settings"}
    before = b'{"task": "sample", "settings": {"steps": 9}}'  # a file of a version that left them out
    assert provenance.parse(before) == Provenance(settings=Settings(steps=9))


@given(st.builds(Provenance, seed=st.integers(0, 2**63 - 1), prompt=st.none() | st.text()))
def test_any_seed_and_prompt_come_back(said):
    assert provenance.parse(str(said).encode()) == said


@given(st.binary())
def test_any_bytes_are_taken_or_left(body):
    for data in (body, SIGNATURE + body, file_saying(body)):
        assert read(data) is None or isinstance(read(data), Provenance)


@pytest.mark.parametrize(
    "text",
    [
        b'{"seed": "7"}',
        b'{"sede": 7}',
        b'{"settings": {"steps": 0}}',
        b'{"settings": {"temperature": NaN}}',
        b"[" * 50_000,
        b'{"prompt": "' + b"x" * MAX_BYTES + b'"}',
        b"\xff",
        b"7",
    ],
)
def test_what_cannot_be_true_is_not_read(text):
    assert read(file_saying(b'{"seed": 7}')) == Provenance(seed=7)
    assert read(file_saying(text)) is None


def test_damage_and_excess_are_not_read():
    data = encoded(inscribed(Image.new("RGB", (4, 4)), SAID))
    assert read(data[:-60].replace(b'"seed": 7', b'"seed": 8')) is None  # its checksum
    other = chunk(b"tEXt", b"Title\0none")
    assert read(file_saying(str(SAID).encode(), other)) == SAID
    assert read(file_saying(str(SAID).encode(), other * MAX_CHUNKS)) is None
    assert read(b"GIF89a" + data) is None


def test_every_way_of_drawing_says_how(model):
    picture = model.sample(1, steps=2, first=5, seed=9, temperature=0.5)[0]
    origin = Provenance(model="toy", fingerprint=model.fingerprint, seed=9)
    settings = Settings(steps=2, temperature=0.5)
    assert read(encoded(picture)) == replace(origin, number=5, settings=settings)
    canvas = model.canvas((24, 16), steps=2, seed=9)
    assert read(encoded(canvas)) == replace(
        origin, task="canvas", size=(24, 16), settings=model.settings("canvas", steps=2)
    )
    edited = model.inpaint(canvas, (0, 0, 8, 8), count=2, steps=2, seed=9)
    edit = replace(origin, settings=model.settings("edit", steps=2))
    assert read(encoded(edited[1])) == replace(edit, task="inpaint", box=(0, 0, 8, 8), number=1)
    (larger,) = model.extend(picture, right=8, count=1, steps=2, seed=9, seam=0)
    assert read(encoded(larger)) == replace(edit, task="extend", margins=(0, 0, 8, 0), seam=0)


def test_versions_in_order_keep_their_numbers(model):
    picture = model.sample(1, steps=2)[0]
    plain, ranked = (
        model.inpaint(picture, (0, 0, 8, 8), count=6, steps=2, rank=rank) for rank in (False, True)
    )
    by_number = {read(encoded(version)).number: version for version in ranked}
    assert list(by_number) != list(range(6))
    assert [by_number[number].tobytes() for number in range(6)] == [version.tobytes() for version in plain]


def test_a_file_of_samples_is_the_same_whoever_draws_it(model, tmp_path):
    SampleFolder(tmp_path, model, 3, steps=4).fill(3)
    written = (tmp_path / "000002.png").read_bytes()
    said = read(written)
    (again,) = model.sample(1, seed=said.seed, first=said.number, settings=said.settings)
    assert encoded(again) == written


def test_a_picture_from_elsewhere_is_not_said_to_be_drawn(tmp_path):
    chunks = PngImagePlugin.PngInfo()
    chunks.add_itxt(KEY, str(SAID))
    Image.new("RGB", (4, 4)).save(tmp_path / "drawn.png", pnginfo=chunks)
    assert read((tmp_path / "drawn.png").read_bytes()) == SAID
    assert read(encoded(open_picture(tmp_path / "drawn.png"))) is None  # it may have been cropped since


def test_a_mask_is_in_the_file_of_what_was_drawn_with_it(model):
    (picture,) = model.sample(1, steps=2)
    selected = np.zeros((16, 16), bool)
    selected[0, :3] = selected[5:9, 4:11] = selected[15, 15] = True
    drawn = model.inpaint(picture, selected, count=1, steps=2, seed=3)[0]
    said = read(encoded(drawn))
    turns = np.arange(len(said.mask)) % 2
    again = np.repeat(turns.astype(bool), said.mask).reshape(16, 16)
    assert (again == selected).all()
    assert encoded(model.inpaint(picture, again, count=1, steps=2, seed=3)[0]) == encoded(drawn)
    noise = np.random.default_rng(0).random((128, 128)) < 0.5
    assert runs_of(noise) is None  # there is no room for it


def test_a_sheet_says_how_its_pictures_were_drawn(model, tmp_path):
    folder = SampleFolder(tmp_path / "samples", model, 5, steps=2)
    folder.fill(3)
    sheet = contact_sheet([folder.picture(number) for number in range(3)], 2)
    assert read(encoded(sheet)) == replace(read(encoded(model.sample(1, steps=2, seed=5)[0])), count=3)
    pictures = [inscribed(Image.new("RGB", (4, 4)), replace(SAID, prompt=prompt)) for prompt in ("a", "b")]
    assert read(encoded(contact_sheet(pictures, 2))).prompt == ("a", "b")
    assert read(encoded(contact_sheet([*pictures, Image.new("RGB", (4, 4))], 2))) is None
