"""``unmask demo``: what Unmask does, as one page."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from unmask.cli.arguments import DeviceOption, Model, TrainingData
from unmask.cli.main import run_command

HELP = """See what Unmask does: run its commands on the built-in model and images, with results on one page.

  unmask demo                                     the page is demo/index.html
  unmask demo runs/prior/best photos/ --out mine  the same with your own model

It takes about six minutes on two cores and downloads nothing."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    model: Model = "emoji"
    data: TrainingData = "emoji-3d"
    out: Path = Path("demo")
    """Folder for the page and all images; an earlier demo in it is replaced."""
    train: bool = True
    """End with training a tiny model, which takes a minute."""
    device: DeviceOption = "auto"


def main(argv: list[str]) -> None:
    """Run the demo."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask demo", description=HELP)
    from unmask.demo.run import run_demo
    from unmask.demo.story import Demo

    demo = Demo(arguments.model, arguments.data, arguments.out, run_command, arguments.device)
    run_demo(demo, train=arguments.train)
