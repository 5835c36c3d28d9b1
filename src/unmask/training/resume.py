"""Opens a run to train into: a new one, or an old one whose inputs and networks are the same."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmask.config import CodecTraining, PriorTraining, merge, to_json
from unmask.errors import RunError
from unmask.progress import say
from unmask.training.engine import Engine
from unmask.training.runs import Run

LAUNCH = "TORCHELASTIC_RUN_ID"  # by which torchrun names one launch with all its restarts
UNNAMED = "none"  # what it calls a launch that was given no --rdzv-id
ANOTHER = "start another:  --out runs/another"


def check_codec(config: Mapping[str, Any], codec: str, fingerprint: str) -> None:
    """Refuse to go on with a prior whose codec was trained further, or replaced, since."""
    before = config.get("codec_fingerprint", fingerprint)
    if before != fingerprint:
        raise RunError(
            f"the run learns the codes of codec {before}, but {codec} now holds codec {fingerprint}; "
            "the same numbers would mean different patches",
            hint=ANOTHER,
        )


def is_restart(out: Path) -> bool:
    """Whether torchrun began the run in ``out`` by this command, and now starts it again.

    Only where a process failed are restarts counted, not on machines that begin again with it. So the name of
    the launch decides, where it has one; a job that is queued again has its own from before.
    """
    launch, restarts = os.environ.get(LAUNCH, UNNAMED), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if (launch == UNNAMED and restarts == "0") or not Run.is_at(out):
        return False
    return bool(Run.open(out).config.get("launch") == launch)


@contextmanager
def open_run(
    settings: CodecTraining | PriorTraining, inputs: dict[str, str], out: Path, resume: bool, engine: Engine
) -> Iterator[Run]:
    """The run in ``out`` for this training alone; only the first process writes it."""
    how = {"processes": engine.world, "precision": engine.precision}
    config = inputs | how | {"launch": os.environ.get(LAUNCH), "settings": to_json(settings)}
    if not engine.is_first:
        yield Run(out, config)
        return
    run = Run.open(out, tensorboard=True) if resume else Run.create(out, config, tensorboard=True)
    with run.claimed():
        if resume:
            _check_same(run, settings, inputs["pictures"])
            _say_what_changed(how | run.config, how)
            run.update_config(config)
        yield run


def _check_same(run: Run, settings: CodecTraining | PriorTraining, pictures: str) -> None:
    """Refuse what cannot go on: other pictures or networks than before, or a training that is done."""
    before = merge(settings, run.config["settings"])
    for part, value in settings.lasting.items():
        if before.lasting[part] != value:
            message = f"{run.folder} was started with other settings under {part}"
            raise RunError(f"{message}; a run keeps those to its end", hint=ANOTHER)
    if run.config.get("pictures", pictures) != pictures:
        raise RunError(
            f"the images are not those that {run.folder} was started with; a run keeps them to its end",
            hint=f"start another from it:  --init {run.folder / 'last'} --out runs/another",
        )
    done = run.last_step() or 0
    if done >= settings.loop.steps:
        raise RunError(
            f"{run.folder} is finished: it has done {done} steps of {settings.loop.steps}",
            hint=f"train longer:  --resume {run.folder} --loop.steps {2 * done}",
        )


def _say_what_changed(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Report settings that changed on resuming, as they may on another machine."""
    m, n = before["processes"], now["processes"]
    if m != n:
        say(f"trained by {m} processes so far, now by {n}: a step has {n}/{m} of the images")
    if before["precision"] != now["precision"]:
        say(f"trained in {before['precision']} so far, now in {now['precision']}")
