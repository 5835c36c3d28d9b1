"""Stage 2 from the command line: encode, train, be killed, go on, score."""

import csv
import re
import shutil
import time

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

from unmask.training.runs import Run


@pytest.fixture
def codec(trained, tmp_path):
    shutil.copytree(trained.folder / "codec/best", tmp_path / "codec/best")
    return "codec/best"


PRIOR = ["--preset", "tiny", "--config", "prior.yaml"]


def test_a_prior_is_trained_killed_resumed_and_scored(shell, codec, pictures, tmp_path):
    said = shell("encode", codec, pictures, "--out", "discs.codes", "--images.validation", "0.2")
    assert "4×4 codes each, of 16" in said

    shell("train", "prior", codec, "discs.codes", *PRIOR, "--out", "whole")
    killed = shell.start("train", "prior", codec, "discs.codes", *PRIOR, "--out", "stopped")
    while not (tmp_path / "stopped/checkpoints/step-00000008").exists():
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.002)
    killed.kill()
    killed.communicate()
    shell("train", "prior", "--resume", "stopped")
    whole, stopped = Run.open(tmp_path / "whole"), Run.open(tmp_path / "stopped")
    prints = [run.load_bundle("last").prior.fingerprint for run in (whole, stopped)]
    assert prints[0] == prints[1]
    assert (tmp_path / "whole/samples/samples-00000024.png").exists()
    curve = whole.load_bundle("best").about["curve"]
    assert len(curve["ratio"]) == len(curve["nats"]) > 4

    said = shell("score", "whole/best", pictures, "--draws", "4", "--split", "all", "--csv", "bits.csv")
    assert "at most" in said
    rows = list(csv.reader((tmp_path / "bits.csv").read_text().splitlines()))
    assert rows[0] == ["picture", "bits_per_code"]
    assert len(rows) == 41


def test_an_autoregressive_prior_takes_the_same_commands_straight_from_pictures(shell, codec, pictures):
    autoregressive = ["--kind", "autoregressive", "--loop.steps", "4", "--out", "autoregressive"]
    shell("train", "prior", codec, pictures, *PRIOR, *autoregressive)
    assert "exactly" in shell("score", "autoregressive/best", pictures)
    Image.fromarray(np.load(pictures)[0]).save(shell.folder / "one.png")
    said = shell("score", "autoregressive", "one.png")
    assert re.search(r"exactly \d\.\d+ bits per code, 1 image; a blind guess takes 4\.0\n", said)


def test_mistakes_are_one_sentence_each(shell, codec, pictures, tmp_path):
    shell("encode", codec, pictures, "--out", "discs.codes")
    said = shell("score", codec, pictures, code=2)
    assert "only a codec" in said

    other = ["--preset", "tiny", "--config", "codec.yaml", "--loop.seed", "1", "--out", "runs/other"]
    shell("train", "codec", pictures, *other)
    said = shell("train", "prior", "runs/other/best", "discs.codes", *PRIOR, "--out", "a", code=2)
    assert "the same numbers would mean different patches" in said

    said = shell("train", "prior", "nothing", "discs.codes", *PRIOR, "--out", "b", code=2)
    assert "there is nothing at nothing" in said

    weights = tmp_path / codec / "codec.safetensors"
    tensors = load_file(weights)
    tensors["decoder.0.weight"] = tensors["decoder.0.weight"] * float("nan")
    save_file(tensors, weights)
    said = shell("reconstruct", codec, pictures, code=2)
    assert "fingerprint" in said
