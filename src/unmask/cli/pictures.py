"""What commands that leave files behind share: checks before, writing after."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from unmask.data.folders import numbered
from unmask.data.pictures import encoded
from unmask.errors import ConfigError, DataError
from unmask.storage.files import accessing, write_bytes, write_csv

LEAST_PX = 48  # edge of a picture on a sheet with text: room for a number below it
TEXT_PX, GAP_PX = 12, 4


def check_out(path: Path | None, suffix: str | None = ".png", *, option: str = "--out") -> None:
    """Refuse a file that could not be written, before anything is computed; None is a file that nobody wants.

    Its name must end in ``suffix``, if there is one; ``option`` is what the name was given by.
    """
    if path is None:
        return
    if path.is_dir():
        example = path / f"result{suffix or ''}"
        raise ConfigError(f"{path} is a folder; wanted the name of a file", hint=f"{option} {example}")
    if suffix and path.suffix.lower() != suffix:
        reason = "; other formats do not keep every pixel as it is" if suffix == ".png" else ""
        hint = f"{option} {path.with_suffix(suffix)}"
        raise ConfigError(f"{path} does not end in {suffix}{reason}", hint=hint)
    if not path.absolute().parent.is_dir():
        raise DataError(f"there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")


def write_file(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``, whole or not at all."""
    with accessing(path):
        write_bytes(path, data)


def write_rows(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write the rows of a table, its heading first, as CSV."""
    with accessing(path):
        write_csv(path, rows)


def write_pictures(pictures: Sequence[Image.Image], out: Path) -> list[Path]:
    """Write one picture to ``out``, several to files numbered after it, in place of what has those names."""
    paths = numbered(out, len(pictures))
    for picture, path in zip(pictures, paths, strict=True):
        write_file(path, encoded(picture))
    return paths


def sheet_with_text(rows: Sequence[Sequence[tuple[Image.Image, str]]]) -> Image.Image:
    """Rows of square pictures, each with a text that begins below it; the first stands apart."""
    side = max(LEAST_PX, rows[0][0][0].width)
    step, height = side + GAP_PX, side + GAP_PX + TEXT_PX
    sheet = Image.new("RGB", (len(rows[0]) * step + GAP_PX, len(rows) * height), "white")
    draw = ImageDraw.Draw(sheet)
    for row, pictures in enumerate(rows):
        for column, (picture, text) in enumerate(pictures):
            left, top = column * step + (GAP_PX if column else 0), row * height
            sheet.paste(picture.resize((side, side), Image.Resampling.NEAREST), (left, top))
            draw.text((left, top + side), text, fill="black")
    return sheet
