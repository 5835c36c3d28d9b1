"""``unmask train``: both stages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import arg

from unmask.cli.arguments import Data, DeviceOption, OptionalCodec
from unmask.cli.main import run_command
from unmask.cli.results import emit
from unmask.cli.settings import conclude
from unmask.errors import ConfigError
from unmask.presets import DEFAULT

HELP = """Train a model on your own images: a codec, a prior on its codes, then a results page.

  unmask train photos/ --out runs/mine --init emoji       both stages; the codec starts from the built-in one
  unmask train photos/ --out runs/mine --init emoji --hours 2       within a time budget
  unmask train photos/ --out runs/mine --codec emoji      only the prior, on the built-in codec
  unmask train photos/ --out runs/mine                    the codec from random weights
  unmask train photos/ --out runs/mine --size 128         larger images, as many codes
  unmask train photos/ --out runs/mine --images.crop random --images.scale 1 4      parts of large photographs

A plan with times is printed first. After a stop, run the same command again to continue. Then:
  unmask sample runs/mine

The single stages, with every setting:
  unmask train codec --help
  unmask train prior --help"""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    data: Data
    out: Path = Path("runs/mine")
    """Folder of both runs, codec and prior, and of the page, results/index.html."""
    hours: float | None = None
    """Time budget, from reading the data to the results page. None: as many steps as the preset has."""
    codec: OptionalCodec = None
    init: str | None = None
    """Start the codec from that of this model, instead of random weights."""
    preset: str = DEFAULT
    """Named settings of both stages."""
    size: int | None = None
    """Edge of the images in pixels. None: that of the preset, or of the given codec."""
    crop: Annotated[Literal["centre", "random"] | None, arg(name="images.crop")] = None
    """random: train on random crops of large photographs. None: as in the training of the codec."""
    scale: Annotated[tuple[float, float] | None, arg(name="images.scale")] = None
    """Range of random crops: a crop's edge is the shorter side divided by a number in it."""
    page: bool = True
    """End with samples and a results page, the output of unmask demo for the new model."""
    device: DeviceOption = "auto"

    @property
    def images(self) -> dict[str, Any]:
        """What was said of crops."""
        given = {"crop": self.crop, "scale": self.scale and list(self.scale)}
        return {name: value for name, value in given.items() if value is not None}

    def __post_init__(self) -> None:
        if self.hours is not None and not 0 < self.hours < 10_000:
            raise ConfigError(f"--hours {self.hours} must be above 0 and below 10,000", hint="--hours 2")
        if self.codec and (self.init or self.size):
            raise ConfigError("--codec determines weights and size: leave out --init and --size")
        if self.init and self.size:
            raise ConfigError("--init determines the size: leave out --size")


def main(argv: list[str]) -> None:
    """Train what is missing, then show what came of it."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask train", description=HELP)
    from unmask.training.both import Plan, train_both

    asked = Plan(
        data=arguments.data,
        codec=arguments.codec,
        init=arguments.init,
        preset=arguments.preset,
        size=arguments.size,
        images=arguments.images,
        hours=arguments.hours,
        page=arguments.page,
        engine={"device": arguments.device},
    )
    conclude(train_both(arguments.out, asked), *argv)
    emit(f"the model: {arguments.out}; new images:  unmask sample {arguments.out}", model=arguments.out)
    if arguments.page:
        out = arguments.out / "results"
        words = [arguments.out, arguments.data, "--out", out, "--no-train", "--device", arguments.device]
        run_command(["demo", *map(str, words)])
