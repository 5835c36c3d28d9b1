"""``unmask data`` on what people really have in their folders."""

import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

UNMASK = Path(sys.executable).with_name("unmask")
# root may read everything; these capabilities are what lets it
OBEDIENT = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def unmask_data(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*OBEDIENT, UNMASK, "data", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "200", "UNMASK_CACHE": str(cwd / "cache")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)


def photo(number: int, width: int = 120, height: int = 80) -> Image.Image:
    """A smooth picture, as photographs are."""
    pixels = np.random.default_rng(number).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC)


def png_header(width: int, height: int) -> bytes:
    """A PNG that promises pixels and holds none."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Six pictures that can be used, each odd in its way, and six that cannot."""
    folder = tmp_path_factory.mktemp("odd")
    photo(0).save(folder / "plain.jpg")
    (folder / "copy of plain.jpg").write_bytes((folder / "plain.jpg").read_bytes())
    ramp = np.linspace(0, 65535, 64).astype(np.uint16)
    Image.fromarray(np.tile(ramp, (64, 1))).save(folder / "grey16.png")
    photo(1).convert("CMYK").save(folder / "cmyk.jpg")
    palette = photo(2).quantize(8)
    palette.save(folder / "palette.png", transparency=palette.getpixel((0, 0)))
    frames = [Image.new("P", (50, 50), colour) for colour in (1, 2)]
    for frame in frames:
        frame.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255])
    frames[0].save(folder / "animated.gif", save_all=True, append_images=frames[1:])

    photo(3).save(folder / "truncated.jpg", quality=95)
    data = (folder / "truncated.jpg").read_bytes()
    (folder / "truncated.jpg").write_bytes(data[: len(data) // 2])
    (folder / "letter [draft].png").write_text("Dear diary")
    Image.new("RGB", (1, 1)).save(folder / "dot.png")
    photo(4).save(folder / "secret.png")
    (folder / "secret.png").chmod(0)
    (folder / "bomb.png").write_bytes(png_header(30_000, 30_000))
    (folder / "locked").mkdir()
    photo(5).save(folder / "locked" / "inside.png")
    (folder / "locked").chmod(0)
    (folder / "notes.txt").write_text("Dear diary")
    yield folder
    (folder / "locked").chmod(0o700)  # so that pytest can clear up


@pytest.fixture(scope="module")
def told(odd: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the command says of the odd folder, and the sheet that it writes."""
    cwd = tmp_path_factory.mktemp("cwd")
    result = unmask_data(odd, "--size", 32, cwd=cwd)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout, cwd / "contact.png"


def line(text: str, start: str) -> str:
    [found] = [line for line in text.splitlines() if line.strip().startswith(start)]
    return found.strip()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("truncated.jpg", "damaged: image file is truncated"),
        ("letter [draft].png", "not an image"),
        ("dot.png", "1×1 pixels"),
        ("secret.png", "Permission denied"),
        ("bomb.png", "decompression bomb"),
        ("locked", "Permission denied"),
    ],
)
def test_each_odd_file_is_named_with_its_reason(told, name, reason):
    assert reason in line(told[0], f"{name}: ")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("images", "6 usable of 12"),
        ("sizes", "smallest 50×50, median 120×80, largest 120×80"),
        ("formats", "JPEG 3, PNG 2, GIF 1"),
        ("modes", "RGB 2"),
        ("split", "train "),
        ("copies", "1"),
        ("left aside", ".txt 1"),
        ("6 cannot be used", ""),
    ],
)
def test_the_good_and_the_bad_are_counted(told, what, said):
    assert said in line(told[0], what)


def test_the_contact_sheet_shows_the_usable_pictures_as_they_look(told):
    sheet = np.asarray(Image.open(told[1]).convert("RGB")).astype(int)
    tiles = [sheet[:, column * 34 : column * 34 + 32] for column in range(6)]
    animated, _, _, grey16, palette, _ = tiles  # in the order of their names
    assert sheet.shape == (32, 6 * 34 - 2, 3)
    assert abs(animated - [255, 0, 0]).max() < 8  # the first of two frames
    steps = grey16[16, 2:-2, 0]
    assert (np.diff(steps) > 0).all()  # a ramp: clipped to 8 bits it would be white but for its first column
    assert steps.min() < 32
    assert steps.max() > 223
    assert (palette == 255).all(axis=2).any()  # the transparent colour has become the background


def test_a_folder_of_only_bad_files_is_an_error(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "letter.png").write_text("Dear diary")
    result = unmask_data("photos", cwd=tmp_path)
    assert result.returncode == 2
    assert "letter.png: not an image" in result.stderr
    assert not (tmp_path / "contact.png").exists()


def test_a_folder_without_pictures_is_an_error(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "raw.heic").touch()
    result = unmask_data("photos", cwd=tmp_path)
    assert result.returncode == 2
    assert "no images but 1 .heic" in result.stderr


def test_one_picture_is_enough_to_look_at(tmp_path):
    photo(0).save(tmp_path / "only.png")
    result = unmask_data(".", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "--images.validation 0" in result.stdout


def test_what_is_not_there_is_an_error(tmp_path):
    result = unmask_data("nowhere", cwd=tmp_path)
    assert result.returncode == 2
    assert "nowhere does not exist" in result.stderr


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("no/such/folder.png", "there is no folder no/such"),
        ("sheet.jpg", "sheet.jpg does not end in .png"),
        (".", ". is a folder"),
    ],
)
def test_a_sheet_that_could_not_be_written_is_refused_before_a_picture_is_looked_at(tmp_path, out, sentence):
    result = unmask_data("nowhere", "--out", out, cwd=tmp_path)
    assert result.returncode == 2
    assert sentence in result.stderr


def test_the_built_in_emoji_are_all_usable(tmp_path):
    result = unmask_data("emoji", "--out", "sheet.png", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "cannot be used" not in result.stdout
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (16 * 66 - 2, 16 * 66 - 2)


def test_help_teaches_by_example(tmp_path):
    result = unmask_data("--help", cwd=tmp_path)
    assert result.returncode == 0
    assert "unmask data photos/" in result.stdout
