"""``unmask reproduce``: the paper's claims, run again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from tyro.conf import Positional, arg

from unmask.cli.arguments import Amount
from unmask.cli.main import run_command
from unmask.cli.results import emit
from unmask.errors import ConfigError

HELP = """Test the claims of the paper: train, measure, compare, and judge by standard errors.

  unmask reproduce --list                        the claims, and where the paper makes them
  unmask reproduce --quick --out smoke           a smoke test: every claim on tiny models
  unmask reproduce losses autoregressive         some claims
  unmask reproduce --seeds 3 --out runs/paper    all claims, in hours on one core

A plan is printed first. After a stop, run the same command again to continue. With more claims or seeds, only
what is missing is computed. The folder gets paper.md, results.json, results.csv and plots. Needs
Fashion-MNIST (apt-get install dataset-fashion-mnist), unmask weights get inception and unmask weights get
lpips-alex."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    claims: Annotated[tuple[str, ...], Positional, arg(metavar="CLAIM…")] = ()
    """Names of claims. None: all."""
    list: bool = False
    """List the claims and exit."""
    quick: bool = False
    """A smoke test with tiny models of generated discs; its verdicts mean nothing."""
    seeds: Amount | None = None
    """Training runs of each kind, with different seeds. None: 3, or 1 for a smoke test."""
    pictures: str | None = None
    """Path of Fashion-MNIST's train-images-idx3-ubyte.gz, if it is not in its usual place."""
    out: Path = Path("runs/reproduce")
    """Folder for all runs and results."""

    def __post_init__(self) -> None:
        if self.seeds is not None and not 1 <= self.seeds <= 20:
            raise ConfigError(f"{self.seeds} seeds are not from 1 to 20", hint="--seeds 3")


def main(argv: list[str]) -> None:
    """Do what is missing, then say where the page is."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask reproduce", description=HELP)
    from unmask.reproduce.claims import claims_named
    from unmask.reproduce.manifest import FULL, QUICK

    claims = claims_named(arguments.claims)
    if arguments.list:
        table = Table(box=None, show_header=False, pad_edge=False)
        for claim in claims:
            table.add_row(f"[bold]{claim.name}[/]", claim.title, claim.paper)
        emit(table, claims=[claim.name for claim in claims])
        return
    from unmask.reproduce.run import reproduce

    scale = QUICK if arguments.quick else FULL
    seeds = arguments.seeds or (1 if arguments.quick else 3)
    page = reproduce(claims, scale, seeds=seeds, out=arguments.out, data=arguments.pictures, run=run_command)
    emit(f"the page: {page}", page=page)
