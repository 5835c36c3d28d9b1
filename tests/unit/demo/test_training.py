"""The last chapter: both stages of a tiny model, and what a page shows of them."""

from pathlib import Path

import numpy as np
import pytest

from unmask.cli.main import run_command
from unmask.demo import training
from unmask.demo.story import Tour
from unmask.training.runs import Run


@pytest.fixture
def tour(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    np.save("blots.npy", np.random.default_rng(0).integers(0, 256, (40, 16, 16, 3), dtype=np.uint8))
    return Tour("no model", "blots.npy", Path("demo"), run_command)


def test_both_stages_are_trained_charted_and_shown(tour, monkeypatch, capsys):
    codec, prior = training.train_tiny(tour, steps=8)
    assert [picture.path.name for picture in codec.pictures] == [
        "codec.svg",
        *(f"reconstructions-{step:08d}.png" for step in (1, 4, 8)),
    ]
    assert [picture.path.name for picture in prior.pictures][1:] == [
        f"samples-{step:08d}.png" for step in (1, 4, 8)
    ]
    assert all(picture.path.exists() for figure in (codec, prior) for picture in figure.pictures)
    assert "at step 1 to " in prior.pictures[0].alt
    Path("again").mkdir()
    monkeypatch.chdir("again")
    np.save("blots.npy", np.load("../blots.npy"))
    for figure in (codec, prior):
        exec(figure.python, {})  # what the page says is what happened
    for stage in ("codec", "prior"):
        here, there = (
            Run.open(Path(root, "demo/training", stage)).load_bundle("last") for root in (".", "..")
        )
        assert [part.fingerprint for part in here.parts.values()] == [
            part.fingerprint for part in there.parts.values()
        ]


def test_a_training_that_is_stopped_ends_the_tour(tour, monkeypatch):
    monkeypatch.setattr(Run, "last_step", lambda run: 3)
    with pytest.raises(KeyboardInterrupt):
        training.train_tiny(tour, steps=8)
    assert not Path("demo/training/prior").exists()
