"""The one training loop. It knows steps, files and signals, and has never heard of images or codes."""

import math
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

import torch
from PIL import Image
from torch import Tensor

from unmask.devices import release_memory
from unmask.errors import TrainingError
from unmask.storage import state as tensors
from unmask.storage.bundles import Bundle
from unmask.training.config import LoopConfig
from unmask.training.console import Progress
from unmask.training.engine import Engine
from unmask.training.runs import Run


class Task(Protocol):
    """Something that can be trained. It owns its models, optimisers, data and averages."""

    objective: str
    """The validation figure to make small; the best bundle is chosen by it."""
    num_examples: int
    """Examples a step, over all processes."""

    def begin(self) -> None:
        """Do what comes before the first step of a fresh run."""

    def step(self, step: int) -> dict[str, Tensor]:
        """Take one step and return scalar figures, still on the device."""

    def report(self) -> dict[str, float]:
        """Figures over the steps since the last report."""

    def validate(self) -> dict[str, float]:
        """Figures on the validation split, with the averaged weights; none where nothing is held out."""

    def pictures(self) -> dict[str, Image.Image]:
        """What a person would look at."""

    def state(self) -> dict[str, Any]:
        """Everything that a resumed run needs."""

    def load(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""

    def bundle(self, step: int, validation: Mapping[str, float]) -> Bundle:
        """The model as it stands, averaged weights."""


def train(task: Task, run: Run, config: LoopConfig, engine: Engine) -> bool:
    """Train to the end; return False if a signal asked to stop before it.

    The end is the last step, or where patience with validations that bring nothing new runs out.

    A run that stops at any instant resumes where it last saved, and then takes the very steps, on the very
    data, that an uninterrupted run would have taken.
    """
    window, best = Window(), Best()
    start = _restore(task, run, engine, window, best)
    with stop_signal() as stop, Progress(config.steps, start, task.num_examples, engine.is_first) as progress:
        for step in range(start, config.steps):
            window.add(task.step(step))
            done = step + 1
            progress.advance()
            stopping = engine.any(stop.asked)
            ending = done == config.steps
            if done % config.log_every == 0 or ending:
                figures = finite(window.mean(engine), done, run) | task.report()
                _log(run, engine, done, figures, "train")
                window.clear()
                progress.show(figures)
                release_memory()
            if done % config.validate_every == 0 or ending:
                progress.note(_validate(task, run, engine, done, best))
                ending = ending or best.is_stale(done, config)
            if done % config.save_every == 0 or ending or stopping:
                _save(task, run, engine, done, config.keep, window, best)
            if ending:
                return True
            if stopping:
                return False
    return True


class Window:
    """Means of the figures since the last log line, kept on the device until they are read."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start a new window."""
        self.counts: dict[str, int] = {}  # not every step has every figure
        self.sums: dict[str, Tensor] = {}

    def add(self, figures: Mapping[str, Tensor]) -> None:
        """Take in the figures of one step."""
        for name, value in figures.items():
            value = value.detach().float()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
            self.counts[name] = self.counts.get(name, 0) + 1

    def mean(self, engine: Engine) -> dict[str, float]:
        """Mean of each figure over steps and processes; this waits for the device."""
        return {name: total.item() / self.counts[name] for name, total in self._shared(engine).items()}

    def state(self, engine: Engine) -> dict[str, Any]:
        """What any process can go on with: sums that are means over the processes."""
        return {"counts": self.counts, "sums": self._shared(engine)}

    def load(self, state: Mapping[str, Any], device: torch.device) -> None:
        """Go on from ``state``."""
        self.counts = dict(state["counts"])
        self.sums = {name: total.to(device) for name, total in state["sums"].items()}

    def _shared(self, engine: Engine) -> dict[str, Tensor]:
        if not self.sums:
            return {}
        totals = engine.sum(torch.stack(list(self.sums.values()))) / engine.world
        return {name: total.clone() for name, total in zip(self.sums, totals, strict=True)}


class Best:
    """The smallest validation figure so far."""

    def __init__(self) -> None:
        self.value = math.inf
        self.step = 0

    def improves(self, value: float | None, step: int) -> bool:
        """Whether ``value`` is the smallest yet; if so it is remembered.

        Without held-out pictures there is no value to choose by, and the latest is the best.
        """
        if value is not None:
            if not value < self.value:
                return False
            self.value = value
        self.step = step
        return True

    def is_stale(self, step: int, config: LoopConfig) -> bool:
        """Whether patience with validations that bring no new best has run out."""
        return 0 < config.patience <= (step - self.step) // config.validate_every


def finite(figures: dict[str, float], step: int, run: Run) -> dict[str, float]:
    """The figures, unless one of them is no longer a number."""
    bad = [name for name, value in figures.items() if not math.isfinite(value)]
    if bad:
        raise _diverged(", ".join(bad), step, run)
    return figures


def _diverged(what: str, step: int, run: Run) -> TrainingError:
    saved = run.last_step()
    kept = f"the last good checkpoint is step {saved}" if saved else "nothing was saved before it"
    return TrainingError(
        f"{what} became infinite or not a number by step {step}; {kept}",
        hint=f"resume from it with a smaller step:  --resume {run.folder} --optim.lr … --optim.clip 1",
    )


def _restore(task: Task, run: Run, engine: Engine, window: Window, best: Best) -> int:
    restored = run.restore()
    if engine.is_first:
        run.truncate_log(restored[0] if restored else 0)
    engine.barrier()
    if restored is None:
        task.begin()
        return 0
    step, state = restored
    task.load(state["task"])
    window.load(state["window"], engine.device)
    best.value, best.step = state["best"]["value"], state["best"]["step"]
    return step


def _save(task: Task, run: Run, engine: Engine, step: int, keep: int, window: Window, best: Best) -> None:
    finite(window.mean(engine), step, run)
    state = {
        "task": task.state(),
        "window": window.state(engine),
        "best": {"value": best.value, "step": best.step},
    }
    if not tensors.are_finite(state):  # the figures are of before the last step, which may have spoilt them
        raise _diverged("weights", step, run)
    if engine.is_first:
        run.save_bundle("last", task.bundle(step, {}))
        run.save(step, state, keep=keep)  # last: what is saved by now need not be done again
    engine.barrier()


def _validate(task: Task, run: Run, engine: Engine, step: int, best: Best) -> str:
    """Measure on held-out data, keep pictures and a new best; return a line that says how it went."""
    figures = task.validate()
    _log(run, engine, step, figures, "validation")
    improved = best.improves(figures.get(task.objective), step)
    if engine.is_first:
        for name, picture in task.pictures().items():
            run.picture(name, step, picture)
        if improved:
            known = {name: value for name, value in figures.items() if math.isfinite(value)}
            run.save_bundle("best", task.bundle(step, known))
    engine.barrier()
    shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items()) or "nothing is held out"
    return f"validation at step {step}: {shown}{'  (best so far)' if improved else ''}"


def _log(run: Run, engine: Engine, step: int, figures: dict[str, float], kind: str) -> None:
    if engine.is_first:
        run.log(step, figures, kind=kind)


class Stop:
    """Whether someone asked for an early, orderly end."""

    asked = False

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Finish the step that is under way, save, and leave. Asked twice: leave at once."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def stop_signal() -> Iterator[Stop]:
    """Turn SIGINT and SIGTERM into a wish that the loop grants between two steps."""
    stop = Stop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
