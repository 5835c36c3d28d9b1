"""``unmask extend``: what could be beyond the edges of a picture."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from unmask.cli.arguments import (
    Drawing,
    SettingsOption,
    Told,
    ToldOption,
    Versions,
    settings_flags,
)
from unmask.cli.loading import load_model
from unmask.cli.pictures import check_out, write_pictures
from unmask.data.pictures import open_picture

HELP = """Make a picture larger: the model draws what could lie beyond its edges.

  unmask extend runs/prior church.png --right 128
  unmask extend runs/prior church.png --left 64 --right 64 --top 32 --count 1

The picture stays as it is, except for a seam along the edges that were moved, half a code wide, over which
new fades into old; --seam 0 leaves it out. Its contents should be as large as in the training pictures."""


@dataclass(frozen=True, kw_only=True)
class Arguments(Drawing):
    """Arguments of the command."""

    image: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="IMAGE")]
    """File of the picture."""
    left: int = 0
    """Pixels to add on the left."""
    top: int = 0
    """Pixels to add above."""
    right: int = 0
    """Pixels to add on the right."""
    bottom: int = 0
    """Pixels to add below."""
    out: Path = Path("extended.png")
    """A PNG; several versions are numbered: extended-1.png and so on."""
    versions: Annotated[Versions, tyro.conf.arg(name="")] = field(default_factory=Versions)
    told: ToldOption = field(default_factory=Told)
    sampling: SettingsOption = field(default_factory=settings_flags("edit"))


def main(argv: list[str]) -> None:
    """Draw the versions and write them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask extend", description=HELP)
    check_out(arguments.out)
    open_picture(arguments.image)  # what is no picture is refused before a model is opened
    model = load_model(arguments.model, arguments.device, arguments.backend)
    margins = {side: getattr(arguments, side) for side in ("left", "top", "right", "bottom")}
    asked = asdict(arguments.told) | asdict(arguments.versions) | arguments.keywords
    pictures = model.extend(arguments.image, **margins, **asked)
    for path in write_pictures(pictures, arguments.out):
        print(path)
