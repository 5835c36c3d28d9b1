"""Stage 1 from the command line: train, be killed, go on, look at the result."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch

from unmask.training.runs import Run

SMALL = """
images: {size: 16, validation: 0.2}
codec:
  width: 8
  multipliers: [1, 2]
  attention: [2]
  code_width: 4
  groups: 4
  quantizer: {codebook_size: 16, kmeans_batches: 2, recycle_after: 3}
loss: {adversarial: hinge, adversarial_start: 4, discriminator_width: 8, discriminator_layers: 1}
optim: {batch: 4, lr: 1e-3}
loop: {steps: 24, log_every: 3, validate_every: 8, save_every: 4}
engine: {threads: 1}
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return ["--preset", "tiny", "--config", path]


def wait_for(path: Path, process: subprocess.Popen) -> None:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


def figures(run: Run) -> list[dict]:
    return [{key: value for key, value in line.items() if key != "time"} for line in run.read_log()]


def same(a, b) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return all(map(same, a, b)) if isinstance(a, list | tuple) else a == b


def test_a_killed_run_ends_as_if_nothing_had_happened(shell, small, pictures, tmp_path):
    """SIGKILL, then SIGTERM, then to the end: weights, optimisers, average, quantiser and log are equal."""
    shell("train", "codec", pictures, *small, "--out", "whole")

    killed = shell.start("train", "codec", pictures, *small, "--out", "stopped")
    wait_for(tmp_path / "stopped/checkpoints/step-00000008", killed)
    killed.kill()
    killed.communicate()
    asked = shell.start("train", "codec", "--resume", "stopped")
    wait_for(tmp_path / "stopped/checkpoints/step-00000012", asked)
    asked.send_signal(signal.SIGTERM)
    out, err = asked.communicate(timeout=300)
    if Run.open(tmp_path / "stopped").last_step() < 24:
        assert asked.returncode == 128 + signal.SIGTERM, err
        assert "unmask train codec --resume stopped" in out + err
        shell("train", "codec", "--resume", "stopped")

    whole, stopped = Run.open(tmp_path / "whole"), Run.open(tmp_path / "stopped")
    assert whole.restore()[0] == stopped.restore()[0] == 24
    assert same(whole.restore()[1], stopped.restore()[1])
    assert figures(whole) == figures(stopped)
    for which in ("best", "last"):
        assert whole.load_bundle(which).codec.fingerprint == stopped.load_bundle(which).codec.fingerprint


def test_a_codec_trains_reconstructs_and_improves(shell, pictures, tmp_path):
    """The preset ``tiny`` halves its validation error and more, and what it made can be used."""
    shell("train", "codec", pictures, "--preset", "tiny", "--images.size", "16", "--engine.threads", "1")
    run = Run.open(tmp_path / "runs/codec")
    errors = [line["l1"] for line in run.read_log() if line["kind"] == "validation"]
    start = next(line["l1"] for line in run.read_log() if line["kind"] == "train")
    assert min(errors) < start / 2
    assert {line["kind"] for line in run.read_log()} == {"train", "validation"}
    assert run.config["settings"]["codec"]["quantizer"]["codebook_size"] == 64

    said = shell("reconstruct", "runs/codec/best", pictures, "--count", "4", "--out", "seen.png")
    assert (tmp_path / "seen.png").exists()
    for name in ("l1", "psnr", "ssim", "codes_used"):
        assert name in said


def test_settings_come_from_preset_file_and_command_line_in_this_order(shell, small):
    out = shell("train", "codec", "x", *small, "--optim.lr", "0.5", "--print-config")
    assert "lr: 0.5" in out  # the command line
    assert "codebook_size: 16" in out  # the file
    assert "perceptual: 'off'" in out  # the preset


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere/"], "nowhere"),
        (["--preset", "enormous", "emoji"], "there is no preset 'enormous'"),
        (["--config", "typo.yaml", "emoji"], "did you mean optim.lr?"),
        (["--resume", "nothing"], "there is no run in nothing"),
        (["emoji", "--preset", "tiny", "--images.size", "30"], "do not divide"),
        (["one.npy", "--preset", "tiny"], "a single image"),
        (["empty", "--preset", "tiny"], "no images"),
        (["few.npy", "--preset", "tiny", "--codec.quantizer.codebook-size", "9999"], "k-means wants"),
        (["few.npy", "--preset", "tiny", "--codec.groups", "7"], "not divisible"),
        (["grey.npy", "--preset", "tiny"], "grey.npy"),
    ],
)
def test_a_mistake_is_one_sentence(shell, tmp_path, arguments, sentence):
    import numpy as np

    (tmp_path / "typo.yaml").write_text("optim: {lrr: 1}")
    (tmp_path / "empty").mkdir()
    draws = np.random.default_rng(0)
    for name, shape in {"one": (1, 32, 32, 3), "few": (9, 32, 32, 3), "grey": (9, 32, 32)}.items():
        np.save(tmp_path / f"{name}.npy", draws.integers(0, 255, shape, dtype=np.uint8))
    said = shell("train", "codec", *arguments, code=2)
    assert sentence in said
    assert not (tmp_path / "runs").exists()  # so that the corrected command can be typed


def test_a_run_is_never_overwritten_and_keeps_its_model(shell, small, pictures, tmp_path):
    shell("train", "codec", pictures, *small, "--loop.steps", "4")
    assert "already holds a run" in shell("train", "codec", pictures, *small, code=2)
    changed = ["--resume", "runs/codec", "--codec.width", "16"]
    assert "a run keeps those" in shell("train", "codec", *changed, code=2)
    shell("train", "codec", "--resume", "runs/codec", "--loop.steps", "6")
    config = json.loads((tmp_path / "runs/codec/config.json").read_text())
    assert config["config"]["settings"]["loop"]["steps"] == 6
    assert Run.open(tmp_path / "runs/codec").last_step() == 6


def test_a_loss_that_is_no_number_stops_the_run_and_names_what_is_left(shell, small, pictures):
    said = shell("train", "codec", pictures, *small, "--optim.lr", "1e30", code=2)
    assert "not a number by step" in said
