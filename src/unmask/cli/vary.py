"""``unmask vary``: a picture, a little different."""

from pathlib import Path

import tyro

from unmask.cli.arguments import command_line
from unmask.cli.edits import EditArguments, Unlikely

HELP = """Draw variations of a picture: a share of its codes is drawn again, the others stay.

  unmask vary emoji smile.png --strength 0.3
  unmask vary emoji smile.png --strength 0.1 --unlikely --count 1     repair what the model finds odd

Each variation draws other codes. At strength 1 nothing of the picture is left. It is unmask inpaint with all
of the picture selected; all pixels come from the codec, those of codes that stay too."""


@command_line
class Arguments(EditArguments):
    """Arguments of the command."""

    strength: float = 0.3
    """How different: the share of codes to draw again."""
    unlikely: Unlikely = False
    out: Path = Path("varied.png")
    """A PNG; several variations are numbered: varied-1.png and so on, beside what is there already."""


def main(argv: list[str]) -> None:
    """Draw the variations and write them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask vary", description=HELP)
    arguments.draw("vary", arguments.out, strength=arguments.strength, unlikely=arguments.unlikely)
