"""What pictures cost in bits: held-out ones, generated ones, broken ones."""

import csv
import math
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from einops import rearrange
from PIL import Image

from unmask.data.transforms import grid
from unmask.demo.charts import Bar, bars
from unmask.demo.story import Figure, Picture, Tour, keep, quoted
from unmask.rng import generator

COUNT, DRAWS = 6, 8
PATCHES = 4  # along an edge of a shuffled picture

Change = Callable[[Image.Image, torch.Generator], Image.Image]


def mirrored(picture: Image.Image, rng: torch.Generator) -> Image.Image:
    """The picture with left and right exchanged."""
    return picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def upside_down(picture: Image.Image, rng: torch.Generator) -> Image.Image:
    """The picture with top and bottom exchanged."""
    return picture.transpose(Image.Transpose.FLIP_TOP_BOTTOM)


def shuffled(picture: Image.Image, rng: torch.Generator) -> Image.Image:
    """The picture cut into 4×4 squares, put together in random order."""
    shape = "(a h) (b w) C -> (a b) h w C", "(a b) h w C -> (a h) (b w) C"
    squares = rearrange(np.asarray(picture), shape[0], a=PATCHES, b=PATCHES)
    order = torch.randperm(PATCHES**2, generator=rng).numpy()
    return Image.fromarray(rearrange(squares[order], shape[1], a=PATCHES, b=PATCHES))


def noise(picture: Image.Image, rng: torch.Generator) -> Image.Image:
    """As many pixels as the picture has, of random colours."""
    pixels = torch.randint(256, (picture.height, picture.width, 3), generator=rng, dtype=torch.uint8)
    return Image.fromarray(pixels.numpy())


CHANGES: dict[str, Change] = {
    "held-out": lambda picture, rng: picture,
    "mirrored": mirrored,
    "upside-down": upside_down,
    "shuffled": shuffled,
    "noise": noise,
}


def bits_of_pictures(tour: Tour) -> list[Figure]:
    """The same pictures whole and broken, samples beside them, and the bits of each kind."""
    folders = _folders(tour)
    commands, rows, strips = [], [], []
    for name, folder in folders.items():
        table = tour.out / "bits" / f"{name}.csv"
        words = ("--split", "all", "--draws", DRAWS, "--csv", table)
        commands.append(tour.unmask("score", tour.model, folder, *words))
        rows.append(_bar(name, table))
        caption = f"{name} · {rows[-1].value:.2f} bits"
        strip = keep(_strip(folder), tour.out / "bits" / f"{name}.png")
        strips.append(Picture(path=strip, alt=f"Pictures that were scored: {name}", caption=caption, zoom=1))
    chart = tour.out / "bits" / "bits.svg"
    chart.write_text(bars(rows, "bits per code; the whiskers are standard errors"), encoding="utf-8")
    said = ", ".join(f"{row.label} {row.value:.2f}" for row in rows)
    shown = Picture(path=chart, alt=f"Bits per code: {said}")
    return [Figure(pictures=[shown, *strips], commands=commands, python=_python(folders), columns=2)]


def _folders(tour: Tour) -> dict[str, Path]:
    """Folders of pictures to score, by name; those that are not there yet are made."""
    originals = [Image.fromarray(pixels) for pixels in tour.held_out.read(tour.held_out.spread(COUNT))]
    folders = {"held-out": tour.out / "bits" / "held-out", "generated": tour.samples}
    folders |= {name: tour.out / "bits" / name for name in CHANGES}
    for name, change in CHANGES.items():
        for number, original in enumerate(originals):
            changed = change(original, generator(0, "tour", name, number))
            keep(changed, folders[name] / f"{number:06d}.png")
    return folders


def _bar(name: str, table: Path) -> Bar:
    with table.open() as file:
        bits = [float(row["bits_per_code"]) for row in csv.DictReader(file)]
    error = statistics.stdev(bits) / math.sqrt(len(bits)) if len(bits) > 1 else 0.0
    return Bar(name, statistics.mean(bits), error)


def _strip(folder: Path) -> Image.Image:
    return grid([Image.open(path) for path in sorted(folder.glob("*.png"))[:COUNT]], COUNT)


def _python(folders: dict[str, Path]) -> str:
    lines = [f"    {quoted(name)}: bits({quoted(folder)}),\n" for name, folder in folders.items()]
    return (
        "from pathlib import Path\n\n"
        "def bits(folder):\n"
        '    pictures = map(Image.open, sorted(Path(folder).glob("*.png")))\n'
        f"    return model.score(pictures, draws={DRAWS}).mean\n\n"
        "scores = {\n" + "".join(lines) + "}"
    )
