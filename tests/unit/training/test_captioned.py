"""A training on captions, from a folder of labels to pictures by prompt."""

import csv
import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.unit.training.test_train import CODEC, LOOP, PRIOR
from unmask.cli.main import run_command
from unmask.data.config import ImagesConfig
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError, DataError, RunError, UnmaskError
from unmask.evaluation.features import Extractor
from unmask.evaluation.kid import kid, pairs_of
from unmask.pipeline import load
from unmask.samples import SampleFolder
from unmask.sweeps import evaluate as sweep
from unmask.third_party import weights
from unmask.training.train import train_codec, train_prior

IMAGES = ImagesConfig(size=16, validation=0.2, captions="auto")
TOLD = replace(PRIOR, images=IMAGES)
LONGER = replace(TOLD, loop=replace(LOOP, steps=3))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Twenty pictures, red houses and dark trees, and a prior that was trained on them for two steps."""
    place = tmp_path_factory.mktemp("captioned")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("UNMASK_CACHE", str(place / "cache"))
        pictures = np.random.default_rng(0).integers(0, 256, (20, 16, 16, 3), dtype=np.uint8)
        np.save("set.npy", pictures)
        Path("set.txt").write_text("red house, noon\ndark tree\n" * 10)
        np.save("plain.npy", pictures)
        train_codec("set.npy", out="codec", preset=CODEC)
        train_prior("codec/best", "set.npy", out="prior", preset=TOLD)
        yield place


@pytest.fixture(autouse=True)
def inside(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("UNMASK_CACHE", str(place / "cache"))


@pytest.fixture
def model():
    return load("prior/best", "cpu")


def test_a_new_model_is_sampled_well_untuned_and_by_name_as_in_the_paper(model):
    assert model.settings("sample") == Settings(steps=32, temperature=0.85, remask=0.5, guidance=2.0)
    assert model.settings("canvas") == Settings(temperature=0.8, remask=1.0, care="balanced")
    assert model.settings("edit") == model.settings("canvas")
    assert model.settings("sample", "paper") == Settings()


def same(some, others):
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


def test_a_model_knows_the_words_of_its_training(model):
    assert model.words.vocabulary.words == ("dark", "house", "noon", "red", "tree")
    assert model.words.length == 4  # room for three words, as a power of two
    assert {"bits", "bits_given_caption", "bits_per_caption"} <= set(model.about["prior_validation"])


def test_pictures_follow_the_prompt_of_their_number(model):
    one, other = (
        model.sample(2, words, steps=4, guidance=3, settings="paper") for words in ("red house", "dark tree")
    )
    assert not same(one, other)
    assert same(
        [one[0], other[1]], model.sample(2, ["red house", "dark tree"], steps=4, guidance=3, settings="paper")
    )
    assert same(one, model.sample(2, "Red: HOUSE!", steps=4, guidance=3, settings="paper"))


def test_without_a_prompt_pictures_are_as_those_of_the_training(model):
    drawn = model.words.of(None, range(64), seed=0)
    assert {model.words.text(ids) for ids in drawn} == {"red house noon", "dark tree"}
    assert same(model.sample(2, steps=4), model.sample(2, steps=4, batch=1))
    assert not same(model.sample(2, steps=4), model.sample(2, "", steps=4))


def test_guidance_has_no_say_where_nothing_is_told(model):
    assert same(model.sample(2, "", steps=4), model.sample(2, "", steps=4, guidance=3))


def test_negative_words_and_a_guide_change_what_is_drawn(model):
    plain = model.sample(2, "red house", steps=4, guidance=3, settings="paper")
    assert not same(
        plain, model.sample(2, "red house", negative="dark tree", steps=4, guidance=3, settings="paper")
    )
    assert same(
        model.sample(2, "red house", steps=4, settings="paper"),
        model.sample(2, "red house", steps=4, guidance=3, settings="paper", guide=model),
    )


def test_canvases_and_edits_take_prompts(model):
    assert not same(
        [model.canvas((24, 16), "red house", steps=4, guidance=3)],
        [model.canvas((24, 16), "dark tree", steps=4, guidance=3)],
    )
    row = model.canvas((48, 16), ["red house", "dark tree"], steps=4, guidance=20)
    assert row.info["unmask"].prompt == ("red house", "dark tree")
    assert not same([row], [model.canvas((48, 16), ["dark tree", "red house"], steps=4, guidance=20)])
    assert same(
        [model.canvas((24, 16), ["red house"], steps=4)], [model.canvas((24, 16), "red house", steps=4)]
    )
    picture = model.sample(1, "red house", steps=4)[0]
    box = (0, 0, 8, 16)
    told, other = (
        model.inpaint(picture, box, words, count=1, steps=4, guidance=20) for words in ("red", "dark")
    )
    assert not same(told, other)
    assert not same(
        model.inpaint(picture, box, count=1, steps=4),
        model.inpaint(picture, box, count=1, steps=4, guidance=20),
    )
    assert model.extend(picture, "red house", right=8, count=1, steps=2)[0].size == (24, 16)


def test_scores_are_of_codes_that_nothing_was_told_of(model):
    picture = model.sample(1, steps=2)[0]
    assert len(model.score([picture]).bits) == 1
    codes = torch.zeros(1, model.prior.num_positions, dtype=torch.int64)
    assert model.sampler.likelihood.code_nats(codes, 0, num_pairs=2).shape == codes.shape


def test_pictures_are_captioned_in_words_of_the_training(model):
    pictures = model.sample(2, "red house", steps=2)
    captions = model.caption(pictures, draws=16)
    assert len(captions) == 2
    for found in captions:
        assert sum(found.values()) == pytest.approx(1)
        assert {word for text in found for word in text.split()} <= set(model.words.vocabulary.words)
        assert list(found.values()) == sorted(found.values(), reverse=True)
    assert captions == model.caption(pictures, draws=16)


@pytest.mark.parametrize("by", ["label", "picture"])
def test_pictures_are_classified_among_labels(model, by):
    pictures, labels = model.sample(3, steps=2), ["red house noon", "dark tree", "red"]
    found = model.classify(pictures, labels, by=by, draws=4)
    for one in found:
        assert set(one) == set(labels)
        assert sum(one.values()) == pytest.approx(1)
        assert list(one.values()) == sorted(one.values(), reverse=True)
    assert found[0] == pytest.approx(model.classify(pictures[:1], labels, by=by, draws=4)[0], rel=1e-4)
    with pytest.raises(ConfigError, match="'hause'"):
        model.classify(pictures, ["red hause"], by=by)


def test_how_often_a_label_is_right_is_told(capsys):
    run_command(["classify", "prior/best", "set.npy", "--split", "all", "--csv", "labels.csv"])
    said = capsys.readouterr().out
    assert "of 2 labels; by chance 50.0%" in said
    _, *rows = csv.reader(Path("labels.csv").read_text().splitlines())
    right = sum(label == found for _, label, found, _ in rows)
    assert f"{right / 20:.1%} ± " in said
    assert [label for _, label, _, _ in rows] == ["red house, noon", "dark tree"] * 10
    for _, label, found, p in rows:
        assert label == found or float(p) <= 0.5
    np.save("unnamed.npy", np.load("set.npy"))
    with pytest.raises(DataError, match="0 different captions"):
        run_command(["classify", "prior/best", "unnamed.npy", "--split", "all"])


def test_captions_of_the_same_words_are_one(model):
    words = model.words
    drawn = torch.stack([words.ids(text) for text in ("red house", "house red", "tree", "")])
    assert words.count(drawn) == {"red house": 0.5, "tree": 0.25, "": 0.25}


def test_a_set_is_opened_whatever_the_captions_of_the_training_were(place):
    """They are of other pictures."""
    Path("mine.txt").write_text("red house\n" * 20)
    listed = replace(TOLD, images=replace(IMAGES, captions="mine.txt"))
    train_prior("codec/best", "set.npy", out="listed", preset=listed)
    model = load("listed/best", "cpu")
    SampleFolder("few", model, steps=2).fill(2)
    assert len(SampleFolder("few", model, steps=2).pixels()) == 2


def test_unknown_words_are_named(model):
    with pytest.raises(ConfigError, match=r"'hause' \(near: house\)"):
        model.sample(1, "red hause")
    with pytest.raises(ConfigError, match="5 words"):
        model.sample(1, "red house dark tree noon")


def test_a_folder_of_samples_remembers_its_prompt(model):
    SampleFolder("told", model, prompt="red house", steps=2).fill(2)
    SampleFolder("told", model, prompt="red house", steps=2).fill(3)
    for other in ({}, {"prompt": ""}, {"prompt": "dark tree"}, {"prompt": "red house", "negative": "dark"}):
        with pytest.raises(DataError, match="another request"):
            SampleFolder("told", model, steps=2, **other).fill(3)
    SampleFolder("untold", model, prompt="", steps=2).fill(1)
    with pytest.raises(DataError, match="another request: prompt , not None"):
        SampleFolder("untold", model, steps=2).fill(1)


def test_a_run_goes_on_with_its_captions_and_with_no_others(place):
    train_prior("codec/best", "set.npy", out="on", preset=TOLD)
    Path("set.txt").write_text("red house, noon\ndark trees\n" * 10)
    try:
        with pytest.raises(RunError, match="images are not those"):
            train_prior("codec/best", "set.npy", out="on", preset=LONGER, resume=True)
    finally:
        Path("set.txt").write_text("red house, noon\ndark tree\n" * 10)
    assert train_prior("codec/best", "set.npy", out="on", preset=LONGER, resume=True).last_step() == 3


@pytest.mark.parametrize("data", ["set.npy", "plain.npy"])
def test_a_prior_starts_from_one_that_knows_the_same_words_or_others(place, data, capsys):
    train_prior("codec/best", data, out=f"from-{data}", preset=TOLD, init="prior/best")
    assert ("codes of an image, and its caption;" in capsys.readouterr().err) == (data == "set.npy")
    assert load(f"from-{data}/best", "cpu").words.length == (4 if data == "set.npy" else 0)


def test_groups_of_similar_pictures_are_captions_too(place):
    grouped = replace(TOLD, images=replace(IMAGES, captions="clusters:3"))
    train_prior("codec/best", "plain.npy", out="grouped", preset=grouped)
    model = load("grouped/best", "cpu")
    assert set(model.words.vocabulary.words) <= {"cluster0", "cluster1", "cluster2"}
    assert model.sample(1, "cluster1", steps=2)[0].size == (16, 16)


@pytest.mark.parametrize("prompt", ["red house", "", None])
def test_an_autoregressive_prior_takes_prompts(place, prompt):
    if not Path("causal").exists():
        causal = replace(TOLD, prior=replace(PRIOR.prior, kind="autoregressive"))
        train_prior("codec/best", "set.npy", out="causal", preset=causal)
    model = load("causal/best", "cpu")
    drawn = model.sample(1, prompt, settings="paper", guidance=2)
    assert drawn[0].size == (16, 16)
    assert len(model.classify(drawn, ["red house", "dark tree"], by="picture")[0]) == 2
    with pytest.raises(ConfigError, match="--by picture"):
        model.classify(drawn, ["red house", "dark tree"])


def test_a_model_without_words_says_so(place):
    if not Path("plain").exists():
        train_prior("codec/best", "plain.npy", out="plain", preset=TOLD)
    model = load("plain/best", "cpu")
    assert "words" not in model.about
    assert model.settings("sample") == Settings(steps=64, temperature=0.9, remask=1.0)
    assert model.sample(1, steps=2)[0].size == (16, 16)
    with pytest.raises(ConfigError, match="trained without captions"):
        model.sample(1, "red house")
    with pytest.raises(ConfigError, match="leave out --by-label"):
        sweep.evaluate(model, "plain.npy", by_label=True)


@pytest.fixture
def named(place):
    """The same pictures, ten of them under two words each, ten under words that nobody knows."""
    np.save("named.npy", np.load("set.npy"))
    captions = [" ".join(pair) for pair in combinations(["dark", "house", "noon", "red", "tree"], 2)]
    Path("named.txt").write_text("\n".join([*captions, *(caption[::-1] for caption in captions)]))
    return "named.npy"


@pytest.fixture
def equipped(fetched, place):
    """Weights in reach of the cache folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("UNMASK_CACHE")
        found = {name: weights.path(name) for name in ("inception", "lpips-alex") if fetched(name)}
    for name, path in found.items():
        (place / "cache/weights").mkdir(exist_ok=True)
        (place / f"cache/weights/{name}.safetensors").symlink_to(path)


@pytest.mark.slow
@pytest.mark.usefixtures("equipped")
def test_samples_are_looked_for_among_pictures_of_other_captions(named, capsys):
    words = ["--split", "train", "--count", "5", "--candidates", "5", "--samples", "2", "--steps", "2"]
    run_command(["retrieve", "prior/best", named, *words])
    said = capsys.readouterr().out
    assert "5 captions" in said
    assert "20.0%" in said  # chance
    found = json.loads(Path("retrieval/results.json").read_text())
    assert 0 <= found["inception"] <= 1
    assert 0 <= found["lpips_error"] <= 1
    asked = json.loads(Path("retrieval/samples/samples.json").read_text())["prompt"]
    assert len(asked) == 5
    assert set(asked) <= set(Path("named.txt").read_text().splitlines()[:10])
    assert len(list(Path("retrieval/samples").glob("*.png"))) == 10


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["prior/best", "--candidates", "11"], "of known words"),
        (["prior/best", "--candidates", "3", "--count", "2"], "--candidates 3 must not be above --count 2"),
        (["prior/best", "--samples", "0"], "must be at least"),
        (["codec/best"], "no prior"),
    ],
)
def test_a_mistake_about_retrieval_is_one_sentence(named, words, sentence):
    model, *others = words
    with pytest.raises(UnmaskError, match=sentence):
        run_command(["retrieve", model, named, "--split", "train", *others])


def seen(images):
    """What stands in for Inception: means of a few parts."""
    return images.float().unfold(2, 4, 4).mean((3, 4)).flatten(1)


def test_samples_of_a_label_are_compared_with_its_pictures(model, monkeypatch, capsys):
    monkeypatch.setattr(sweep, "inception_features", lambda device: Extractor("means", seen))
    words = ["--count", "40", "--metrics", "kid", "--steps", "2", "--replicates", "0", "--out", "by-label"]
    run_command(["evaluate", "prior/best", "set.npy", *words, "--split", "all", "--by-label"])
    rows = {
        row.get("label"): row["kid"]
        for row in json.loads(Path("by-label/results.json").read_text())["results"]
    }
    assert set(rows) == {None, "red house, noon", "dark tree"}
    assert "label" in capsys.readouterr().out
    captions = model.words.drawn(range(40), seed=0)
    numbers = [number for number, caption in enumerate(captions) if caption == "dark tree"]
    (folder,) = Path("by-label/samples").iterdir()
    drawn = [Image.open(folder / f"{number:06d}.png") for number in numbers]
    real, fake = np.load("set.npy")[1::2], np.stack([np.asarray(one) for one in drawn])
    features = [seen(torch.from_numpy(pixels).permute(0, 3, 1, 2)) for pixels in (real, fake)]
    wanted = kid(pairs_of(features[0]), features[1], replicates=0).value
    assert rows["dark tree"] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["prior/best", "set.npy", "--what", "validation"], "labels are those of samples"),
        (["prior/best", "set.npy", "--count", "9"], "no label has 10 images"),
        (["codec/best", "set.npy"], "no prior"),
    ],
)
def test_a_mistake_about_labels_is_one_sentence(words, sentence):
    with pytest.raises(UnmaskError, match=sentence):
        run_command(["evaluate", *words, "--by-label", "--steps", "2", "--out", "mistaken"])
