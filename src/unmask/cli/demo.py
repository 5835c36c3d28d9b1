"""``unmask demo``: a tour of what there is, on the built-in data."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from unmask.cli import data

HELP = """See what Unmask does, on the built-in pictures: pictures and figures in one folder."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    out: Path = Path("demo")
    """Folder for what the tour makes."""


def main(argv: list[str]) -> None:
    """Describe the built-in data set and draw its contact sheet."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask demo", description=HELP)
    arguments.out.mkdir(parents=True, exist_ok=True)
    data.main(["emoji", "--out", str(arguments.out / "emoji.png")])
