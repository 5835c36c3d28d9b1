"""What a training starts from: a preset, fitted to fewer steps, and how the codec saw its pictures."""

import json
from dataclasses import replace

import pytest
import yaml

from tests.untrained import untrained
from unmask.cli import encode, train_codec, train_prior
from unmask.cli.results import results
from unmask.cli.settings import conclude
from unmask.codec.config import LossConfig
from unmask.config import CodecTraining, to_json
from unmask.data.codes import open_codes
from unmask.data.config import ImagesConfig
from unmask.storage import bundles as bundle
from unmask.training.runs import Run


@pytest.fixture
def codec(tmp_path):
    """One that held out three pictures of ten, mirrored none, and moved some."""
    images = ImagesConfig(size=16, validation=0.3, flip=False, background="black", shift=2, workers=1)
    training = CodecTraining(images=images, loss=LossConfig(adversarial="off"))
    about = {"image_size": 16, "codec_training": to_json(training)}
    folder = tmp_path / "codec"
    bundle.save(replace(untrained(), prior=None, about=about), folder)
    return folder


def settled(capsys, *words):
    train_prior.main([*map(str, words), "--print-config"])
    return yaml.safe_load(capsys.readouterr().out)["images"]


def test_a_prior_takes_over_what_its_codec_held_out(codec, capsys):
    images = settled(capsys, codec, "emoji", "--preset", "tiny")
    assert (images["validation"], images["flip"], images["background"]) == (0.3, False, "black")
    assert (images["shift"], images["workers"]) == (0, 0)


def test_the_file_and_the_command_line_have_the_last_word(codec, capsys, tmp_path):
    changes = tmp_path / "mine.yaml"
    changes.write_text("images: {validation: 0.2, background: red}")
    images = settled(
        capsys, codec, "emoji", "--config", changes, "--images.background", "blue", "--images.flip"
    )
    assert (images["validation"], images["flip"], images["background"]) == (0.2, True, "blue")


def test_a_runs_own_file_gives_its_settings(capsys, tmp_path):
    train_codec.main(["emoji", "--preset", "tiny", "--optim.lr", "0.123", "--print-config"])
    printed = capsys.readouterr().out
    Run.create(tmp_path / "run", {"data": "emoji", "settings": yaml.safe_load(printed)})
    train_codec.main(["emoji", "--config", str(tmp_path / "run/config.json"), "--print-config"])
    assert capsys.readouterr().out == printed


def test_an_imported_codec_says_nothing_and_the_preset_holds(tmp_path, capsys):
    bundle.save(untrained(), tmp_path / "model")
    assert settled(capsys, tmp_path / "model", "emoji")["validation"] == ImagesConfig.validation


def test_codes_are_made_the_same_way(codec, tmp_path):
    encode.main([str(codec), "emoji", "--out", str(tmp_path / "emoji.codes"), "--device", "cpu"])
    images = open_codes(tmp_path / "emoji.codes", bundle.load(codec).codec.fingerprint).stamp.images
    assert (images["validation"], images["flip"]) == (0.3, False)


def times(capsys, *words):
    """Steps, warm-up, cool-down and the time between validations that a command comes to."""
    train_codec.main(["emoji", *map(str, words), "--print-config"])
    settings = yaml.safe_load(capsys.readouterr().out)
    loop, optim = settings["loop"], settings["optim"]
    return loop["steps"], optim["warmup"], optim["cooldown"], loop["validate_every"]


def test_fewer_steps_shorten_what_is_not_given(capsys, tmp_path):
    assert times(capsys) == (2500, 200, 500, 250)
    assert times(capsys, "--loop.steps", 250) == times(capsys, "--loop.steps=250") == (250, 20, 50, 25)
    assert times(capsys, "--loop.steps", 250, "--optim.warmup", 7) == (250, 7, 50, 25)
    changes = tmp_path / "short.yaml"
    changes.write_text("loop: {steps: 250, validate_every: 100}")
    assert times(capsys, "--config", changes) == (250, 20, 50, 100)


def test_more_steps_leave_the_rest_as_it_is(capsys):
    assert times(capsys, "--loop.steps", 5000) == (5000, 200, 500, 250)


def test_json_after_a_training_has_the_run_and_its_last_validation(tmp_path, capsys):
    run = Run.create(tmp_path / "run", {})
    for step, bits in ((1, 5.0), (2, 4.5)):
        run.log(step, {"bits": bits}, kind="validation")
        run.log(step, {"loss": 1.0})
    with results(["--json"]):
        conclude(run, "prior")
    found = json.loads(capsys.readouterr().out)
    assert found["run"] == str(run.folder)
    assert (found["validation"]["step"], found["validation"]["bits"]) == (2, 4.5)
