"""What chapters do beside typing commands: they break images on purpose, and train a tiny model."""

import signal

import numpy as np
import pytest

from unmask.cli.main import run_command
from unmask.demo import chapters
from unmask.demo.chapters import CHAPTERS, broken
from unmask.demo.story import Demo
from unmask.rng import generator
from unmask.training.runs import Run


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)


def test_chapters_have_words_and_folders_of_their_own():
    assert len({chapter.folder for chapter in CHAPTERS}) == len(CHAPTERS)
    assert all(chapter.text for chapter in CHAPTERS)


def test_images_are_broken_in_the_way_that_is_said(pixels):
    first, again = (broken(pixels, generator(0, "demo")) for _ in range(2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert np.array_equal(first["validation"], pixels)
    assert np.array_equal(first["mirrored"], pixels[:, ::-1])
    assert np.array_equal(first["upside-down"], pixels[::-1])
    assert not np.array_equal(first["shuffled"], pixels)
    assert squares(first["shuffled"]) == squares(pixels)
    assert np.array_equal(first["noise"], broken(np.zeros_like(pixels), generator(0, "demo"))["noise"])


def squares(pixels):
    return {pixels[y : y + 4, x : x + 4].tobytes() for y in range(0, 16, 4) for x in range(0, 16, 4)}


@pytest.fixture
def demo(tmp_path, monkeypatch, pixels):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(chapters, "TRAINING_STEPS", 8)
    np.save(tmp_path / "blots.npy", np.stack([np.roll(pixels, i, axis=0) for i in range(40)]))
    (tmp_path / "demo").mkdir()
    return Demo("no model", str(tmp_path / "blots.npy"), tmp_path / "demo", run_command)


@pytest.mark.slow
def test_both_stages_are_trained_and_shown_side_by_side(demo):
    demo.tell(CHAPTERS[-1])
    figures = demo.told[0].figures
    assert [figure.path.name for figure in figures] == [
        f"{name}-{step:08d}.png" for step in (1, 4, 8) for name in ("reconstructions", "samples")
    ]
    log = Run.open(demo.folder / "prior").read_log()
    last = next(line["bits"] for line in log if line["kind"] == "validation" and line["step"] == 8)
    assert figures[-1].caption == f"step 8 · bits per code {last:.3g}"


@pytest.mark.slow
def test_a_training_that_is_stopped_ends_the_demo(demo, monkeypatch):
    monkeypatch.setattr("unmask.training.train.train", lambda *_: signal.SIGINT)
    with pytest.raises(SystemExit) as left:
        demo.tell(CHAPTERS[-1])
    assert left.value.code == 130
    assert not (demo.folder / "prior").exists()
