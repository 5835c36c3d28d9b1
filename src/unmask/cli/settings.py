"""Where the settings of a training come from: a preset or a run, then a file, then the command line."""

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import yaml

from unmask.cli.results import emit
from unmask.config import CodecTraining, PriorTraining, read_changes, to_json
from unmask.errors import ConfigError
from unmask.presets import DEFAULT
from unmask.progress import say
from unmask.training.resolve import Stage, begun, starting_settings

if TYPE_CHECKING:
    from unmask.training.runs import Run

T = TypeVar("T", CodecTraining, PriorTraining)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The arguments that say where all others start from."""

    preset: str = DEFAULT
    """Named settings to start from. The defaults shown below are those of the preset."""
    config: Path | None = None
    """A YAML or JSON file whose settings override the preset; or the RUN/config.json of another run."""
    init: str | None = None
    """A model to start from instead of random weights. The network is the model's, all else the preset's."""
    resume: Path | None = None
    """The run to continue, with its own data and settings."""
    print_config: bool = False
    """Print the resulting settings as YAML and exit."""


@dataclass(frozen=True)
class Start(Generic[T]):
    """What the command line's own settings are put over."""

    settings: T
    run: dict[str, Any] = field(default_factory=dict)
    """The configuration of the run to resume; empty for a new one."""


def starting_point(
    argv: list[str], preset: Callable[[str], T], stage: Stage, codec: str | None = None
) -> Start[T]:
    """The settings that the named preset, model, run and file bring along."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--init")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--loop.steps", dest="steps", type=_number)
    parser.add_argument("--images.size", "--size", dest="size", type=_number)
    parser.add_argument("--codec.multipliers", dest="levels")
    given, _ = parser.parse_known_args(argv)
    if given.resume and (given.preset or given.init):
        option = "--preset" if given.preset else "--init"
        raise ConfigError(f"a resumed run keeps its own settings and weights; {option} is for new ones")
    run = begun(given.resume, stage) if given.resume else {}
    settings = starting_settings(
        given.preset or Origin.preset,
        preset,
        changes=read_changes(given.config) if given.config else {},
        steps=given.steps,
        size=None if given.levels else given.size,
        codec=codec,
        init=given.init,
        run=run,
    )
    return Start(settings, run)


def _number(text: str) -> int | None:
    """What else there is to say about a number is said when all settings are read."""
    return int(text) if text.isdecimal() else None


def conclude(run: "Run", *command: str) -> None:
    """Keep the run and its last validation for ``--json``; leave as a signal that stopped it would have it.

    So that a shell does not go on after ``&&``. The command is the one that continues the run.
    """
    validations = [entry for entry in run.read_log() if entry["kind"] == "validation"]
    emit(run=run.folder, validation=validations[-1] if validations else None)
    if run.stopped_by:
        say(f"stopped and saved. Go on:  {shlex.join(['unmask', 'train', *command])}")
        sys.exit(128 + run.stopped_by)


def print_settings(settings: object) -> None:
    """Show settings in the form that ``--config`` reads."""
    print(yaml.safe_dump(to_json(settings), sort_keys=False), end="")
