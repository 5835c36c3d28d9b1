"""A whole folder of images through one edit."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from PIL import Image

from unmask.data.base import SUFFIXES
from unmask.data.pictures import encoded
from unmask.errors import DataError, UnmaskError
from unmask.progress import bar, say
from unmask.storage.files import accessing, write_bytes


def edit_folder(
    edit: Callable[[Path], list[Image.Image]],
    folder: str | Path,
    out: str | Path,
    *,
    on_problem: Callable[[str], None] = say,
) -> list[Path]:
    """Edit every image of a folder, and return the PNG files written to the folder ``out``.

    ``edit`` maps a file to versions of its image, such as ``lambda file: model.inpaint(file, mask)``. The
    results of cat.jpg are cat.png or, if there are several, cat-1.png and so on; beside cat.webp they are
    cat.jpg.png. Existing files with other images are kept: new ones then get the next free numbers. An image
    that cannot be edited, for instance because a mask does not fit, is reported to ``on_problem`` and
    skipped.
    """
    place, written = Path(out), list[Path]()
    with accessing(Path(folder), "be read"):
        pictures = sorted(path for path in Path(folder).iterdir() if path.suffix.lower() in SUFFIXES)
    problem: UnmaskError = DataError(f"there are no images in {folder}")
    names = _names(pictures)
    with accessing(place):
        place.mkdir(parents=True, exist_ok=True)
        if place.samefile(folder):
            hint = "name another folder for the results"
            raise DataError(f"{out} holds the images themselves", hint=hint)
    with bar("editing") as report:
        for number, (path, name) in enumerate(zip(pictures, names, strict=True)):
            report(number, len(pictures))
            try:
                versions = edit(path)
                file = place / f"{name}.png"
                if taken := set(numbered(file, len(versions))).intersection(written):
                    raise DataError(f"{min(taken)} is the result of another image", hint="rename one")
            except UnmaskError as error:
                problem = error
                on_problem(f"left out: {path.name}: {error}")
                continue
            written += write_beside(versions, file)
    if not written:
        raise problem
    return written


def _names(pictures: Sequence[Path]) -> list[str]:
    """A name for the results of each image: with its suffix where others differ in nothing else."""
    stems = Counter(path.stem.casefold() for path in pictures)  # to some disks Cat and cat are one
    names = [path.stem if stems[path.stem.casefold()] == 1 else path.name for path in pictures]
    name, times = Counter(map(str.casefold, names)).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise DataError(f"the results of {times} images would be {name}.png", hint="rename all but one")
    return names


def numbered(path: Path, count: int, first: int = 1) -> list[Path]:
    """Files for so many images: the one itself, or several numbered after it."""
    several = [path.with_stem(f"{path.stem}-{number}") for number in range(first, first + count)]
    return several if count > 1 or first > 1 else [path]


def write_beside(pictures: Sequence[Image.Image], path: Path) -> list[Path]:
    """Write images to a file and those numbered after it; what holds another image stays.

    Then they have the next free numbers, and written again the same ones.
    """
    files = [encoded(picture) for picture in pictures]
    places = ([*zip(numbered(path, len(files), first), files, strict=True)] for first in count(1))
    with accessing(path):
        place = next(each for each in places if all(_is_free(*one) for one in each))
        for one in place:
            write_bytes(*one)
    return [file for file, _ in place]


def _is_free(path: Path, content: bytes) -> bool:
    """Whether a file is absent, or holds this already."""
    return not path.exists() or path.read_bytes() == content
