"""A folder of samples holds one request, and only what is missing is drawn."""

import json
import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
import torch

from tests.untrained import untrained
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError, DataError
from unmask.pipeline import Pipeline, load
from unmask.samples import SampleFolder
from unmask.storage import bundles

SETTINGS = Settings(steps=2, temperature=(1.0, 0.5))


@pytest.fixture(scope="module")
def model():
    return Pipeline(untrained(), torch.device("cpu"))


@pytest.fixture
def folder(model, tmp_path):
    """Five pictures, drawn in parts of two."""
    folder = SampleFolder(tmp_path / "some/samples", model, 3, SETTINGS)
    folder.fill(5, batch=2)
    return folder


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.path.glob("*.png")}


def test_the_pictures_are_those_that_the_model_draws(folder, model):
    drawn = model.sample(5, seed=3, steps=2, temperature=(1.0, 0.5))
    for number, picture in enumerate(drawn):
        assert np.array_equal(np.asarray(folder.picture(number)), np.asarray(picture))


def test_the_stamp_is_the_request(folder, model):
    stamp = json.loads((folder.path / "samples.json").read_text())
    assert (stamp["model"], stamp["seed"], stamp["steps"]) == (model.fingerprint, 3, 2)
    assert stamp["temperature"] == [1.0, 0.5]


def test_only_what_is_missing_is_drawn(folder):
    before, reports = times(folder), []
    (folder.path / "000002.png").unlink()
    folder.fill(6, batch=2, report=lambda *now: reports.append(now))
    after = times(folder)
    changed = [name for name in sorted(after) if after[name] != before.get(name)]
    assert changed == ["000002.png", "000005.png"]
    assert reports[-1] == (4, 4)  # whole parts: 2 and 3, 4 and 5
    folder.fill(6, batch=2, report=lambda *now: pytest.fail("nothing is missing"))


def test_a_film_is_of_the_first_part_alone_whether_it_is_missing_or_not(folder, model):
    before, film = times(folder), []
    folder.fill(6, batch=2, film=lambda codes: film.append(codes.clone()))
    assert len(film) <= 2  # as many as there are steps: nothing of numbers 4 and 5
    for number, picture in enumerate(model.preview(film[-1])):
        assert np.array_equal(np.asarray(picture), np.asarray(folder.picture(number)))
    after = times(folder)
    assert [name for name in sorted(after) if after[name] != before.get(name)] == ["000005.png"]


def test_the_pictures_are_a_data_set(folder):
    pixels = folder.pixels()
    assert pixels.names == [f"{number:06d}.png" for number in range(5)]
    assert np.array_equal(pixels.read([4])[0], np.asarray(folder.picture(4)))


def test_a_training_that_left_small_pictures_out_leaves_no_sample_out(folder, monkeypatch):
    images = {"min_side": folder.model.image_size + 1}
    monkeypatch.setitem(folder.model.about, "prior_training", {"images": images})
    assert len(folder.pixels()) == 5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 4}, "holds samples of another request: seed 3, not 4"),
        ({"settings": Settings(steps=3, temperature=(1.0, 0.5))}, r"request: steps 2, not 3\n"),
    ],
)
def test_another_request_is_refused(folder, change, sentence):
    request = {"seed": 3, "settings": SETTINGS} | change
    before = times(folder)
    with pytest.raises(DataError, match=sentence):
        SampleFolder(folder.path, folder.model, **request).fill(9)
    assert times(folder) == before


def test_a_folder_that_was_begun_with_other_noise_is_refused(folder):
    stamp = folder.path / "samples.json"
    before = json.loads(stamp.read_text())
    del before["noise"]
    stamp.write_text(json.dumps(before))
    with pytest.raises(DataError, match=r"another request: noise 1, not 2\n"):
        folder.fill(6)


def test_an_empty_list_of_prompts_asks_for_nothing(model):
    assert model.sample(1, [], steps=1) == model.sample(1, "", steps=1)


def test_prompts_may_be_any_sequence(tmp_path):
    model = Pipeline(untrained(words=("dark", "red")), torch.device("cpu"))
    for prompt in (("red", "dark"), ["red", "dark"]):
        SampleFolder(tmp_path, model, settings=Settings(steps=1), prompt=prompt).fill(2)


def test_a_model_that_kept_no_captions_draws_none():
    words = Pipeline(untrained(words=("dark", "red")), torch.device("cpu")).words
    with pytest.raises(ConfigError, match="which captions it was trained with"):
        words.drawn(range(2), seed=0)


def test_a_folder_of_something_else_is_left_alone(model, tmp_path):
    (tmp_path / "holiday.png").touch()
    with pytest.raises(DataError, match=r"something else than samples\n  name another folder:  --out .*-2"):
        SampleFolder(tmp_path, model).fill(1)
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.png"]


def test_what_a_kill_leaves_is_swept(folder):
    (folder.path / ".000005.png.partial-7").touch()
    folder.fill(5)
    assert not list(folder.path.glob(".*"))


WRITER = """
import sys, time
from pathlib import Path
from unmask.storage import locks

folder, name = Path(sys.argv[1]), sys.argv[2]
with locks.working_in(folder, lambda: None):
    partial = folder / f".{name}.png.partial-1"
    partial.touch()
    print("writing", flush=True)
    sys.stdin.readline()
    partial.replace(folder / f"{name}.png")
"""


def test_what_another_command_is_writing_is_not_swept(folder):
    """Two of them, one after the other gone: the second is safe from a third though it found the first."""
    command = [sys.executable, "-c", WRITER, str(folder.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([*command, "000007"], **pipes) as first,
        subprocess.Popen([*command, "000008"], **pipes) as second,
    ):
        for writer in (first, second):
            assert writer.stdout.readline() == "writing\n"
            folder.fill(5)
        for writer in (first, second):
            writer.communicate("\n", timeout=60)
            folder.fill(5)
            assert writer.returncode == 0
    assert {"000007.png", "000008.png"} < {path.name for path in folder.path.iterdir()}


def test_two_commands_fill_one_folder_together(tmp_path):
    bundles.save(untrained(), tmp_path / "model")
    folder = SampleFolder(tmp_path / "alone", load(tmp_path / "model", "cpu"), 3, SETTINGS)
    folder.fill(5, batch=2)
    words = ["sample", tmp_path / "model", "--seed", "3", "--steps", "2", "--temperature", "1", "0.5"]
    command = [sys.executable, "-m", "unmask", *words, "--count", "12", "--batch", "1", "--device", "cpu"]
    both = [subprocess.Popen([*command, "--out", tmp_path / "both"]) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    names = {path.name for path in (tmp_path / "both").iterdir()}
    assert names == {"samples.json", *(f"{number:06d}.png" for number in range(12))}
    for path in folder.path.glob("*.png"):
        assert (tmp_path / "both" / path.name).read_bytes() == path.read_bytes()


OLDER = {"remask", "remask_cap", "choice_temperature"}


@pytest.mark.parametrize("removed", [set(), {"gamma"}, OLDER])
def test_a_folder_from_before_a_setting_existed_holds_the_same_request(folder, removed):
    """What the last version wrote: settings in another order, and without those that came later."""
    stamp, before = folder.path / "samples.json", times(folder)
    there = json.loads(stamp.read_text())
    stamp.write_text(json.dumps({name: there[name] for name in sorted(there) if name not in removed}))
    SampleFolder(folder.path, folder.model, 3, SETTINGS).fill(5, batch=2)
    assert times(folder) == before
    for name in removed:
        with pytest.raises(DataError, match=f"another request: {name} {there[name]}, not 0.5"):
            SampleFolder(folder.path, folder.model, 3, SETTINGS, **{name: 0.5}).fill(5)


class Process:
    """One of two processes, as far as sharing goes."""

    world = 2

    def __init__(self, rank, barrier):
        self.rank, self.is_first, self.barrier = rank, rank == 0, barrier.wait


def test_processes_share_what_is_missing(folder, model, tmp_path):
    both, barrier, totals = SampleFolder(tmp_path / "both", model, 3, SETTINGS), Barrier(2, timeout=60), {}

    def work(rank):
        def report(done, total):
            totals[rank] = total

        both.fill(5, batch=2, processes=Process(rank, barrier), report=report)

    threads = [Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == {0: 3, 1: 2}  # pictures 0, 1 and 4; pictures 2 and 3
    for path in folder.path.iterdir():
        assert (both.path / path.name).read_bytes() == path.read_bytes()
