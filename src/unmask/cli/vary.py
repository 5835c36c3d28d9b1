"""``unmask vary``: an image, a little different."""

from pathlib import Path

import tyro

from unmask.cli.arguments import command_line
from unmask.cli.edits import EditArguments, Unlikely

HELP = """Draw variations of an image: a share of its codes is redrawn, the others stay.

  unmask vary emoji smile.png --strength 0.3
  unmask vary emoji smile.png --strength 0.1 --unlikely --count 1     repair what the model finds unlikely

Each variation redraws different codes. At strength 1 nothing of the image is left. This is unmask inpaint
with the whole image selected. All pixels come from the decoder, also where codes stay."""


@command_line
class Arguments(EditArguments):
    """Arguments of the command."""

    strength: float = 0.3
    """The share of codes to redraw."""
    unlikely: Unlikely = False
    out: Path = Path("varied.png")
    """A PNG. Several variations are numbered: varied-1.png and so on. Existing files are kept."""


def main(argv: list[str]) -> None:
    """Draw the variations and write them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask vary", description=HELP)
    arguments.draw("vary", arguments.out, strength=arguments.strength, unlikely=arguments.unlikely)
