import builtins
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from unmask.errors import BundleError, RunError
from unmask.storage import seals
from unmask.storage.bundles import Bundle, Part
from unmask.training import runs
from unmask.training.runs import Run

CONFIG = {"seed": 0, "model": {"width": 8, "grid": [4, 4]}}


def state(step: int) -> dict[str, Any]:
    return {"step": step, "weights": torch.full((100,), float(step)), "adam": {0: (step, None)}}


def model(step: int) -> Bundle:
    return Bundle(Part({}, {"weight": torch.full((100,), float(step))}))


def no_room(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def steps(run: Run) -> list[int]:
    return sorted(
        int(path.name.removeprefix("step-")) for path in (run.folder / "checkpoints").glob("step-*")
    )


@pytest.fixture
def run(tmp_path) -> Run:
    return Run.create(tmp_path / "runs" / "faces", CONFIG)


class TestClaiming:
    def test_is_for_one_process_at_a_time(self, run):
        with run.claimed():
            claim = "import sys; from pathlib import Path; from unmask.training.runs import Run\n"
            claim += "with Run.open(Path(sys.argv[1])).claimed(): pass"
            other = subprocess.run([sys.executable, "-c", claim, run.folder], capture_output=True, text=True)
            assert "another process is training" in other.stderr
        with Run.open(run.folder).claimed():
            pass


class TestCreating:
    def test_writes_down_the_configuration(self, run):
        assert run.config == CONFIG
        assert Run.open(run.folder).config == CONFIG

    def test_refuses_a_folder_that_holds_a_run(self, run):
        with pytest.raises(RunError, match=r"already holds a run\n.*--resume.*--out"):
            Run.create(run.folder, {"seed": 1})
        assert Run.open(run.folder).config == CONFIG

    def test_takes_a_folder_that_has_only_something_else_in_it(self, tmp_path):
        (tmp_path / "notes.txt").touch()
        Run.create(tmp_path, CONFIG)
        assert (tmp_path / "notes.txt").exists()

    def test_refuses_a_path_that_cannot_be_a_folder(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(RunError, match="cannot hold a run"):
            Run.create(tmp_path / "file", CONFIG)


class TestOpening:
    def test_a_folder_without_a_run_names_the_runs_beside_it(self, run):
        with pytest.raises(RunError, match=r"no run in .*\n.*faces"):
            Run.open(run.folder.with_name("face"))

    def test_nothing_beside_nothing_says_only_that(self, tmp_path):
        with pytest.raises(RunError, match="no run in"):
            Run.open(tmp_path / "nowhere")

    def test_a_run_of_a_newer_format_says_how_to_upgrade(self, run):
        (run.folder / "config.json").write_text(json.dumps({"format": runs.FORMAT + 1, "config": {}}))
        with pytest.raises(RunError, match="pip install --upgrade unmask"):
            Run.open(run.folder)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "config": 3}'])
    def test_a_configuration_that_describes_nothing_is_refused(self, run, text):
        (run.folder / "config.json").write_text(text)
        with pytest.raises(RunError, match="does not describe a run"):
            Run.open(run.folder)

    def test_finishes_a_replacement_that_a_kill_cut_off(self, run):
        run.save_bundle("best", model(1))
        run.save(1, state(1))
        for target in (run.folder / "best", run.folder / "checkpoints" / "step-00000001"):
            target.rename(target.with_name(f".{target.name}.partial"))
            target.with_name(f".{target.name}.previous").mkdir()
        reopened = Run.open(run.folder)
        assert reopened.load_bundle("best").codec.fingerprint == model(1).codec.fingerprint
        assert reopened.restore()[0] == 1


class TestAConfiguration:
    def test_with_one_character_changed_is_refused(self, run):
        run.update_config({"lr": 0.25})
        path = run.folder / "config.json"
        path.write_text(path.read_text().replace("0.25", "0.35"))
        with pytest.raises(RunError, match="not as it was written"):
            Run.open(run.folder)

    def test_may_be_put_in_the_place_of_the_first(self, run):
        run.update_config({"seed": 1})
        assert run.config == Run.open(run.folder).config == {"seed": 1}


class TestTheLog:
    def test_holds_one_line_of_json_for_every_call_at_once(self, run):
        run.log(10, {"loss": 0.5, "lr": torch.tensor(0.25)})
        run.log(20, {"bound": 6.01}, kind="valid")
        lines = [json.loads(line) for line in (run.folder / "log.jsonl").read_text().splitlines()]
        assert [line.pop("time") > 1e9 for line in lines] == [True, True]
        assert lines == [
            {"step": 10, "kind": "train", "loss": 0.5, "lr": 0.25},
            {"step": 20, "kind": "valid", "bound": 6.01},
        ]

    def test_is_read_as_it_was_written(self, run):
        assert run.read_log() == []
        run.log(1, {"loss": 0.1})
        assert [(entry["step"], entry["loss"]) for entry in Run.open(run.folder).read_log()] == [(1, 0.1)]

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
    def test_has_null_for_what_json_cannot_say(self, run, value):
        run.log(1, {"loss": value})
        assert "null" in (run.folder / "log.jsonl").read_text()
        assert run.read_log()[0]["loss"] is None

    def test_passes_over_a_last_line_cut_short(self, run):
        for step in (1, 2):
            run.log(step, {"loss": 0.5})
        log = run.folder / "log.jsonl"
        whole = log.read_bytes()
        for length in range(whole.index(b"\n") + 1, len(whole)):
            log.write_bytes(whole[:length])
            assert [entry["step"] for entry in run.read_log()] == [1]

    @pytest.mark.parametrize(
        "line", ['{"step"', "{}", "[]", '{"step": "two", "kind": "train"}', "[" * 100_000]
    )
    def test_names_a_damaged_line_and_goes_on_without_it(self, run, caplog, line):
        for step in (1, 3):
            run.log(step, {"loss": 0.5})
        log = run.folder / "log.jsonl"
        first, last = log.read_text().splitlines(keepends=True)
        log.write_text(f"{first}{line}\n{last}")
        assert [entry["step"] for entry in run.read_log()] == [1, 3]
        assert "line 2 of" in caplog.text
        run.truncate_log(2)
        assert log.read_text() == first

    def test_of_a_run_that_goes_on_forgets_what_came_after_the_checkpoint(self, run):
        for step in (1, 2, 3):
            run.log(step, {"loss": 0.5})
        log = run.folder / "log.jsonl"
        until_two = log.read_bytes().splitlines(keepends=True)[:2]
        log.write_bytes(log.read_bytes() + b'{"step": 4, "lo')
        run.truncate_log(2)
        assert log.read_bytes() == b"".join(until_two)
        run.log(3, {"loss": 0.5})
        assert [entry["step"] for entry in run.read_log()] == [1, 2, 3]

    def test_of_a_run_killed_before_its_first_checkpoint_starts_anew(self, run):
        run.truncate_log(0)
        run.log(1, {"loss": 0.5})
        run.truncate_log(0)
        assert run.read_log() == []

    def test_has_names_of_its_own_that_no_metric_may_take(self, run):
        with pytest.raises(AssertionError):
            run.log(1, {"time": 1.0})


class TestCheckpoints:
    def test_come_back_with_their_step(self, run):
        assert run.restore() is None
        assert run.last_step() is None
        run.save(1000, state(1000))
        assert run.last_step() == 1000
        step, back = Run.open(run.folder).restore()
        assert step == 1000
        assert torch.equal(back.pop("weights"), torch.full((100,), 1000.0))
        assert back == {"step": 1000, "adam": {0: (1000, None)}}

    def test_are_named_by_their_step(self, run):
        run.save(1000, state(1000))
        folder = run.folder / "checkpoints" / "step-00001000"
        assert sorted(path.name for path in folder.iterdir()) == ["state.json", "state.safetensors"]

    @pytest.mark.parametrize(("keep", "left"), [(1, [400]), (2, [300, 400]), (9, [100, 200, 300, 400])])
    def test_are_kept_to_the_last_few(self, run, keep, left):
        for step in (100, 200, 300, 400):
            run.save(step, state(step), keep=keep)
        assert steps(run) == left

    def test_of_a_future_that_was_given_up_are_removed(self, run):
        for step in (100, 900, 200):
            run.save(step, state(step))
        assert steps(run) == [100, 200]
        assert run.restore()[0] == 200

    def test_may_be_saved_twice(self, run):
        run.save(100, state(1))
        run.save(100, state(2))
        assert run.restore()[1]["step"] == 2

    def test_sweep_away_what_kills_left_and_nothing_else(self, run):
        run.picture("samples", 1, Image.new("RGB", (2, 2)))
        run.save(1, state(1))
        for leftover in ("checkpoints/.step-00000050.partial", ".best.partial", "checkpoints/step-1 of mine"):
            (run.folder / leftover).mkdir()
        (run.folder / "samples" / ".x.png.partial-1").touch()
        run.save(100, state(100))
        assert not list(run.folder.rglob(".*"))
        assert (run.folder / "checkpoints" / "step-1 of mine").exists()

    @pytest.mark.parametrize("name", ["state.safetensors", "state.json"])
    @pytest.mark.parametrize("length", [0, 10, -1])
    def test_cut_short_give_way_to_the_one_before_with_a_warning(self, run, caplog, name, length):
        run.save(100, state(100))
        run.save(200, state(200))
        path = run.folder / "checkpoints" / "step-00000200" / name
        path.write_bytes(path.read_bytes()[:length])
        assert run.restore()[0] == 100
        assert caplog.record_tuples[0][1] == logging.WARNING
        assert "step-00000200 is damaged" in caplog.text

    @pytest.mark.parametrize("text", ["[]", "{}", '{"format": "one"}', "[" * 100_000])
    def test_with_other_json_in_them_give_way_too(self, run, text):
        run.save(100, state(100))
        run.save(200, state(200))
        (run.folder / "checkpoints" / "step-00000200" / "state.json").write_text(text)
        assert run.restore()[0] == 100

    @pytest.mark.parametrize("name", ["state.safetensors", "state.json"])
    def test_with_one_flipped_bit_give_way_too(self, run, name):
        run.save(100, state(100))
        run.save(200, state(200))
        path = run.folder / "checkpoints" / "step-00000200" / name
        path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        assert run.restore()[0] == 100

    def test_that_are_all_damaged_are_not_taken_for_none(self, run):
        run.save(100, state(100))
        (run.folder / "checkpoints" / "step-00000100" / "state.json").unlink()
        with pytest.raises(RunError, match="every checkpoint"):
            run.restore()

    def test_of_a_newer_format_are_not_taken_for_damaged(self, run):
        run.save(100, state(100))
        path = run.folder / "checkpoints" / "step-00000100" / "state.json"
        content = json.loads(path.read_text()) | {"format": runs.FORMAT + 1}
        del content[seals.SEAL]
        path.write_text(json.dumps(seals.sealed(content)))
        with pytest.raises(RunError, match="pip install --upgrade unmask"):
            run.restore()


class TestModels:
    @pytest.mark.parametrize("which", ["best", "last"])
    def test_are_kept_beside_the_checkpoints(self, run, which):
        run.save_bundle(which, model(1))
        run.save_bundle(which, model(2))
        assert run.load_bundle(which).codec.fingerprint == model(2).codec.fingerprint
        assert (run.folder / which / "unmask.json").exists()

    def test_that_are_not_there_yet_are_an_error_with_their_path(self, run):
        with pytest.raises(BundleError, match="faces/best"):
            run.load_bundle("best")


class TestPictures:
    def test_are_kept_by_name_and_step(self, run):
        run.picture("reconstructions", 1000, Image.new("RGB", (5, 3), "red"))
        with Image.open(run.folder / "samples" / "reconstructions-00001000.png") as image:
            assert image.size == (5, 3)
            assert image.getpixel((0, 0)) == (255, 0, 0)


class TestAFullDisk:
    @pytest.fixture
    def full(self, run, monkeypatch) -> Run:
        run.save(100, state(100))
        run.save_bundle("best", model(100))
        run.log(100, {"loss": 0.5})
        monkeypatch.setattr(os, "fsync", no_room)
        return run

    def test_leaves_the_checkpoint_before_and_says_how_much_room_is_wanted(self, full):
        with pytest.raises(RunError, match=r"No space left.*takes 400 bytes.*free\n.*--resume"):
            full.save(200, state(200))
        assert full.restore()[0] == 100
        assert steps(full) == [100]

    def test_leaves_the_best_model(self, full):
        with pytest.raises(BundleError, match=r"No space left.*takes 400 bytes"):
            full.save_bundle("best", model(200))
        assert full.load_bundle("best").codec.fingerprint == model(100).codec.fingerprint

    def test_is_said_of_pictures_and_of_the_log_too(self, full, monkeypatch):
        with pytest.raises(RunError, match="No space left"):
            full.picture("samples", 200, Image.new("RGB", (2, 2)))
        with pytest.raises(RunError, match="No space left"):
            full.truncate_log(0)
        monkeypatch.setattr(Path, "open", no_room)
        with pytest.raises(RunError, match="No space left"):
            full.log(200, {"loss": 0.5})
        monkeypatch.undo()
        assert len(full.read_log()) == 1

    def test_of_one_megabyte_is_survived_for_real(self, resize_disk):
        run = Run.create(resize_disk("1m") / "run", CONFIG)
        run.save(100, {"weights": torch.ones(100_000)})
        run.save_bundle("best", Bundle(Part({}, {"weight": torch.ones(50_000)})))
        with pytest.raises(RunError, match=r"No space left on device.*takes 800,000 bytes"):
            run.save(200, {"weights": torch.ones(200_000)})
        with pytest.raises(BundleError, match=r"No space left on device.*takes 800,000 bytes"):
            run.save_bundle("best", Bundle(Part({}, {"weight": torch.ones(200_000)})))
        reopened = Run.open(run.folder)
        assert reopened.restore()[0] == 100
        assert reopened.load_bundle("best").codec.tensors["weight"].shape == (50_000,)
        assert not list(run.folder.rglob(".*"))


class TestTensorBoard:
    def points(self, run: Run) -> dict[str, list[int]]:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(run.folder / "tensorboard")).Reload()
        tags = events.Tags()
        return {tag: [point.step for point in events.Scalars(tag)] for tag in tags["scalars"]} | {
            tag: [point.step for point in events.Images(tag)] for tag in tags["images"]
        }

    def test_shows_what_is_logged_as_soon_as_it_is(self, tmp_path):
        run = Run.create(tmp_path, CONFIG, tensorboard=True)
        for step in range(1, 6):
            run.log(step, {"loss": 0.5})
            assert self.points(run)["train/loss"][-1] == step
        run.log(5, {"bound": float("nan")}, kind="valid")
        assert self.points(run)["valid/bound"] == [5]
        run.picture("samples", 5, Image.new("L", (4, 4)))
        assert self.points(run)["samples"] == [5]

    def test_hides_what_came_after_the_checkpoint_of_a_run_that_goes_on(self, tmp_path):
        run = Run.create(tmp_path, CONFIG, tensorboard=True)
        for step in (1, 2, 3):
            run.log(step, {"loss": 0.5})
        resumed = Run.open(tmp_path, tensorboard=True)
        resumed.truncate_log(2)
        resumed.log(3, {"loss": 0.25})
        assert self.points(resumed) == {"train/loss": [1, 2, 3]}

    def test_is_not_written_unless_asked_for(self, run):
        run.log(1, {"loss": 0.5})
        assert not (run.folder / "tensorboard").exists()

    def test_that_is_not_installed_is_said_once_and_done_without(self, tmp_path, monkeypatch, caplog):
        importing = builtins.__import__

        def without(name: str, *rest: Any) -> Any:
            if name.endswith("tensorboard"):
                raise ImportError(name)
            return importing(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        run = Run.create(tmp_path, CONFIG, tensorboard=True)
        for step in (1, 2):
            run.log(step, {"loss": 0.5})
        run.picture("samples", 1, Image.new("RGB", (2, 2)))
        assert len(caplog.records) == 1
        assert "pip install" in caplog.text
        assert len(run.read_log()) == 2
