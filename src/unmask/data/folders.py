"""A whole folder of pictures through one edit."""

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from unmask.data.base import SUFFIXES
from unmask.data.pictures import encoded
from unmask.errors import DataError
from unmask.progress import bar, say
from unmask.storage.files import write_bytes


def edit_folder(
    edit: Callable[[Path], list[Image.Image]],
    folder: str | Path,
    out: str | Path,
    *,
    on_problem: Callable[[str], None] = say,
) -> list[Path]:
    """Edit every picture of a folder and give the PNG files that came of it, in the folder ``out``.

    ``edit`` makes versions of the picture in a file, such as ``lambda file: model.inpaint(file, mask)``. The
    results of cat.jpg are cat.png or, of several, cat-1.png and so on. A picture of which nothing comes, such
    as one that a mask does not fit, is told to ``on_problem`` and left out.
    """
    pictures = sorted(path for path in Path(folder).iterdir() if path.suffix.lower() in SUFFIXES)
    place, written, problem = Path(out), list[Path](), DataError(f"there are no pictures in {folder}")
    if place.resolve() == Path(folder).resolve():
        raise DataError(f"{out} holds the pictures themselves", hint="name another folder for the results")
    place.mkdir(parents=True, exist_ok=True)
    with bar("pictures") as report:
        for number, path in enumerate(pictures):
            report(number, len(pictures))
            try:
                versions = edit(path)
            except DataError as error:
                problem = error
                on_problem(f"left out: {path.name}: {error}")
                continue
            for file, version in zip(
                numbered(place / f"{path.stem}.png", len(versions)), versions, strict=True
            ):
                write_bytes(file, encoded(version))
                written.append(file)
    if not written:
        raise problem
    return written


def numbered(path: Path, count: int) -> list[Path]:
    """Files for so many pictures: the one itself, or several numbered after it."""
    several = [path.with_stem(f"{path.stem}-{number}") for number in range(1, count + 1)]
    return several if count > 1 else [path]
