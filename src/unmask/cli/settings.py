"""Where the settings of a training come from: a preset or a run, then a file, then the command line."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from unmask.config import merge, read_changes, to_json
from unmask.errors import ConfigError, RunError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The arguments that say where all others start from."""

    preset: str = "emoji"
    """Named settings to start from; they are the defaults shown below."""
    config: Path | None = None
    """A YAML or JSON file of settings, put over the preset's."""
    resume: Path | None = None
    """A run to go on with; it brings its own inputs and settings."""
    print_config: bool = False
    """Show the resulting settings as YAML and stop."""


@dataclass(frozen=True)
class Start(Generic[T]):
    """What the command line's own settings are put over."""

    settings: T
    run: dict[str, Any] = field(default_factory=dict)
    """The configuration of the run to resume; empty for a new one."""


def starting_point(argv: list[str], preset: Callable[[str], T], stage: str) -> Start[T]:
    """A preset with the changes of a ``--config`` file, or what a run to ``--resume`` was started with."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--resume", type=Path)
    given, _ = parser.parse_known_args(argv)
    if given.resume and given.preset:
        raise ConfigError("a run that goes on keeps its own settings; --preset is for new ones")
    run = _run_config(given.resume, stage) if given.resume else {}
    settings = merge(preset(given.preset or Origin.preset), run.get("settings", {}))
    if given.config:
        settings = merge(settings, read_changes(given.config))
    return Start(settings, run)


def _run_config(folder: Path, stage: str) -> dict[str, Any]:
    """The configuration of a run, which must be of this stage, codec or prior."""
    from unmask.runs import Run

    config = Run.open(folder).config
    if stage not in config["settings"]:
        other = "prior" if stage == "codec" else "codec"
        raise RunError(f"{folder} trains a {other}", hint=f"unmask train {other} --resume {folder}")
    return config


def print_settings(settings: object) -> None:
    """Show settings in the form that ``--config`` reads."""
    print(yaml.safe_dump(to_json(settings), sort_keys=False), end="")
