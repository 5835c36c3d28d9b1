"""Runs that begin, stop and go on, with all that can have changed in between."""

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import tyro

from tests.untrained import SMALL_CODEC
from unmask.cli.data import Arguments as Look
from unmask.codec.config import LossConfig
from unmask.config import CodecTraining, PriorTraining
from unmask.data.config import ImagesConfig
from unmask.errors import ConfigError, RunError
from unmask.models import open_model
from unmask.pipeline import load
from unmask.prior.config import PriorConfig
from unmask.storage import bundles as bundle
from unmask.training.config import EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine
from unmask.training.inputs import encode_data, lasting_data, look_at
from unmask.training.runs import Run
from unmask.training.train import train_codec, train_prior

IMAGES = ImagesConfig(size=16, validation=0.2)
LOOP = LoopConfig(steps=2, log_every=1, validate_every=1, save_every=1)
CODEC = CodecTraining(
    images=IMAGES,
    codec=SMALL_CODEC,
    loss=LossConfig(perceptual="off", adversarial="off", discriminator_width=8, discriminator_layers=1),
    optim=OptimConfig(lr=1e-3, batch=2),
    loop=LOOP,
    engine=EngineConfig(device="cpu", threads=1, precision="32"),
)
PRIOR = PriorTraining(
    images=IMAGES,
    prior=PriorConfig(width=16, depth=1, heads=2),
    optim=OptimConfig(lr=1e-3, batch=2),
    loop=LOOP,
    engine=CODEC.engine,
)
STILL = replace(PRIOR.optim, lr=1e-12)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Runs and caches of one test lie in its own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def data(place, rng):
    """A file of 20 pictures of noise."""
    np.save(
        place / "noise.npy", torch.randint(256, (20, 16, 16, 3), generator=rng, dtype=torch.uint8).numpy()
    )
    return "noise.npy"


@pytest.fixture
def model(place, data):
    """A whole model: the run of a prior after that of its codec."""
    train_codec(data, out=place / "codec", preset=CODEC)
    train_prior("codec/best", data, out=place / "prior", preset=PRIOR)
    return "prior/last"


def prior_of(folder):
    return bundle.load(folder).prior.tensors


def test_a_start_from_a_model_that_was_stopped_before_its_first_checkpoint_is_made_again(model, data, place):
    """Otherwise the run would go on from random weights, and still say that it began with the model."""
    still = replace(PRIOR, optim=STILL)
    train_prior(model, data, out=place / "on", preset=still, init=model)
    shutil.rmtree(place / "on/checkpoints")
    train_prior(model, data, out=place / "on", preset=still, resume=True, init=model)
    ours, theirs = prior_of(Path("on/last")), prior_of(Path(model))
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in theirs)


def test_a_prior_does_not_go_on_with_another_codec_in_the_place_of_its_own(model, data, place):
    train_codec(data, out=place / "other", preset=replace(CODEC, loop=replace(LOOP, seed=1)))
    shutil.rmtree(place / "codec/best")
    shutil.copytree(place / "other/best", place / "codec/best")
    longer = replace(PRIOR, loop=replace(LOOP, steps=3))
    with pytest.raises(RunError, match="now holds codec"):
        train_prior("codec/best", data, out=place / "prior", preset=longer, resume=True)


def test_one_held_out_picture_is_enough(data, place, capsys):
    """Its standard error is not known, not stored and not said."""
    few = ImagesConfig(size=16, validation=0.05)
    train_codec(data, out=place / "codec", preset=replace(CODEC, images=few))
    train_prior("codec/best", data, out=place / "prior", preset=replace(PRIOR, images=few))
    assert set(bundle.load(Path("prior/best")).about["prior_validation"]) == {"bits"}
    assert "nan" not in capsys.readouterr().err


def test_where_pixels_are_kept_may_change_and_what_shapes_networks_may_not(data, place):
    train_codec(data, out=place / "codec", preset=CODEC)
    longer = replace(CODEC, loop=replace(LOOP, steps=3))
    elsewhere = replace(longer, images=replace(IMAGES, workers=1, cache="off"))
    assert train_codec(data, out=place / "codec", preset=elsewhere, resume=True).last_step() == 3
    for changed in (
        {"loss": replace(CODEC.loss, discriminator_width=16)},
        {"images": replace(IMAGES, shift=1)},
        {"codec": replace(CODEC.codec, width=16)},
    ):
        with pytest.raises(RunError, match=f"other settings under {next(iter(changed))}"):
            train_codec(data, out=place / "codec", preset=replace(longer, **changed), resume=True)


def test_a_run_does_not_go_on_with_other_pictures(model, data, place):
    """Its order of pictures, its held-out ones and so the best so far would be of others."""
    longer = replace(LOOP, steps=3)
    np.save(place / "moved.npy", np.load(data))
    np.save(data, np.load(data)[:19])
    for go_on in (
        lambda data: train_codec(data, out=place / "codec", preset=replace(CODEC, loop=longer), resume=True),
        lambda data: train_prior(
            "codec/best", data, out=place / "prior", preset=replace(PRIOR, loop=longer), resume=True
        ),
    ):
        with pytest.raises(RunError, match="the images are not those that"):
            go_on(data)
        assert go_on("moved.npy").last_step() == 3  # the same by another name


def test_a_run_is_trained_by_one_process_at_a_time(data, place):
    train_codec(data, out=place / "codec", preset=CODEC)
    longer = replace(CODEC, loop=replace(LOOP, steps=3))
    with Run.open(place / "codec").claimed(), pytest.raises(RunError, match="another process is training"):
        train_codec(data, out=place / "codec", preset=longer, resume=True)
    assert train_codec(data, out=place / "codec", preset=longer, resume=True).last_step() == 3


def test_a_run_says_in_what_precision_it_computes_and_when_that_changes(data, place, capsys):
    """As it may where a training is resumed on another machine."""
    train_codec(data, out=place / "codec", preset=CODEC)
    assert "on cpu in float32, into" in capsys.readouterr().err
    for steps, engine, said in (
        (3, replace(CODEC.engine, precision="bf16"), "trained in float32 so far, now in bfloat16\n"),
        (4, CODEC.engine, "trained in bfloat16 so far, now in float32\n"),
    ):
        train_codec(
            data,
            out=place / "codec",
            preset=replace(CODEC, loop=replace(LOOP, steps=steps), engine=engine),
            resume=True,
        )
        assert said in capsys.readouterr().err


def test_a_prior_goes_on_with_codes_of_the_precision_that_it_began_with(data, place):
    train_codec(data, out=place / "codec", preset=CODEC)
    rounded = replace(PRIOR, engine=replace(PRIOR.engine, precision="bf16"))
    longer = replace(PRIOR, loop=replace(LOOP, steps=3))
    for preset, name in ((rounded, "bfloat16"), (PRIOR, "float32")):
        train_prior("codec/best", data, out=place / name, preset=preset)
        run = train_prior("codec/best", data, out=place / name, preset=longer, resume=True)
        assert run.config["codes_precision"] == name


def test_a_prior_on_stored_codes_knows_what_was_held_out_when_they_were_made(data, place, capsys):
    """Its model opens the data by that split; by another one, held-out pictures would be trained on."""
    train_codec(data, out=place / "codec", preset=CODEC)
    others = replace(IMAGES, validation=0.5, background="black", crops=2)  # of none at random
    engine = Engine(CODEC.engine)
    stamp = encode_data(open_model("codec/best"), data, others, engine, place / "noise.codes").stamp
    train_prior("codec/best", "noise.codes", out=place / "prior", preset=PRIOR)
    assert "settings of their own, which hold: background black, validation 0.5\n" in capsys.readouterr().err
    model = load("prior/best", "cpu")
    assert len(model.open(data, "validation")) == stamp.num_validation
    assert model.open(data, "train").fingerprint == stamp.pixels[0]
    assert model.about["prior_data"] == data
    longer = replace(PRIOR, images=others, loop=replace(LOOP, steps=3))
    assert (
        train_prior("codec/best", "noise.codes", out=place / "prior", preset=longer, resume=True).last_step()
        == 3
    )


def test_a_new_prior_knows_nothing_of_one_that_its_codec_came_with(model, data, place):
    """Not where that one started, nor its curve, nor its figures."""
    before = open_model(model)
    before.about.update(prior_started_from="another", prior_validation={"bits": 9.0}, curve={"ratio": [1.0]})
    bundle.save(before, place / "old")
    train_prior("old", data, out=place / "new", preset=replace(PRIOR, loop=replace(LOOP, validate_every=100)))
    about = open_model("new/last").about
    assert "prior_started_from" not in about
    assert about["prior_validation"].get("bits") != 9.0
    assert about["curve"] != {"ratio": [1.0]}
    assert about["codec_training"] == before.about["codec_training"]


def test_from_python_a_preset_is_changed_and_a_run_goes_on_with_all_that_it_has(data, place):
    small = {
        "codec": {"width": 8, "multipliers": [1, 2], "quantizer": {"codebook_size": 16, "kmeans_batches": 0}},
        "images": {"size": 16, "validation": 0.2},
        "engine": {"device": "cpu", "threads": 1},
    }
    small["codec"] |= {"groups": 4, "attention": [2]}
    run = train_codec(data, out="codec", preset="tiny", loop={"steps": 3}, **small)
    settings = run.config["settings"]
    assert settings["loop"]["steps"] == run.last_step() == 3
    assert settings["loop"]["validate_every"] == 1, "as often as in the preset's 300 steps"
    assert settings["optim"]["warmup"] == 1
    again = train_codec(out="codec", resume=True, loop={"steps": 4})
    assert again.last_step() == 4
    assert again.config["settings"] == settings | {"loop": settings["loop"] | {"steps": 4}}
    with pytest.raises(ConfigError, match="wants its data"):
        train_codec(out="other")


def test_built_in_pictures_stay_the_built_in_ones_where_a_folder_has_their_name(place):
    (place / "emoji").mkdir()
    (place / "photos").mkdir()
    assert lasting_data("emoji") == "emoji"
    assert lasting_data("photos") == str(place / "photos")


def test_the_command_that_looks_at_pictures_sees_them_as_the_training_does():
    images = ImagesConfig(
        crop="random",
        scale=(1.5, 3.0),
        min_side=20,
        background="#102030",
        validation=0.2,
        fast_decode=True,
        shift=3,
    )
    words = shlex.split(look_at("my photos", images))
    look = tyro.cli(Look, args=words[2:])
    assert look.data == "my photos"
    assert replace(look.images, size=images.size, shift=images.shift) == images
    assert look_at("photos", ImagesConfig(size=32, flip=False, captions="auto")) == "unmask data photos"
