"""Two processes under torchrun train one model: what each sees differs, what they learn is common."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import unmask
from unmask import presets
from unmask.training.runs import Run

TORCHRUN = Path(sys.executable).with_name("torchrun")


@pytest.fixture
def torchrun(tmp_path):
    def run(*arguments, processes=2):
        launcher = [TORCHRUN, "--standalone", "--nproc-per-node", str(processes)]
        command = [*launcher, "-m", "unmask", *map(str, arguments)]
        environment = os.environ | {"UNMASK_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    return run


def test_both_stages_train_and_resume_on_two_processes(torchrun, pictures, tmp_path):
    steps = [
        "--loop.steps",
        "6",
        "--loop.log-every",
        "3",
        "--loop.validate-every",
        "6",
        "--loop.save-every",
        "3",
    ]
    small = ["--preset", "tiny", "--images.size", "16", "--images.validation", "0.4"]
    small += ["--optim.batch", "4", "--engine.device", "cpu"]
    codec = [
        "--loss.adversarial",
        "hinge",
        "--loss.adversarial-start",
        "0",
        "--codec.quantizer.recycle-after",
        "2",
    ]
    torchrun("train", "codec", pictures, *small, *codec, *steps)
    torchrun("train", "codec", "--resume", "runs/codec", "--loop.steps", "8")
    run = Run.open(tmp_path / "runs/codec")
    assert run.last_step() == 8
    assert [line["step"] for line in run.read_log()] == [3, 6, 6, 8, 8], "one process writes the log"
    assert all(np.isfinite(line["l1"]) for line in run.read_log())
    said = torchrun("train", "codec", "--resume", "runs/codec", "--loop.steps", "9", processes=1)
    assert "trained by 2 processes so far, now by 1: a step has 1/2 of the images" in said

    torchrun("train", "prior", "runs/codec/best", pictures, *small, *steps)
    run = Run.open(tmp_path / "runs/prior")
    assert run.load_bundle("best").prior is not None
    assert run.read_log()[-1]["bits"] == pytest.approx(bits_per_code(run.folder / "best", pictures), rel=1e-5)


def bits_per_code(model, pictures):
    """What one process measures on the held-out pictures, with the masks of the validation."""
    pipeline = unmask.load(model)
    held_out = pipeline.open(pictures, "validation")
    assert len(held_out) > 4, "several batches to share"
    images = [Image.fromarray(pixels) for pixels in held_out.read(range(len(held_out)))]
    diffusion = presets.PRIOR["tiny"].diffusion
    return pipeline.score(images, draws=diffusion.validation_draws, steps=diffusion.steps).mean
