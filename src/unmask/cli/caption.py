"""``unmask caption``: what images show."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, arg

from unmask.cli.arguments import Amount, Using, command_line
from unmask.cli.loading import load_model
from unmask.cli.results import emit

HELP = """Caption images, with a model that was trained on captions.

  unmask caption runs/prior cat.png house.jpg

Captions are sampled --draws times. The percentage before a caption is how often it came up."""


@command_line
class Arguments(Using):
    """Arguments of the command."""

    pictures: Annotated[Positional[tuple[Path, ...]], arg(metavar="IMAGE…")]
    """Image files."""
    draws: Amount = 32
    """Captions sampled per image."""
    shown: Amount = 3
    """Captions shown per image."""
    seed: int = 0
    """Seed of the samples."""


def main(argv: list[str]) -> None:
    """Print the captions of each image."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask caption", description=HELP)
    model = load_model(arguments.model, arguments.device)
    captions = model.caption(arguments.pictures, draws=arguments.draws, seed=arguments.seed)
    shown = {}
    for path, found in zip(arguments.pictures, captions, strict=True):
        shown[str(path)] = likely = dict(islice(found.items(), arguments.shown))
        words = [f"  {share:4.0%}  {text}" for text, share in likely.items()]
        emit("\n".join([str(path), *words]), captions=shown)
