"""``unmask train codec``: stage 1."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from unmask.cli.arguments import Data
from unmask.cli.settings import Origin, conclude, print_settings, starting_point
from unmask.config import CodecTraining
from unmask.presets import CODEC, codec_preset

HELP = f"""Stage 1: train a codec (VQGAN), which turns images into codes and back.

  unmask train codec emoji --out runs/codec                    the built-in images
  unmask train codec photos/ --preset churches --optim.batch 8   your own, at the paper's size
  unmask train codec --resume runs/codec                       continue after a stop, a kill or a crash
  unmask train codec --resume runs/codec --loop.steps 20000    train longer

Fine-tune a model, with the preset of its size and a lower learning rate:
  unmask train codec photos/ --init MODEL --preset churches --optim.lr 4.5e-6 --out runs/mine

Train only the decoder, against a discriminator. Codes and priors stay valid; the model is RUN/last:
  unmask train codec photos/ --init MODEL --train decoder --loss.adversarial hinge --loss.adversarial-start 0

Presets: {", ".join(CODEC)}. RUN has settings, log, preview images and checkpoints; RUN/best is the model."""


@dataclass(frozen=True, kw_only=True)
class Arguments(Origin):
    """Arguments of the command."""

    data: Data
    out: Path = Path("runs/codec")
    """Folder of the new run."""
    settings: Annotated[CodecTraining, tyro.conf.arg(name="")]


def main(argv: list[str]) -> None:
    """Parse the settings and train."""
    start = starting_point(argv, codec_preset, "codec")
    default = Arguments(data=start.run.get("data", tyro.MISSING), settings=start.settings)
    arguments = tyro.cli(Arguments, args=argv, default=default, prog="unmask train codec", description=HELP)
    if arguments.print_config:
        print_settings(arguments.settings)
        return
    from unmask.training.train import train_codec

    out, resume = arguments.resume or arguments.out, arguments.resume is not None
    run = train_codec(arguments.data, out=out, preset=arguments.settings, init=arguments.init, resume=resume)
    conclude(run, "codec", "--resume", str(run.folder))
