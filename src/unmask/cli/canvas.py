"""``unmask canvas``: an image larger than any of the training."""

import re
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, arg

from unmask.cli.arguments import Drawing, GuideOption, SettingsOption, command_line, settings_flags
from unmask.cli.loading import load_guide, load_model
from unmask.cli.pictures import check_out
from unmask.cli.results import emit
from unmask.data.folders import write_beside
from unmask.data.provenance import KEY
from unmask.errors import ConfigError

HELP = """Sample an image larger than the training images.

  unmask canvas emoji --size 256x64 --out wide.png
  unmask canvas runs/prior --size 512x512 --care fast                 faster, less exact
  unmask canvas runs/prior --size 512x512 --care exact                all windows, all steps, perhaps hours
  unmask canvas runs/prior "forest" --size 512x256 --guidance 3       with a model trained on captions
  unmask canvas runs/prior "apples" "oranges" --size 512x128          from one prompt to the other

The model sees the canvas through windows of the training size. For each code, the predictions of all windows
that contain it are averaged (docs/editing.md)."""


@command_line
class Arguments(Drawing):
    """Arguments of the command."""

    size: Annotated[str, arg(metavar="WIDTHxHEIGHT")]
    """In pixels, at least the size of the training images."""
    out: Path = Path("canvas.png")
    """File of the image, a PNG. If it holds another image: canvas-2.png and so on."""
    prompts: Annotated[tuple[str, ...], Positional, arg(metavar="PROMPT…")] = ()
    """Prompt, for models trained on captions. Several are placed along the longer side."""
    negative: str = ""
    """Negative prompt: what guidance moves away from."""
    guide: GuideOption = None
    sampling: SettingsOption = settings_flags("canvas")


def main(argv: list[str]) -> None:
    """Draw the canvas and write it."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask canvas", description=HELP)
    size = parse_size(arguments.size)
    check_out(arguments.out)
    model = load_model(arguments.model, arguments.device, arguments.backend, arguments.precision)
    guide = load_guide(arguments.guide, arguments.device, arguments.precision)
    how = {"negative": arguments.negative, "guide": guide} | arguments.keywords
    picture = model.canvas(size, arguments.prompts, **how)
    (path,) = write_beside([picture], arguments.out)
    emit(f"{size[0]}×{size[1]} pixels: {path}", picture=path, drawn=picture.info[KEY])


def parse_size(text: str) -> tuple[int, int]:
    """Width and height in pixels from what was typed, such as 768x256."""
    match = re.fullmatch(r"(\d+)[xX×](\d+)", text)
    if match is None:
        raise ConfigError(
            f"{text!r} is no size; wanted width and height in pixels", hint="such as:  --size 768x256"
        )
    return int(match[1]), int(match[2])
