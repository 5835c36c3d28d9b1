"""``unmask extend``: what could be beyond the edges of a picture."""

from pathlib import Path

import tyro

from unmask.cli.arguments import Amount, command_line
from unmask.cli.edits import EditArguments, Seam

HELP = """Make a picture larger: the model draws what could lie beyond its edges.

  unmask extend runs/prior church.png --right 128
  unmask extend runs/prior church.png --left 64 --right 64 --top 32 --count 1

The picture stays as it is, except for a seam along the edges that were moved, half a code wide, over which
new fades into old; --seam 0 leaves it out. Its contents should be as large as in the training pictures."""


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
    """A PNG; several versions are numbered: extended-1.png and so on, beside what is there already."""


def main(argv: list[str]) -> None:
    """Draw the versions and write them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask extend", description=HELP)
    how = {name: getattr(arguments, name) for name in ("left", "top", "right", "bottom", "seam")}
    arguments.draw("extend", arguments.out, **how)
