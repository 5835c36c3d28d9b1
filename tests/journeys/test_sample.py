"""New pictures from the command line: the same for a seed, whatever is in between."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import unmask

TORCHRUN = Path(sys.executable).with_name("torchrun")
COUNT = 60
WORDS = ["--count", COUNT, "--steps", "8", "--temperature", "0.9", "--seed", "5", "--device", "cpu"]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(trained):
    """A folder that was drawn in one go, with a sheet and an animation."""
    said = trained(
        "sample", "prior/best", *WORDS, "--out", "whole", "--grid", "sheet.png", "--gif", "film.gif"
    )
    assert f"{COUNT} images: whole" in said
    return trained.folder / "whole"


def test_pictures_are_named_by_number(whole):
    names = sorted(path.name for path in whole.iterdir())
    assert names == [*(f"{number:06d}.png" for number in range(COUNT)), "samples.json"]
    assert len(set(contents(whole).values())) > COUNT / 2
    with Image.open(whole / "000000.png") as picture:
        assert (picture.size, picture.mode) == ((16, 16), "RGB")


def test_the_sheet_shows_them_row_by_row(whole):
    with Image.open(whole.parent / "sheet.png") as sheet:
        assert sheet.size == (8 * 18 - 2, 8 * 18 - 2)
        with Image.open(whole / "000009.png") as picture:
            assert np.array_equal(np.asarray(sheet.crop((18, 18, 34, 34))), np.asarray(picture))


def test_the_animation_goes_from_grey_to_the_pictures(whole):
    with Image.open(whole.parent / "film.gif") as film:
        assert film.size == (4 * 18 - 2, 4 * 18 - 2)
        assert 4 <= film.n_frames <= 9  # nothing, and what at most eight passes leave
        frames = []
        for number in range(film.n_frames):
            film.seek(number)
            frames.append(np.asarray(film.convert("RGB")).astype(int))
    assert (abs(frames[0][:16, :16] - 128) <= 2).all()
    grey = [(abs(frame - 128) <= 2).all(2).mean() for frame in frames]
    assert grey == sorted(grey, reverse=True)
    with Image.open(whole / "000005.png") as picture:
        last = frames[-1][18:34, 18:34]
        assert abs(last - np.asarray(picture).astype(int)).mean() < 8  # a GIF has 256 colours


@pytest.mark.parametrize("batch", [1, 7, 32])
def test_the_pictures_do_not_depend_on_the_batch(whole, model, batch):
    pictures = unmask.load(model, "cpu").sample(COUNT, steps=8, temperature=0.9, seed=5, batch=batch)
    for number, picture in enumerate(pictures):
        with Image.open(whole / f"{number:06d}.png") as drawn:
            assert np.array_equal(np.asarray(picture), np.asarray(drawn))


def test_a_killed_command_goes_on_and_draws_nothing_twice(shell, model, whole, tmp_path):
    words = ["sample", model, *WORDS, "--batch", "4", "--out", "stopped"]
    killed = shell.start(*words)
    while not (tmp_path / "stopped/000010.png").exists():
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.001)
    killed.kill()
    killed.communicate()
    folder = tmp_path / "stopped"
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.png")}
    assert 10 < len(before) < COUNT
    (folder / "000003.png").unlink()  # and one is lost
    shell(*words)
    assert contents(folder) == contents(whole)
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.png")}
    assert [name for name in before if after[name] != before[name]] == ["000003.png"]


def test_two_processes_write_the_files_of_one(model, whole, tmp_path):
    command = [TORCHRUN, "--standalone", "--nproc-per-node", "2", "-m", "unmask", "sample", model, *WORDS]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "UNMASK_CACHE": str(tmp_path / "cache")}
    both = subprocess.run(
        [*map(str, command), "--out", "shared"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert both.returncode == 0, both.stderr
    assert both.stdout.count("images: shared") == 1
    assert contents(tmp_path / "shared") == contents(whole)


def test_a_folder_grows_with_the_count(shell, model, whole, tmp_path):
    words = ["sample", model, *WORDS, "--out", "growing"]
    shell(*words, "--count", "5")
    assert len(list((tmp_path / "growing").glob("*.png"))) == 5
    shell(*words, "--count", "20")
    grown = contents(tmp_path / "growing")
    assert grown == {name: data for name, data in contents(whole).items() if name in grown}
    assert len(grown) == 21


@pytest.mark.parametrize(
    "words",
    [
        "--schedule optimal --order halton --steps 4 --remask 0.5 --top-k 5",
        "--schedule cosine --order confidence --steps 5 --temperature 1.2 0.5",
        "--order entropy --gamma 3 --top-p 0.9",
    ],
)
def test_the_ways_to_sample_can_be_typed(shell, model, words, tmp_path):
    shell("sample", model, "--count", "3", *words.split(), "--gif", "film.gif")
    assert len(list((tmp_path / "samples").glob("*.png"))) == 3


def test_an_autoregressive_prior_is_sampled_by_the_same_command(shell, autoregressive, tmp_path):
    said = shell("sample", autoregressive, "--count", "3", "--temperature", "0.8", "--gif", "film.gif")
    assert "3 images: samples" in said
    assert len(list((tmp_path / "samples").glob("*.png"))) == 3
    assert "code after code" in shell("sample", autoregressive, "--steps", "8", "--out", "no", code=2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--steps", "0"], "steps 0 should be from 1 to"),
        (["--temperature", "-1"], "temperature -1.0 should be at least 0"),
        (["--count", "0"], "1 of each is the least"),
        (["--top-p", "0"], "top-p 0.0 should be from 0.01 to 1"),
        (["--grid", "sheet.jpg"], "does not end in .png"),
        (["--gif", "nowhere/film.gif"], "there is no folder nowhere"),
        (["--out", "photos"], "photos holds something else than samples"),
        (["--out", "photos/holiday.png"], "photos/holiday.png cannot hold samples: File exists"),
        (["--out", "damaged"], "samples.json is damaged"),
    ],
)
def test_a_mistake_is_one_sentence(shell, model, words, sentence, tmp_path):
    for name in ("photos/holiday.png", "damaged/000000.png", "damaged/samples.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"a picture")
    assert sentence in shell("sample", model, *words, code=2)
    assert (tmp_path / "photos/holiday.png").read_bytes() == b"a picture"


def test_samples_of_different_requests_are_not_mixed(shell, model, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "samples")
    said = shell("sample", model, *WORDS, "--seed", "6", "--temperature", "1", code=2)
    assert "samples holds samples of another request: seed 5, not 6; temperature 0.9, not 1.0" in said
    assert contents(tmp_path / "samples") == contents(whole)


def test_a_model_without_what_is_wanted_says_so(shell, trained, model, tmp_path):
    assert "only a codec" in shell("sample", trained.folder / "codec/best", code=2)
    shutil.copytree(model, tmp_path / "blind")
    manifest = tmp_path / "blind/unmask.json"
    told = json.loads(manifest.read_text())
    del told["about"]["curve"], told["checksum"]
    manifest.write_text(json.dumps(told))
    assert "no curve of costs" in shell("sample", "blind", "--schedule", "optimal", code=2)


def test_previews_are_grey_where_nothing_is_known(model):
    loaded, seen = unmask.load(model, "cpu"), []
    pictures = loaded.sample(2, schedule="cosine", on_step=lambda codes: seen.append(codes.clone()))
    assert len(seen) == 16
    half = seen[8]
    for picture, codes in zip(loaded.preview(half), half, strict=True):
        masked = (codes == loaded.prior.mask_id).view(4, 4).repeat_interleave(4, 0).repeat_interleave(4, 1)
        grey = torch.from_numpy((np.asarray(picture) == 128).all(2))
        assert grey[masked].all()
        assert not grey[~masked].all()
    assert [np.asarray(picture).tolist() for picture in loaded.preview(seen[-1])] == [
        np.asarray(picture).tolist() for picture in pictures
    ]
