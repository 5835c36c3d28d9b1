"""``unmask score``: how likely pictures are."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from PIL import Image

from unmask.files import write_bytes

if TYPE_CHECKING:
    from unmask.images.pixels import PixelSet
    from unmask.images.progress import Report
    from unmask.pipeline import Scores

HELP = """Score pictures: the bits that the model needs for each code, on average.

  unmask score runs/prior/best emoji                       the pictures held out of training
  unmask score runs/prior/best photos/ --split all --csv scores.csv

For absorbing priors this is an upper bound, estimated from a few masks a picture; for autoregressive ones it
is exact. Fewer bits: likelier pictures."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    model: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="MODEL")]
    """A model with a prior, such as runs/prior/best."""
    data: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="DATA")]
    """Pictures: a folder, a .zip or .tar, an .npy, an LSUN lmdb, or the built-in 'emoji'."""
    split: Literal["validation", "train", "all"] = "validation"
    """Which of them."""
    draws: int = 16
    """Masks for each picture; more make the estimate steadier."""
    steps: int | None = None
    """Steps of the chain whose bound it is. None: the limit of ever more steps."""
    seed: int = 0
    csv: Path | None = None
    """A file for the bits of each picture."""


def main(argv: list[str]) -> None:
    """Score and print the mean with its standard error."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask score", description=HELP)
    from unmask.images.progress import bar
    from unmask.pipeline import load

    model = load(arguments.model)
    pixels = model.open(arguments.data, None if arguments.split == "all" else arguments.split)
    with bar("scoring") as report:
        pictures = _pictures(pixels, report)
        scores = model.score(pictures, draws=arguments.draws, steps=arguments.steps, seed=arguments.seed)
    exact = "exactly" if model.prior.causal else "at most"
    print(f"{exact} {scores.mean:.4f} ± {scores.standard_error:.4f} bits per code, {len(pixels)} pictures")
    if arguments.csv:
        _write_csv(arguments.csv, pixels, scores)


def _pictures(pixels: "PixelSet", report: "Report") -> Iterator[Image.Image]:
    for done in range(len(pixels)):
        report(done, len(pixels))
        yield Image.fromarray(pixels.read([done])[0])


def _write_csv(path: Path, pixels: "PixelSet", scores: "Scores") -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["picture", "bits_per_code"])
    rows.writerows((name, f"{bits:.6f}") for name, bits in zip(pixels.names, scores.bits, strict=True))
    write_bytes(path, text.getvalue().encode())
    print(f"picture by picture: {path}")
