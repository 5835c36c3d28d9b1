"""``unmask train prior``: stage 2."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from unmask.cli.arguments import Codec, DataOrCodes
from unmask.cli.settings import Origin, Start, conclude, print_settings, starting_point
from unmask.config import PriorTraining
from unmask.presets import PRIOR, prior_preset

HELP = f"""Stage 2: train a prior, a Transformer over codes (absorbing diffusion or autoregressive).

  unmask train prior runs/codec/best emoji --out runs/prior             on images
  unmask train prior runs/codec/best photos.codes --preset churches     on codes made by unmask encode
  unmask train prior runs/codec/best emoji --kind autoregressive --out runs/raster
  unmask train prior --resume runs/prior                                continue after a stop

Fine-tune a model, with the preset of its size and a lower learning rate:
  unmask train prior MODEL photos/ --init MODEL --preset churches --optim.lr 2e-5 --optim.warmup 500

Split, mirroring and background are those of the codec's training, unless --images.* overrides them.
Presets: {", ".join(PRIOR)}. RUN/best is a complete model, codec and prior, ready to sample."""


@dataclass(frozen=True, kw_only=True)
class Arguments(Origin):
    """Arguments of the command."""

    codec: Codec
    data: DataOrCodes
    out: Path = Path("runs/prior")
    """Folder of the new run."""
    settings: Annotated[PriorTraining, tyro.conf.arg(name="")]


def main(argv: list[str]) -> None:
    """Parse the settings and train."""
    start = starting_point(argv, prior_preset, "prior")
    arguments = _parse(argv, start)
    if not start.run:  # only now is it known which codec
        start = starting_point(argv, prior_preset, "prior", arguments.codec)
        arguments = _parse(argv, start)
    if arguments.print_config:
        print_settings(arguments.settings)
        return
    from unmask.training.train import train_prior

    run = train_prior(
        arguments.codec,
        arguments.data,
        out=arguments.resume or arguments.out,
        preset=arguments.settings,
        init=arguments.init,
        resume=arguments.resume is not None,
    )
    conclude(run, "prior", "--resume", str(run.folder))


def _parse(argv: list[str], start: Start[PriorTraining]) -> Arguments:
    default = Arguments(
        codec=start.run.get("codec", tyro.MISSING),
        data=start.run.get("data", tyro.MISSING),
        settings=start.settings,
    )
    return tyro.cli(Arguments, args=argv, default=default, prog="unmask train prior", description=HELP)
