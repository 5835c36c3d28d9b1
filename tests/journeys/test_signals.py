"""A training that is asked to stop, or whose listeners leave, as shells and schedulers see it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unmask.training.runs import Run

UNMASK, TORCHRUN = (Path(sys.executable).with_name(name) for name in ("unmask", "torchrun"))
LONG = ["--loop.steps", "100000", "--loop.validate-every", "100000"]


@pytest.fixture
def codec(pictures):
    """The words that train a codec."""
    return ["train", "codec", pictures, "--preset", "tiny", "--config", "codec.yaml", "--out", "codec"]


def wait_for_a_checkpoint(run: Path, process: subprocess.Popen) -> None:
    while not list(run.glob("checkpoints/step-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_training_that_is_stopped_saves_and_says_by_which_signal(shell, codec, tmp_path, number):
    """So that a shell does not go on with ``&& unmask train prior``."""
    training = shell.start(*codec, *LONG, "--loop.save-every", "4")
    wait_for_a_checkpoint(tmp_path / "codec", training)
    training.send_signal(number)
    _, said = training.communicate(timeout=300)
    assert training.returncode == 128 + number, said
    assert said.endswith("stopped and saved. Go on:  unmask train codec --resume codec\n")


@pytest.mark.parametrize("listeners", ["> /dev/full 2>&1", ">&- 2>&-", "2>&1 | true"])
def test_a_training_goes_on_when_nobody_can_hear_it(shell, codec, tmp_path, listeners):
    words = " ".join([str(UNMASK), *codec, "--loop.log-every", "1"])
    script = f"set -o pipefail; {words} {listeners}"
    ended = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=shell.environment, timeout=300)
    assert ended.returncode == 0
    assert Run.open(tmp_path / "codec").last_step() == 4


def test_torchrun_goes_on_with_the_run_that_its_command_began(shell, codec, tmp_path):
    """The worker is killed, as by a machine without memory; torchrun types the same command again."""
    launcher = [TORCHRUN, "--standalone", "--nproc-per-node", "1", "--max-restarts", "1", "-m", "unmask"]
    launched = subprocess.Popen(
        [*launcher, *codec, "--loop.steps", "40", "--loop.save-every", "2"],
        cwd=tmp_path,
        env=shell.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_a_checkpoint(tmp_path / "codec", launched)
    (worker,) = Path(f"/proc/{launched.pid}/task/{launched.pid}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    _, said = launched.communicate(timeout=300)
    assert launched.returncode == 0, said
    assert Run.open(tmp_path / "codec").last_step() == 40


def test_torchrun_does_not_go_on_with_a_run_of_another_launch(shell, codec):
    """Else what was refused at first would be done at the second try."""
    shell(*codec)
    restart = {"TORCHELASTIC_RESTART_COUNT": "1", "TORCHELASTIC_RUN_ID": "another"}
    order = {"words": [*codec, "--loop.steps", "8"], "folder": str(shell.folder)}
    assert shell.commands.run(**order, environment=shell.environment | restart) == 2
    assert "codec already holds a run" in (shell.folder / ".err").read_text()
