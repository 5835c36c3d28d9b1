"""The loop, with a task that has never heard of images."""

import math
import os
import signal
from types import SimpleNamespace

import pytest
import torch

from unmask.errors import TrainingError
from unmask.storage.bundles import Bundle, Part
from unmask.training.config import EngineConfig, LoopConfig
from unmask.training.engine import Engine
from unmask.training.loop import Best, Window, finite, train
from unmask.training.runs import Run


class Counting:
    """A task that counts, and validates as it is told."""

    objective = "error"
    num_examples = 1

    def __init__(self, errors=(), losses=None):
        self.value = torch.zeros(())
        self.errors = iter(errors)
        self.losses = losses or {}
        self.steps = []
        self.after = {}

    def begin(self):
        self.value += 100

    def step(self, step):
        self.steps.append(step)
        self.value += 1
        self.after.get(step, lambda: None)()
        return {"loss": torch.tensor(self.losses.get(step, float(step)))}

    def metrics(self):
        return {}

    def validate(self):
        error = next(self.errors, None)
        return {} if error is None else {"error": error}

    def pictures(self):
        return {}

    def state(self):
        return {"value": self.value.clone()}

    def load(self, state):
        self.value = state["value"]

    def bundle(self, step, validation):
        return Bundle(Part({}, {"value": self.value.clone()}), about={"step": step})


@pytest.fixture(scope="module")
def engine():
    return Engine(EngineConfig(device="cpu", threads=1, precision="32"))


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "run", {})


def config(**changes):
    return LoopConfig(**{"steps": 12, "log_every": 3, "validate_every": 4, "save_every": 2} | changes)


def lines(run, kind):
    return [
        (line["step"], line.get("loss", line.get("error"))) for line in run.read_log() if line["kind"] == kind
    ]


def test_log_lines_are_means_over_their_window(run, engine):
    train(Counting(), run, config(steps=7), engine)
    assert lines(run, "train") == [(3, 1.0), (6, 4.0), (7, 6.0)]


def test_the_best_model_is_the_one_of_the_smallest_error(run, engine):
    train(Counting(errors=[3, 1, 2]), run, config(), engine)
    assert run.load_bundle("best").about["step"] == 8
    assert run.load_bundle("last").about["step"] == 12


def test_without_a_validation_split_the_latest_is_the_best(run, engine):
    train(Counting(), run, config(), engine)
    assert run.load_bundle("best").about["step"] == 12


def test_patience_ends_a_training_that_no_longer_improves(run, engine):
    task = Counting(errors=[3, 1, 2, 2, 0])
    assert train(task, run, config(steps=100, patience=2), engine) == 0
    assert task.steps[-1] == 15
    assert run.last_step() == 16


def test_a_run_that_patience_ended_stays_ended_unless_it_is_given_more(run, engine):
    train(Counting(errors=[3, 1, 2, 2]), run, config(steps=100, patience=2), engine)
    again = Counting(errors=[0])
    assert train(again, run, config(steps=100, patience=2), engine) == 0
    assert again.steps == []
    assert train(again, run, config(steps=20, patience=3), engine) == 0
    assert len(again.steps) == 4


def test_patience_does_not_run_out_without_a_validation_split(run, engine):
    task = Counting()
    assert train(task, run, LoopConfig(steps=12, validate_every=1, patience=2), engine) == 0
    assert len(task.steps) == 12


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_saves_after_the_step_and_the_run_goes_on_from_there(run, engine, number):
    task = Counting()
    task.after[6] = lambda: os.kill(os.getpid(), number)
    assert train(task, run, config(), engine) == number
    assert run.last_step() == 7
    resumed = Counting()
    assert train(resumed, run, config(), engine) == 0
    assert resumed.steps == [7, 8, 9, 10, 11]
    assert resumed.value == 112, "begun once, twelve steps"
    assert lines(run, "train") == [(3, 1.0), (6, 4.0), (9, 7.0), (12, 10.0)], "a window outlives the stop"


def test_a_signal_during_validation_saves_what_was_validated(run, engine):
    task = Counting()
    task.validate = lambda: os.kill(os.getpid(), signal.SIGTERM) or {"error": 2.0}
    assert train(task, run, config(), engine) == signal.SIGTERM
    assert task.steps == [0, 1, 2, 3]
    assert run.last_step() == 4, "before another step"
    assert [entry["error"] for entry in run.read_log() if entry["kind"] == "validation"] == [2.0]
    resumed = Counting()
    assert train(resumed, run, config(), engine) == 0
    assert resumed.value == 112, "no step is lost or done twice"


def test_nohup_keeps_a_training_from_a_terminal_that_closes(run, engine):
    task = Counting()
    task.after[6] = lambda: os.kill(os.getpid(), signal.SIGHUP)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert train(task, run, config(), engine) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_scheduler_that_asks_twice_waits_and_a_person_does_not(run, engine):
    """SLURM warns by SIGUSR1 before it sends SIGTERM; a second Ctrl-C is impatience."""
    task = Counting()
    task.after[6] = lambda: [os.kill(os.getpid(), number) for number in (signal.SIGUSR1, signal.SIGTERM)]
    assert train(task, run, config(), engine) == signal.SIGUSR1
    assert run.last_step() == 7
    task.after = {7: lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range(2)]}
    with pytest.raises(KeyboardInterrupt):
        train(task, run, config(), engine)
    assert run.last_step() == 7


def test_the_best_so_far_survives_a_restart(run, engine):
    train(Counting(errors=[1]), run, config(steps=4), engine)
    train(Counting(errors=[2, 3]), run, config(), engine)
    assert run.load_bundle("best").about["step"] == 4


def test_a_run_chosen_by_another_objective_so_far_chooses_anew(run, engine):
    """As when --validation-fid is added: an FID of 9 is not worse than an error of 1."""
    train(Counting(errors=[1]), run, config(steps=4), engine)
    resumed = Counting(errors=[9, 8])
    resumed.objective = "fid"
    resumed.validate = lambda: {"fid": next(resumed.errors)}
    train(resumed, run, config(), engine)
    assert run.load_bundle("best").about["step"] == 12


@pytest.mark.parametrize(("objective", "value"), [("rec", 0.1), ("bits", 0.1), ("fid", math.inf)])
def test_a_best_of_the_last_version_was_no_fid(objective, value):
    best = Best(objective)
    best.load({"value": 0.1, "step": 7})
    assert (best.value, best.step) == (value, 7)


def test_there_is_a_best_model_from_the_first_checkpoint_on(run, engine):
    task = Counting(errors=[1])
    task.after[2] = lambda: os.kill(os.getpid(), signal.SIGTERM)
    assert train(task, run, config(validate_every=10), engine) == signal.SIGTERM
    assert run.load_bundle("best").about["step"] == 3


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_it_and_is_never_saved(run, engine, bad):
    with pytest.raises(TrainingError, match="the last good checkpoint is step 6") as error:
        train(Counting(losses={7: bad}), run, config(), engine)
    assert "--resume" in str(error.value)
    assert run.last_step() == 6


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_never_saved_though_the_loss_still_is_one(run, engine, bad):
    task = Counting()
    task.after = {7: lambda: task.value.fill_(bad)}
    with pytest.raises(TrainingError, match=r"step 8.* checkpoint .*step 6"):
        train(task, run, config(), engine)
    assert run.last_step() == 6
    assert run.load_bundle("last").codec.tensors["value"].isfinite()


def test_a_metric_that_begins_within_a_window_is_averaged_over_the_steps_that_have_it(engine):
    window = Window()
    window.add({"loss": torch.tensor(1.0)})
    window.add({"loss": torch.tensor(2.0), "lambda": torch.tensor(8.0)})
    assert window.mean(engine) == {"loss": 1.5, "lambda": 8.0}


def test_what_is_left_of_a_window_goes_on_where_the_metrics_are():
    """A metric may not come again, as that of a loss that was switched off."""
    window = Window()
    window.load({"counts": {"lambda": 1}, "sums": {"lambda": torch.tensor(8.0)}}, torch.device("meta"))
    assert window.sums["lambda"].device.type == "meta"


def test_processes_go_on_with_a_window_that_has_the_mean_of_all():
    def together(others):
        return SimpleNamespace(world=2, sum=lambda mine: mine + others)

    window, again = Window(), Window()
    window.add({"loss": torch.tensor(1.0)})
    again.load(window.state(together(torch.tensor([3.0]))), torch.device("cpu"))
    again.add({"loss": torch.tensor(5.0)})
    assert again.mean(together(torch.tensor([2.0 + 7.0]))) == {"loss": (1 + 3 + 5 + 7) / 4}


def test_a_process_notices_what_is_no_longer_a_number_in_another(run):
    together = SimpleNamespace(world=2, sum=lambda mine: mine + math.nan)
    window = Window()
    window.add({"loss": torch.tensor(1.0)})
    with pytest.raises(TrainingError, match=r"loss .* step 1"):
        finite(window.mean(together), 1, run)
