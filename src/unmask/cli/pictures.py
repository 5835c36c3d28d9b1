"""What commands that leave files behind share: checks before, writing after."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from unmask.cli.results import emit
from unmask.data.pictures import encoded
from unmask.errors import ConfigError, DataError
from unmask.storage.files import accessing, write_bytes, write_csv

LEAST_PX = 48  # edge of a picture on a sheet with text: room for a number below it
TEXT_PX, GAP_PX = 12, 4


def check_out(path: Path | None, suffix: str | None = ".png", *, option: str = "--out") -> None:
    """Refuse a file that could not be written, before anything is computed; None means no file.

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


def write_table(path: Path | None, rows: Iterable[Sequence[object]], what: str) -> None:
    """Write the rows of a table, its heading first, as CSV, and say so; None means no file."""
    if path is not None:
        with accessing(path):
            write_csv(path, rows)
        emit(f"{what}: {path}", csv=path)


def write_sheet(path: Path, sheet: Image.Image, what: str, key: str = "sheet") -> None:
    """Write an image in place of what has its name, and say so; ``key`` is its name for ``--json``."""
    write_file(path, encoded(sheet))
    emit(f"{what}: {path}", **{key: path})


def sheet_with_text(rows: Sequence[Sequence[tuple[Image.Image, str]]]) -> Image.Image:
    """Rows of square images, each with a text that begins below it; the first stands apart."""
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
