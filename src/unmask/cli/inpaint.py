"""``unmask inpaint``: a part of an image, drawn anew."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from PIL import Image

from unmask.cli.arguments import command_line
from unmask.cli.edits import EditArguments, Seam, Unlikely
from unmask.data.pictures import open_picture
from unmask.errors import ConfigError

if TYPE_CHECKING:
    from unmask.data.patches import Box

HELP = """Inpainting: redraw a selected part of an image, in several versions.

  unmask inpaint runs/prior church.png --box 40,0,96,128            left, top, width, height in pixels
  unmask inpaint runs/prior church.png --mask towers.png --count 8 --rank
  unmask inpaint runs/prior photos --mask corner.png --count 1 --out inpainted     every image of a folder

All other pixels stay the same, except for a seam around the selection, half a code wide, in which new and old
are blended (--seam 0: none). Images must be at least as large as the training images. The model knows objects
at the size at which it saw them: shrink photographs until their contents are about that large."""


@command_line
class Arguments(EditArguments):
    """Arguments of the command."""

    box: Annotated[str | None, tyro.conf.arg(metavar="X,Y,W,H")] = None
    """The part to redraw: left, top, width and height, in pixels."""
    mask: Path | None = None
    """The part to redraw: an image of the same size, white there."""
    strength: float = 1.0
    """Share of the selected codes to redraw. Below 1, results stay closer to the original."""
    unlikely: Unlikely = False
    seam: Seam = None
    out: Path = Path("inpainted.png")
    """A PNG. Several versions are numbered: inpainted-1.png and so on. Existing files are kept."""


def main(argv: list[str]) -> None:
    """Draw the versions and write them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask inpaint", description=HELP)
    how = {name: getattr(arguments, name) for name in ("strength", "unlikely", "seam")}
    arguments.draw("inpaint", arguments.out, mask=_mask(arguments), **how)


def _mask(arguments: Arguments) -> "Image.Image | Box":
    if arguments.box is not None and arguments.mask is None:
        return parse_box(arguments.box)
    if arguments.mask is not None and arguments.box is None:
        return open_picture(arguments.mask, background="black")
    raise ConfigError(
        "select the part to redraw, by one option", hint="--box 40,0,96,128  or  --mask mask.png"
    )


def parse_box(text: str) -> "Box":
    """Left, top, width and height from what was typed, such as 40,0,96,128."""
    match = re.fullmatch(r"(-?\d+),(-?\d+),(\d+),(\d+)", text)
    if match is None:
        raise ConfigError(
            f"{text!r} is no box; wanted left, top, width and height in pixels",
            hint="such as:  --box 40,0,96,128",
        )
    left, top, width, height = map(int, match.groups())
    return left, top, width, height
