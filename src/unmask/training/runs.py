"""A run on disk: its configuration, its log, its pictures, its checkpoints and its models.

    runs/NAME/  config.json  log.jsonl  samples/  tensorboard/  checkpoints/step-00001000/  best/  last/

A step is a number of optimisation steps done: what is logged or saved at step 1000 has seen 1000 batches.
One process writes a run, and claims it before; any number may read it meanwhile. A kill at any instant leaves
a run that resumes.
"""

import json
import logging
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from PIL import Image

from unmask import __version__
from unmask.data.pictures import encoded
from unmask.errors import RunError
from unmask.reading import DamagedError, parse_json, parsing, read_json, reason
from unmask.storage import bundles as bundle
from unmask.storage import files, locks, seals
from unmask.storage import state as tensors

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FORMAT = 1
LOGGER = logging.getLogger(__name__)
GO_ON = "nothing that was saved is lost: make room, then go on by --resume"


writing = partial(files.writing, kind=RunError, hint=GO_ON)


class Run:
    """One training on disk."""

    def __init__(self, folder: Path, config: dict[str, Any], *, tensorboard: bool = False) -> None:
        self.folder, self.config = folder, config
        self._log_path, self._samples = folder / "log.jsonl", folder / "samples"
        self._checkpoints = folder / "checkpoints"
        self.stopped_by = 0
        """The signal that ended this training before its end, if one did."""
        self._board = _open_board(folder) if tensorboard else None

    @staticmethod
    def is_at(folder: Path) -> bool:
        """Whether there is a run in ``folder``."""
        return (folder / "config.json").exists()

    @classmethod
    def check_free(cls, folder: Path) -> None:
        """Refuse a folder in which there is a run, and a path that cannot become a folder."""
        files.check_folder(folder, "hold a run", RunError, hint="name another:  --out runs/another")
        if cls.is_at(folder):
            hint = f"go on with it by --resume, or name another:  --out {files.free_name(folder)}"
            raise RunError(f"{folder} already holds a run", hint=hint)

    @classmethod
    def create(cls, folder: Path, config: dict[str, Any], *, tensorboard: bool = False) -> Self:
        """A new run, with its configuration (plain JSON values) on the disk."""
        cls.check_free(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write_config(folder, config)
        except OSError as error:
            raise RunError(f"{folder} cannot hold a run: {error}", hint="name another --out") from error
        return cls.open(folder, tensorboard=tensorboard)

    @classmethod
    def open(cls, folder: Path, *, tensorboard: bool = False) -> Self:
        """The run that is in ``folder``."""
        try:
            with parsing():
                content = read_json(folder / "config.json")
                _check_format(folder, content["format"])
                config = dict(seals.unsealed(content, ("format", "unmask", "config"))["config"])
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(f"there is no run in {folder}", hint=_runs_beside(folder)) from None
        except (OSError, DamagedError) as error:
            raise RunError(f"{folder / 'config.json'} does not describe a run: {reason(error)}") from None
        return cls(folder, config, tensorboard=tensorboard)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Let no other process train this run during the block; a kill ends the claim too."""
        with locks.claimed(self.folder / ".lock") as free:
            if not free:
                raise RunError(f"another process is training {self.folder}", hint="wait for it, or stop it")
            yield

    def update_config(self, config: dict[str, Any]) -> None:
        """Put another configuration in the place of the run's own."""
        with writing(self.folder / "config.json", len(json.dumps(config))):
            _write_config(self.folder, config)
        self.config = config

    def log(self, step: int, metrics: Mapping[str, float], *, kind: str = "train") -> None:
        """Append one line of JSON and hand it to the operating system.

        JSON has no NaN and no infinity: such a value is written as null.
        """
        assert not metrics.keys() & {"step", "time", "kind"}, "these names are the line's own"
        values = {name: float(value) for name, value in metrics.items()}
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        line = json.dumps({"step": step, "time": round(time.time(), 3), "kind": kind, **finite}) + "\n"
        with writing(self._log_path, len(line)), self._log_path.open("a") as log:
            log.write(line)
        if self._board:
            for name, value in values.items():
                self._board.add_scalar(f"{kind}/{name}", value, step)
            self._board.flush()

    def read_log(self) -> list[dict[str, Any]]:
        """Every line that was written in full; damaged ones are skipped."""
        return [entry for _, entry in self._log_lines()]

    def truncate_log(self, step: int) -> None:
        """Drop what was logged after ``step``: the first thing to do on resuming from there."""
        kept = b"".join(line for line, entry in self._log_lines() if entry["step"] <= step)
        with writing(self._log_path, len(kept)):
            files.write_bytes(self._log_path, kept)
        if self._board:
            self._board.close()
            self._board = _open_board(self.folder, purge_step=step + 1)

    def save(self, step: int, state: Mapping[str, Any], keep: int = 2) -> None:
        """Keep ``state`` as the checkpoint of ``step``, and with it the ``keep - 1`` before it.

        The state is a tree as in ``unmask.storage.state``: dicts, lists, tuples, plain values and tensors.
        """
        assert keep >= 1, "a run without a checkpoint does not resume"
        assert 0 <= step < 10**8, "names of eight digits are in the order of their steps"
        skeleton, leaves = tensors.flatten(state)
        folder = self._checkpoints / f"step-{step:08d}"
        wanted = tensors.num_bytes(leaves.values())
        with writing(folder, wanted), files.replace_folder(folder, tensors.OURS) as new:
            tensors.save(new, {"format": FORMAT, "step": step}, skeleton, leaves)
        self._tidy(folder, keep)

    def restore(self) -> tuple[int, dict[str, Any]] | None:
        """The step and the state of the newest checkpoint that is whole, or None where there is none yet."""
        folders = self._saved()
        for folder in reversed(folders):
            try:
                with parsing():
                    about, state = tensors.load(folder)
                    _check_format(folder, about["format"])
                    return about["step"], state
            except (OSError, DamagedError) as error:
                LOGGER.warning("%s is damaged and passed over: %s", folder, reason(error))
        if folders:
            message = f"every checkpoint of {self.folder} is damaged"
            raise RunError(message, hint="start again with another --out; best and last may still be of use")
        return None

    def last_step(self) -> int | None:
        """The step of the newest checkpoint, or None where there is none yet."""
        folders = self._saved()
        return int(folders[-1].name.removeprefix("step-")) if folders else None

    @property
    def is_finished(self) -> bool:
        """Whether it has done all of its steps."""
        return bool((self.last_step() or 0) >= self.config["settings"]["loop"]["steps"])

    def save_bundle(self, which: Literal["best", "last"], model: bundle.Bundle) -> None:
        """Keep the model as the run's best or last, in place of the one before."""
        bundle.save(model, self.folder / which)

    def load_bundle(self, which: Literal["best", "last"]) -> bundle.Bundle:
        """The run's best or last model."""
        return bundle.load(self.folder / which)

    def picture(self, name: str, step: int, image: Image.Image) -> None:
        """Keep the picture as ``samples/NAME-STEP.png``."""
        path = self._samples / f"{name}-{step:08d}.png"
        png = encoded(image)
        with writing(path, len(png)):
            self._samples.mkdir(exist_ok=True)
            files.write_bytes(path, png)
        if self._board:
            self._board.add_image(name, np.asarray(image.convert("RGB")), step, dataformats="HWC")
            self._board.flush()

    def _saved(self) -> list[Path]:
        """The folders of all checkpoints, the oldest first."""
        files.settle_within(self._checkpoints)
        return sorted(self._checkpoints.glob("step-" + 8 * "[0-9]"))

    def _log_lines(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Every whole line of the log, as it stands and as what it says.

        A kill may cut the last one short. Another that is damaged is lost, and no reason to stop.
        """
        text = self._log_path.read_bytes() if self._log_path.exists() else b""
        for number, line in enumerate(text.split(b"\n")[:-1], start=1):
            entry: Any = None
            with suppress(DamagedError):
                entry = parse_json(line)
            match entry:
                case {"step": int(), "kind": str()}:
                    yield line + b"\n", entry
                case _:
                    LOGGER.warning("line %d of %s is damaged and passed over", number, self._log_path)

    def _tidy(self, newest: Path, keep: int) -> None:
        """Remove checkpoints that are too old or after the resumed step, and partial ones."""
        kept = [folder for folder in self._saved() if folder <= newest][-keep:]
        for folder in self._saved():
            if folder not in kept:
                files.remove_folder(folder)
        for place in (self.folder, self._checkpoints, self._samples):
            files.sweep(place)


def _write_config(folder: Path, config: dict[str, Any]) -> None:
    content = {"format": FORMAT, "unmask": __version__, "config": config}
    files.write_json(folder / "config.json", seals.sealed(content))


def _check_format(folder: Path, number: int) -> None:
    if number > FORMAT:
        message = f"{folder} has format {number}; unmask {__version__} reads up to {FORMAT}"
        raise RunError(message, hint="pip install --upgrade unmask")


def _runs_beside(folder: Path) -> str | None:
    """Suggestions: other runs nearby."""
    names = sorted(str(path.parent) for path in folder.parent.glob("*/config.json"))
    return f"runs there are:  {'  '.join(names[:8])}" if names else None


def _open_board(folder: Path, purge_step: int | None = None) -> "SummaryWriter | None":
    """A writer of TensorBoard's files, where that is installed; points from ``purge_step`` on are hidden."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        LOGGER.warning("only log.jsonl is written; for TensorBoard too:  pip install 'unmask[tensorboard]'")
        return None
    return SummaryWriter(folder / "tensorboard", purge_step=purge_step)
