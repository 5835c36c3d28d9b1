"""The models that a Studio offers, by names that the server knows: no request says a path."""

import threading
from collections import OrderedDict, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unmask.devices import Precision
from unmask.errors import ConfigError
from unmask.models import builtin_names
from unmask.pipeline import Pipeline, load
from unmask.reading import DamagedError, parsing, read_json
from unmask.storage.bundles import MANIFEST
from unmask.studio.tasks import warm_up
from unmask.training.runs import Run

STAGES = ("", "prior", "codec")  # where the runs of a training are, as models are looked for
MAX_OPEN = 2
"""Models in memory at once, beside those that jobs still use."""


@dataclass(frozen=True, kw_only=True)
class Others:
    """What a Studio offers beside the model that it begins with."""

    names: tuple[str, ...] = ()
    runs: Path | None = None
    """A folder of trainings, looked at again whenever somebody asks."""
    device: str = "auto"
    precision: Precision = "auto"

    def trainings(self, *names: str) -> dict[str, Path]:
        """The runs among ``names`` and those in the folder, by name."""
        named = [Path(name, stage) for name in (*names, *self.names) for stage in STAGES]
        folders = [*named, *_within(self.runs)]
        return {str(folder): folder for folder in folders if Run.is_at(folder)}


class Models:
    """Models by name, opened when they are asked for. Of one that is being trained it is the best so far."""

    def __init__(self, model: Pipeline, name: str, others: Others) -> None:
        self.first, self._others = name, others
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._open = OrderedDict({name: (_stamp(name), model)})

    def names(self) -> list[str]:
        """What there is to choose from, the one that it begins with first."""
        found = (str(folder) for folder in _within(self._others.runs) if _draws(folder / "best"))
        return list(dict.fromkeys([self.first, *self._others.names, *builtin_names(), *found]))

    def get(self, name: str | None) -> tuple[str, Pipeline]:
        """The model of a name, without one the first, and its name."""
        name = name or self.first
        with self._lock:
            if name not in self._open and name not in self.names():  # before any file is looked for
                raise ConfigError("there is no model of that name here", hint="/api/v1/models lists them")
            loading = self._loading[name]
        with loading:  # which may download: other models can be had meanwhile
            stamp = _stamp(name)
            found = self._open.get(name)
            if found is None or found[0] != stamp:
                model = load(name, self._others.device, precision=self._others.precision)
                warm_up(model)
                found = stamp, model
        with self._lock:
            self._open[name] = found
            self._open.move_to_end(name)
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        return name, found[1]


def _within(folder: Path | None) -> list[Path]:
    """The runs in a folder, and those in folders of it, as trainings of two stages are."""
    if folder is None:
        return []
    return sorted(path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/config.json"))


def _draws(folder: Path) -> bool:
    """Whether there is a model with a prior, as far as its manifest says."""
    with suppress(OSError, DamagedError), parsing():
        return "prior" in read_json(folder / MANIFEST)["parts"]
    return False


def _stamp(name: str) -> int | None:
    """What changes when the model of that name is replaced on the disk."""
    for place in (*(Path(name, stage, "best") for stage in STAGES), Path(name)):
        with suppress(OSError):
            return (place / MANIFEST).stat().st_mtime_ns
    return None
