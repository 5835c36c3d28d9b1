"""Two processes with a batch of b each take the step that one with a batch of 2b takes, in both stages."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.training.runs import Run

BUNDLE = Path(__file__).parents[1] / "golden/bundles/format-1"
SCRIPT = Path(__file__).with_name("one_step.py")


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    """The run of one step: (number of processes, batch of each) to a stage's gradients and first loss."""
    folder = tmp_path_factory.mktemp("step")
    y, x = np.mgrid[0:16, 0:16] / 15
    waves = [np.stack([np.sin(i + x * 3), np.cos(i * 2 + y * 3), x * y], -1) for i in range(24)]
    np.save(folder / "pictures.npy", (np.stack(waves) * 127 + 128).clip(0, 255).astype(np.uint8))
    for processes, batch in ((1, 8), (2, 4), (1, 4)):
        launch = [Path(sys.executable).with_name("torchrun"), "--standalone", "--nproc-per-node", processes]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "UNMASK_CACHE": str(folder / "cache")}
        out = f"{processes}x{batch}"
        command = [*map(str, launch), SCRIPT, BUNDLE, "pictures.npy", out, str(batch)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def step(processes, batch, stage):
        run = Run.open(folder / f"{processes}x{batch}" / stage)
        _, state = run.restore()
        moments = state["task"]["optimizer"]["state"].values()
        (loss,) = [line.get("rec", line.get("loss")) for line in run.read_log() if line["kind"] == "train"]
        return torch.cat([moment["exp_avg"].flatten() for moment in moments]), loss  # (1 − β1) · gradient

    return step


@pytest.mark.parametrize("stage", ["codec", "absorbing", "autoregressive"])
def test_processes_take_the_step_of_one_with_all_their_batches(step, stage):
    (together, loss), (alone, same), (half, other) = (step(*run, stage) for run in ((2, 4), (1, 8), (1, 4)))
    assert loss == pytest.approx(same, rel=1e-5)
    assert (together - alone).norm() < 1e-4 * alone.norm()
    assert (half - alone).norm() > 0.1 * alone.norm(), "the first process's pictures alone are not enough"
    assert other != pytest.approx(same, rel=1e-4)
