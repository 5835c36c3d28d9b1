"""The training loop: steps, files and signals, independent of images and codes."""

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
    """The validation metric to minimise; it chooses the best bundle."""
    num_examples: int
    """Examples a step, over all processes."""

    def begin(self) -> None:
        """Do what comes before the first step of a fresh run."""

    def step(self, step: int) -> dict[str, Tensor]:
        """Take one step and return scalar metrics, still on the device."""

    def metrics(self) -> dict[str, float]:
        """Metrics gathered over the steps since the last call."""

    def validate(self) -> dict[str, float]:
        """Metrics of the averaged weights on the validation split; none where that is empty."""

    def pictures(self) -> dict[str, Image.Image]:
        """Images to log, by name."""

    def state(self) -> dict[str, Any]:
        """The state to resume from."""

    def load(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""

    def bundle(self, step: int, validation: Mapping[str, float]) -> Bundle:
        """The model as it stands, averaged weights."""


def train(task: Task, run: Run, config: LoopConfig, engine: Engine) -> int:
    """Train to the end and return 0, or save and return the signal that asked to stop before it.

    The end is the last step, or early stopping after ``patience`` validations without a new best.

    A run that stops at any instant resumes where it last saved, and then takes the very steps, on the very
    data, that an uninterrupted run would have taken.
    """
    window, best = Window(), Best(task.objective)
    start = _restore(task, run, engine, window, best)
    if best.is_stale(start, config):  # it had ended, unless patience was raised
        return 0
    with stop_signal() as stop, Progress(config.steps, start, task.num_examples, engine.is_first) as progress:
        for step in range(start, config.steps):
            window.add(task.step(step))
            done = step + 1
            progress.advance()
            ending = done == config.steps
            if done % config.log_every == 0 or ending:
                metrics = finite(window.mean(engine), done, run) | task.metrics()
                _log(run, engine, done, metrics, "train")
                window.clear()
                progress.show(metrics)
                release_memory()
            if done % config.validate_every == 0 or ending:
                progress.note(_validate(task, run, engine, done, best))
                ending = ending or best.is_stale(done, config)
            stopping = engine.largest(stop.signal)
            if done % config.save_every == 0 or ending or stopping:
                _save(task, run, engine, done, config.keep, window, best)
            if ending or stopping:
                return 0 if ending else stopping
    return 0


class Window:
    """Means of the metrics since the last log line, kept on the device until they are read."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Start a new window."""
        self.counts: dict[str, int] = {}  # not every step has every metric
        self.sums: dict[str, Tensor] = {}

    def add(self, metrics: Mapping[str, Tensor]) -> None:
        """Take in the metrics of one step."""
        for name, value in metrics.items():
            value = value.detach().float()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
            self.counts[name] = self.counts.get(name, 0) + 1

    def mean(self, engine: Engine) -> dict[str, float]:
        """Mean of each metric over steps and processes; this waits for the device."""
        return {name: total.item() / self.counts[name] for name, total in self._shared(engine).items()}

    def state(self, engine: Engine) -> dict[str, Any]:
        """State that any process can resume from: sums averaged over the processes."""
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
    """The smallest value of the objective so far, and the step of the best model."""

    def __init__(self, objective: str) -> None:
        self.objective = objective
        self.value = math.inf
        self.step = 0  # no model yet

    def improves(self, value: float | None, step: int) -> bool:
        """Whether ``value`` is the smallest yet; if so it is remembered.

        Where the validation split is empty there is no value to choose by, and the latest is the best.
        """
        if value is not None:
            if not value < self.value:
                return False
            self.value = value
        self.step = step
        return True

    def is_stale(self, step: int, config: LoopConfig) -> bool:
        """Whether ``patience`` validations in a row brought no new best."""
        return 0 < config.patience <= (step - self.step) // config.validate_every

    def state(self) -> dict[str, Any]:
        """The state to resume from."""
        return {"objective": self.objective, "value": self.value, "step": self.step}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from ``state``; a value of another objective says nothing about this one."""
        before_fid = {"fid": "rec"}.get(self.objective, self.objective)  # by which codecs were chosen once
        self.step = state["step"]
        if state.get("objective", before_fid) == self.objective:
            self.value = state["value"]


def finite(metrics: dict[str, float], step: int, run: Run) -> dict[str, float]:
    """The metrics; an error if one of them is not finite."""
    bad = [name for name, value in metrics.items() if not math.isfinite(value)]
    if bad:
        raise _diverged(", ".join(bad), step, run)
    return metrics


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
    best.load(state["best"])
    return step


def _save(task: Task, run: Run, engine: Engine, step: int, keep: int, window: Window, best: Best) -> None:
    finite(window.mean(engine), step, run)
    state = {"task": task.state(), "window": window.state(engine), "best": best.state()}
    if not tensors.are_finite(state):  # metrics are of the weights before the last step
        raise _diverged("weights", step, run)
    if engine.is_first:
        model = task.bundle(step, {})
        run.save_bundle("last", model)
        if not best.step:  # until the first validation there is nothing to choose by
            run.save_bundle("best", model)
        run.save(step, state, keep=keep)  # last: all before it is saved
    engine.barrier()


def _validate(task: Task, run: Run, engine: Engine, step: int, best: Best) -> str:
    """Measure on the validation split, keep pictures and a new best; return a line that says how it went."""
    metrics = task.validate()
    _log(run, engine, step, metrics, "validation")
    improved = best.improves(metrics.get(task.objective), step)
    if engine.is_first:
        for name, picture in task.pictures().items():
            run.picture(name, step, picture)
        if improved:
            known = {name: value for name, value in metrics.items() if math.isfinite(value)}
            run.save_bundle("best", task.bundle(step, known))
    engine.barrier()
    shown = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items()) or "the split is empty"
    return f"validation at step {step}: {shown}{'  (best so far)' if improved else ''}"


def _log(run: Run, engine: Engine, step: int, metrics: dict[str, float], kind: str) -> None:
    if engine.is_first:
        run.log(step, metrics, kind=kind)


class Stop:
    """The signal that requested an early, orderly end; 0 until one does."""

    signal = 0

    def ask(self, number: int, frame: FrameType | None) -> None:
        """Finish the step that is under way, save, and leave. A second Ctrl-C: leave at once."""
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = self.signal or number


@contextmanager
def stop_signal() -> Iterator[Stop]:
    """Turn signals into a request to stop, which is honoured between two steps."""
    stop, asking = Stop(), [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
        asking.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop.ask) for number in asking}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
