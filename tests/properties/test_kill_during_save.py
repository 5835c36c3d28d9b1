"""A training that saves all the time is killed at 50 random moments, and goes on every time.

Run as a program, this file is the one that kills: it imports torch once, forks a training, lets it live for a
random while, kills it by SIGKILL, looks at what is left on the disk, and starts over from there.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from unmask.storage.bundles import Bundle, Part
from unmask.training.runs import Run

pytestmark = pytest.mark.slow

KILLS = 50
LONGEST_LIFE_ROUNDS = 2.5  # of saving everything once, so that kills fall anywhere in a round


def test_a_kill_at_any_moment_of_a_save_leaves_a_run_that_goes_on(tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(tmp_path / "run")]
    killing = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killing.returncode == 0, killing.stderr
    outcome = json.loads(killing.stdout)
    assert outcome["kills"] == KILLS
    assert outcome["mid_save"] > KILLS // 5  # a kill between two saves shows little
    assert outcome["steps"] > 0  # and the run gets on between the kills


def values(step: int) -> torch.Tensor:
    return torch.full((20_000,), float(step))


def model(step: int) -> Bundle:
    return Bundle(Part({}, {"weight": values(step)}), Part({}, {"weight": values(step)}), {"step": step})


def train(folder: Path, last_step: float = float("inf")) -> None:
    """What a training does to its run, without the training."""
    run = Run.open(folder)
    step, _ = run.restore() or (0, None)
    run.truncate_log(step)
    while step < last_step:
        step += 1
        run.log(step, {"loss": 1 / step})
        run.save_bundle("best", model(step))
        run.save_bundle("last", model(step))
        run.save(step, {"adam": {0: {"step": step, "mean": values(step)}}})


def kill_at_random(folder: Path, seconds: float) -> None:
    child = os.fork()
    if child == 0:
        try:
            train(folder)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "the training ended by itself"


def check(folder: Path) -> int:
    """The step that the run in ``folder`` goes on from; everything it holds must be whole and of one time."""
    run = Run.open(folder)
    restored = run.restore()
    assert restored is not None, "every checkpoint is gone"
    step, state = restored
    newest = max(path.name for path in (folder / "checkpoints").glob("step-*"))
    assert newest == f"step-{step:08d}", "the newest checkpoint was not whole"
    assert list(state) == ["adam"]
    assert state["adam"][0]["step"] == step
    assert torch.equal(state["adam"][0]["mean"], values(step))
    for which in ("best", "last"):
        check_model(run.load_bundle(which), step)
    logged = [entry["step"] for entry in run.read_log()]
    assert logged in (list(range(1, step + 1)), list(range(1, step + 2)))
    return step


def check_model(found: Bundle, step: int) -> None:
    """A model is saved right before the checkpoint of the same step: it may be one step ahead."""
    assert found.about["step"] in (step, step + 1)
    assert found.prior is not None
    for part in (found.codec, found.prior):
        assert torch.equal(part.tensors["weight"], values(found.about["step"]))


def main(folder: Path) -> dict[str, Any]:
    Run.create(folder, {"seed": 0})
    start = time.perf_counter()
    train(folder, last_step=5)
    longest_life = LONGEST_LIFE_ROUNDS * (time.perf_counter() - start) / 5
    steps, mid_save, lives = [check(folder)], 0, random.Random(0)
    for _ in range(KILLS):
        kill_at_random(folder, lives.uniform(0, longest_life))
        mid_save += any(folder.rglob(".*"))
        steps.append(check(folder))
        if steps[-1] == steps[-2]:
            longest_life *= 1.1  # the machine may have become slower since a round was timed
    assert steps == sorted(steps), "a checkpoint was lost"
    return {"kills": KILLS, "mid_save": mid_save, "steps": steps[-1] - steps[0]}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
