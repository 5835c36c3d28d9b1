"""``unmask extend``: what could be beyond the edges of an image."""

from pathlib import Path

import tyro

from unmask.cli.arguments import Amount, command_line
from unmask.cli.edits import EditArguments, Seam

HELP = """Outpainting: extend an image beyond its edges, in several versions.

  unmask extend runs/prior church.png --right 128
  unmask extend runs/prior church.png --left 64 --right 64 --top 32 --count 1

The image stays the same, except for a seam along the edges that moved, half a code wide, in which new and old
are blended (--seam 0: none). Its contents should be about as large as in the training images."""


@command_line
class Arguments(EditArguments):
    """Arguments of the command."""

    left: Amount = 0
    """Pixels to add on the left."""
    top: Amount = 0
    """Pixels to add above."""
    right: Amount = 0
    """Pixels to add on the right."""
    bottom: Amount = 0
    """Pixels to add below."""
    seam: Seam = None
    out: Path = Path("extended.png")
    """A PNG. Several versions are numbered: extended-1.png and so on. Existing files are kept."""


def main(argv: list[str]) -> None:
    """Draw the versions and write them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask extend", description=HELP)
    how = {name: getattr(arguments, name) for name in ("left", "top", "right", "bottom", "seam")}
    arguments.draw("extend", arguments.out, **how)
