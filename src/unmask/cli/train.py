"""``unmask train``: both stages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import arg

from unmask.cli.arguments import Data, DeviceOption, OptionalCodec
from unmask.cli.main import run_command
from unmask.cli.results import tell
from unmask.cli.settings import conclude
from unmask.errors import ConfigError
from unmask.presets import DEFAULT

HELP = """Train a model on your own pictures: a codec, a prior on its codes, then a page of results.

  unmask train photos/ --out runs/mine --init emoji       both stages, the codec from the built-in one
  unmask train photos/ --out runs/mine --init emoji --hours 2       as long as there is time
  unmask train photos/ --out runs/mine --codec emoji      the built-in codec as it is, and a prior of your own
  unmask train photos/ --out runs/mine                    the codec from random weights
  unmask train photos/ --out runs/mine --size 128         larger pictures, as many codes
  unmask train photos/ --out runs/mine --images.crop random --images.scale 1 4      parts of large photographs

After a stop, type the same again to continue. The plan is shown first. The model is runs/mine:
  unmask sample runs/mine

Each stage by itself, with every setting:
  unmask train codec --help
  unmask train prior --help"""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    data: Data
    out: Path = Path("runs/mine")
    """Folder of both runs, codec and prior, and of the page, results/index.html."""
    hours: float | None = None
    """Time for all of it, from reading to the page. None: as many steps as the preset has."""
    codec: OptionalCodec = None
    init: str | None = None
    """A model whose codec to start from, instead of random weights."""
    preset: str = DEFAULT
    """Named settings of both stages."""
    size: int | None = None
    """Edge of the pictures in pixels. None: as the preset has it; that of a given codec is its own."""
    crop: Annotated[Literal["centre", "random"] | None, arg(name="images.crop")] = None
    """random: learn from squares cut out of large photographs at random places. None: as the codec did."""
    scale: Annotated[tuple[float, float] | None, arg(name="images.scale")] = None
    """Of random crops: how many times their edge the shorter side has, from and to."""
    page: bool = True
    """End with samples and a page of results: unmask demo with the new model."""
    device: DeviceOption = "auto"

    @property
    def images(self) -> dict[str, Any]:
        """What was said of crops."""
        given = {"crop": self.crop, "scale": self.scale and list(self.scale)}
        return {name: value for name, value in given.items() if value is not None}

    def __post_init__(self) -> None:
        if self.hours is not None and not 0 < self.hours < 10_000:
            raise ConfigError(f"{self.hours} hours are no time to train for", hint="--hours 2")
        if self.codec and (self.init or self.size):
            raise ConfigError("a codec that is used as it is brings weights and size: no --init, no --size")
        if self.init and self.size:
            raise ConfigError("the model to start from has its own size: leave --size")


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
    tell(f"the model: {arguments.out}; new pictures:  unmask sample {arguments.out}", model=arguments.out)
    if arguments.page:
        out = arguments.out / "results"
        words = [arguments.out, arguments.data, "--out", out, "--no-train", "--device", arguments.device]
        run_command(["demo", *map(str, words)])
