"""``unmask data``: look at a set of images before anything is trained on it."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tyro
from PIL import Image
from rich.text import Text

from unmask.cli.arguments import Data
from unmask.cli.pictures import check_out, write_sheet
from unmask.cli.results import emit, listed
from unmask.data.base import Source
from unmask.data.captions import Captions, read_captions
from unmask.data.config import ImagesConfig, num_clusters
from unmask.data.pixels import nothing_usable
from unmask.data.sources import open_source
from unmask.data.splits import split
from unmask.data.survey import Survey, survey
from unmask.data.transforms import contact_sheet
from unmask.data.vocabulary import words_of
from unmask.errors import DataError
from unmask.progress import bar

HELP = """Inspect a data set: counts, sizes, formats, captions, unusable files and why, and a contact sheet.

  unmask data photos/                     a folder with all its subfolders
  unmask data photos.zip --out sheet.png  an archive: .zip, .tar, .tar.gz
  unmask data emoji                       the built-in set; emoji-3d, emoji-noto, ...: one style of it
  unmask data photos/ --images.min-side 64 --images.background black   with the options of the training"""

COLUMNS = 16
SIZE_PX = 64  # edge of a picture on the sheet


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    data: Data
    out: Path = Path("contact.png")
    """File of the contact sheet, a PNG."""
    images: ImagesConfig = field(default_factory=lambda: ImagesConfig(size=SIZE_PX, captions="auto"))
    """As in training, except for the size. Mirrored and shifted images are not shown."""

    def __post_init__(self) -> None:
        check_out(self.out)


def main(argv: list[str]) -> None:
    """Print what is in a set of images and write its contact sheet."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask data", description=HELP)
    with bar(f"looking at {arguments.data}") as report:
        source = open_source(arguments.data)
        captions = read_captions(source, arguments.images.captions)
        found = survey(source, arguments.images, report)
    if not found.sizes:
        raise nothing_usable(source, found.unusable)
    _print(source, found, captions, arguments.images)
    shown = [Image.fromarray(pixels) for pixels in found.shown()]
    write_sheet(arguments.out, contact_sheet(shown, COLUMNS), f"\ncontact sheet of {len(shown)}")


def _print(source: Source, found: Survey, captions: Captions, images: ImagesConfig) -> None:
    rows = {
        "images": f"{len(found.sizes):,} usable of {len(source):,}",
        "sizes": _sizes(found),
        "formats": _counts(found.formats),
        "modes": _counts(found.modes),
        "split": _split(found, images),
        "copies": f"{found.num_copies:,}",
        **source.about,
    }
    if captions or num_clusters(images.captions):
        rows["captions"] = _captions(captions, images)
    if aside := source.others - captions.files:
        rows["left aside"] = _counts(aside)
    counts = {"pictures": len(found.sizes), "of": len(source), "copies": found.num_copies}
    emit(listed(rows), formats=found.formats, **counts)
    if captions.ambiguous:
        emit(Text("\ncaptions that could be read otherwise", "bold"))
        for sentence in captions.ambiguous:
            emit(f"  {sentence}")
    if found.unusable:
        emit(Text(f"\n{len(found.unusable):,} cannot be used", "bold"))
        for item in found.unusable:
            emit(f"  {item.name}: {item.reason}")


def _sizes(found: Survey) -> str:
    """The smallest, the middle and the largest image by area."""
    ordered = sorted(found.sizes, key=lambda size: size[0] * size[1])
    chosen = {"smallest": ordered[0], "median": ordered[len(ordered) // 2], "largest": ordered[-1]}
    return ", ".join(f"{name} {width}×{height}" for name, (width, height) in chosen.items())


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def _split(found: Survey, images: ImagesConfig) -> str:
    try:
        rows = split(found.groups, images.validation, found.pairs)
    except DataError as error:
        return str(error)
    return ", ".join(f"{part} {len(rows[part]):,}" for part in rows if rows[part] or part != "pairs")


def _captions(captions: Captions, images: ImagesConfig) -> str:
    """How many there are, of how many words, and one of them."""
    texts = [text for text in captions.texts if text]
    if not texts:
        return f"{num_clusters(images.captions)} groups of similar images, found in training"
    words = [words_of(text) for text in texts]
    known, longest = len(set().union(*words)), max(map(len, words))
    counts = f"{len(set(texts)):,} different, of {known:,} words, at most {longest}"
    without = len(captions.texts) - len(texts)
    lacking = f"; {without:,} images have none" if without else ""
    return f"{len(texts):,} by {captions.origin}: {counts} each{lacking}; such as: {texts[0]}"
