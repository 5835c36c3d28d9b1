"""How good is it, from the command line: sweeps, neighbours, likelihoods in pixels, and their mistakes."""

import csv
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from unmask.evaluation.features import features_of, inception_features
from unmask.evaluation.kid import kid, pairs_of
from unmask.pipeline import load
from unmask.storage.seals import sealed
from unmask.third_party import weights

SWEEP = ["--count", "12", "--temperature", "0.5,1", "--metrics", "kid,prdc,diversity", "--replicates", "4"]


@pytest.fixture(scope="module")
def equipped(trained, fetched):
    """The trained models, and the weights of Inception and LPIPS in reach."""
    fetched("inception"), fetched("lpips-alex")
    cache = trained.folder / "cache/weights"
    cache.mkdir(parents=True, exist_ok=True)
    for name in ("inception", "lpips-alex"):
        (cache / f"{name}.safetensors").symlink_to(weights.path(name))
    return trained


@pytest.fixture(scope="module")
def swept(equipped):
    """What a sweep says and leaves."""
    said = equipped("evaluate", "prior/best", "discs.npy", *SWEEP, "--steps", "2,all", "--out", "swept")
    return said, equipped.folder / "swept"


def results(folder):
    return json.loads((folder / "results.json").read_text())


def test_a_sweep_is_a_table_a_csv_a_json_and_a_plot(swept):
    said, folder = swept
    for heading in ("steps", "temperature", "kid", "recall", "coverage", "code perplexity", "real"):
        assert heading in said
    assert "at most 12 samples × " in said
    assert "--split validation" in said
    content = results(folder)
    count = content["protocol"]["reference_pictures"]
    assert 30 < count < 40
    assert f"12 samples against {count} images of discs.npy (train split), 16×16; 8 bits a channel" in said
    assert content["protocol"]["features"].startswith("inception-")
    settings = [(row["steps"], row["temperature"]) for row in content["results"]]
    assert settings == [(2, 0.5), (2, 1.0), (None, 0.5), (None, 1.0)]
    for row in content["results"]:
        assert 0 <= row["precision"] <= 1
        assert row["kid_error"] > 0
    assert content["real"]["code_perplexity"] >= 1
    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [float(row["coverage"]) for row in rows] == [row["coverage"] for row in content["results"]]
    with Image.open(folder / "results.png") as plot:
        assert plot.width > 400


def test_what_is_there_is_not_computed_again(equipped, swept):
    """Lost figures are measured again from the samples that are there, and come out the same."""
    folder = equipped.folder / "again"
    shutil.copytree(swept[1], folder)
    drawn = {path: path.stat().st_mtime_ns for path in folder.rglob("*.png") if path.parent != folder}
    assert len(drawn) == 4 * 12
    content = results(folder)
    content["results"] = content["results"][:2]
    del content["checksum"]
    (folder / "results.json").write_text(json.dumps(sealed(content)))
    equipped("evaluate", "prior/best", "discs.npy", *SWEEP, "--steps", "2,all", "--out", "again")
    assert results(folder) == results(swept[1])
    assert all(path.stat().st_mtime_ns == time for path, time in drawn.items())


def test_tuned_settings_are_in_the_model_and_are_taken_by_the_number_of_steps(equipped):
    words = ["--steps", "2,4", "--temperature", "0.5,1", "--remask", "0", "--schedule", "even"]
    words += ["--order", "random", "--settings", "paper"]
    words += ["--count", "8", "--out", "tuning", "--save", "tuned"]
    said = equipped("tune", "prior/best", "discs.npy", *words)
    rows = results(equipped.folder / "tuning")["results"]
    assert sorted((row["steps"], row["temperature"]) for row in rows) == [(2, 0.5), (2, 1), (4, 0.5), (4, 1)]
    for heading in ("kid", "precision", "coverage", "seconds", "the last row is the paper's chain"):
        assert heading in said
    assert (equipped.folder / "tuning/tuning.png").exists()
    model = load(equipped.folder / "tuned", "cpu")
    assert [each["steps"] for each in model.sampling["recommended"]["budgets"]] == [2, 4]
    best, other = sorted((row for row in rows if row["steps"] == 4), key=lambda row: row["kid"])
    close = other["kid"] <= best["kid"] + best["kid_error"]
    wanted = {best["temperature"], other["temperature"]} if close else {best["temperature"]}
    assert model.settings("sample", steps=4).temperature in wanted


def test_statistics_take_the_place_of_pictures(equipped):
    equipped("fid", "discs.npy", "--size", "16", "--features", "--save", "discs.safetensors")
    words = ["--count", "12", "--steps", "2", "--metrics", "kid,prdc", "--replicates", "4", "--out"]
    said = equipped("evaluate", "prior/best", "--reference", "discs.safetensors", *words, "by-file")
    equipped("evaluate", "prior/best", "discs.npy", "--split", "all", *words, "by-pictures")
    assert "images of discs.safetensors (all images), 16×16" in said
    (by_file,), (by_pictures,) = (
        results(equipped.folder / name)["results"] for name in ("by-file", "by-pictures")
    )
    for name in ("kid", "precision", "recall", "density", "coverage"):
        assert by_file[name] == pytest.approx(by_pictures[name], rel=1e-4, abs=1e-6), name


def test_metrics_that_are_asked_for_later_are_added(equipped, swept):
    folder = equipped.folder / "more"
    shutil.copytree(swept[1], folder)
    words = ["--count", "12", "--temperature", "0.5", "--steps", "2", "--replicates", "4", "--out", "more"]
    said = equipped("evaluate", "prior/best", "discs.npy", *words, "--metrics", "fid")
    assert "caution: FID over 12 images comes out too high" in said
    first = results(folder)["results"][0]
    assert first["fid"] > 0
    assert first | results(swept[1])["results"][0] == first


def test_reconstructions_are_evaluated_and_carry_the_caution(equipped):
    np.save(equipped.folder / "few.npy", np.load(equipped.folder / "discs.npy")[:8])
    words = ["--what", "reconstructions", "--split", "all", "--metrics", "fid", "--out", "copies"]
    said = equipped("evaluate", "codec/best", "few.npy", *words, "--replicates", "0")
    assert "8 reconstructions against 8 images of few.npy (all images)" in said
    (row,) = results(equipped.folder / "copies")["results"]
    measured = equipped("reconstruct", "codec/best", "few.npy", "--split", "all")
    assert f"{row['fid']:.4g}" in measured
    assert "8 reconstructions against 8 images" in measured
    for words in (said, measured):
        assert "caution: FID over 8 images comes out too high" in words


def test_held_out_pictures_show_what_samples_could_reach(equipped):
    """They are as far from the training pictures as real pictures are, by the features of both."""
    words = ["--what", "validation", "--metrics", "kid", "--replicates", "0", "--out", "real"]
    said = equipped("evaluate", "prior/best", "discs.npy", *words)
    model = load(equipped.folder / "prior/best", "cpu")
    data = str(equipped.folder / "discs.npy")
    train, held_out = (model.open(data, side) for side in ("train", "validation"))
    assert f"{len(held_out)} validation images against {len(train)} images of discs.npy" in said
    train_features, features = (
        features_of(pixels, inception_features(torch.device("cpu"))) for pixels in (train, held_out)
    )
    (row,) = results(equipped.folder / "real")["results"]
    wanted = kid(pairs_of(train_features), features, replicates=0).value
    assert row["kid"] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--metrics", "fid,beauty"], "there is no metric 'beauty'"),
        (["--steps", "many"], "'many' is no value of steps"),
        (["--schedule", "slow"], "there is no schedule 'slow'"),
        (["--count", "1"], "--count must be at least 2"),
        (
            ["--what", "validation", "--split", "all"],
            "validation images are compared with those of the training",
        ),
        (
            ["--count", "3", "--metrics", "prdc", "--steps", "2"],
            "3 images are too few: 3 nearest neighbours",
        ),
    ],
)
def test_a_mistake_in_an_evaluation_is_one_sentence(equipped, words, sentence):
    assert sentence in equipped("evaluate", "prior/best", "discs.npy", *words, "--out", "mistaken", code=2)


def test_results_of_another_model_are_not_mixed_in(equipped, swept):
    words = ["--steps", "2,all", "--out", "swept"]
    said = equipped("evaluate", "autoregressive/best", "discs.npy", *SWEEP, *words, code=2)
    assert "swept holds results that differ in model" in said


def test_without_weights_the_command_to_fetch_them_is_named(shell, model, pictures):
    assert "unmask weights get inception" in shell("evaluate", model, pictures, code=2)
    assert "unmask weights get lpips-alex" in shell("neighbours", model, pictures, code=2)


@pytest.mark.parametrize("by", ["lpips", "pixels"])
def test_neighbours_are_shown_and_memorisation_is_tested(equipped, by):
    words = ["--by", by, "--samples", "4", "--count", "3", "--steps", "4", "--csv", f"{by}.csv"]
    said = equipped("neighbours", "prior/best", "discs.npy", *words, "--out", f"{by}.png")
    assert "a sample is nearer than a validation image with probability" in said
    rows = list(csv.DictReader((equipped.folder / f"{by}.csv").read_text().splitlines()))
    assert len(rows) == 4 * 3
    assert [row["rank"] for row in rows[:3]] == ["1", "2", "3"]
    distances = [float(row["distance"]) for row in rows[:3]]
    assert distances == sorted(distances)
    with Image.open(equipped.folder / f"{by}.png") as sheet:
        assert sheet.size == (4 * 52 + 4, 4 * 64)


def test_pictures_of_the_training_are_found_to_be_copies(equipped):
    np.save(equipped.folder / "copies.npy", np.load(equipped.folder / "discs.npy"))
    words = ["--pictures", "copies.npy", "--by", "pixels", "--out", "copies.png"]
    said = equipped("neighbours", "codec/best", "discs.npy", *words)
    assert "median 0 of 40 samples" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--count", "0"], "1 of each is the least"),
        (
            ["--count", "99", "--by", "pixels", "--samples", "1", "--steps", "1"],
            "images have no 99 nearest",
        ),
        (["--out", "sheet.jpg"], "does not end in .png"),
        (["--csv", "nowhere/distances.csv"], "there is no folder nowhere"),
        (["--pictures", "nowhere"], "nowhere does not exist"),
    ],
)
def test_a_mistake_about_neighbours_is_one_sentence(equipped, words, sentence):
    assert sentence in equipped("neighbours", "prior/best", "discs.npy", *words, code=2)


def test_pixels_are_scored_with_a_map_and_a_file(trained):
    words = ["--split", "all", "--draws", "4", "--pixels", "--fit-steps", "8"]
    said = trained("score", "prior/best", "discs.npy", *words, "--map", "map.png", "--csv", "bits.csv")
    assert "bits per dimension at 8 bits" in said
    rows = list(csv.DictReader((trained.folder / "bits.csv").read_text().splitlines()))
    assert len(rows) == 40
    for row in rows:
        whole = float(row["bits_per_dim"])
        assert float(row["pixel_bits_per_dim"]) + float(row["code_bits_per_dim"]) == pytest.approx(
            whole, abs=2e-6
        )
        assert float(row["code_bits_per_dim"]) == pytest.approx(
            float(row["bits_per_code"]) * 16 / 768, abs=2e-6
        )
    mean = float(said.split("at most ")[2].split()[0])
    assert mean == pytest.approx(np.mean([float(row["bits_per_dim"]) for row in rows]), abs=1e-4)
    with Image.open(trained.folder / "map.png") as sheet:
        assert sheet.size == (4 * 18 - 2, 8 * 18 - 2)
    coarse = trained("score", "prior/best", "discs.npy", *words, "--bits", "5")
    assert float(coarse.split("at most ")[2].split()[0]) < mean - 0.5


def test_a_map_of_codes_needs_no_pixels(trained):
    trained("score", "autoregressive/best", "discs.npy", "--map", "codes.png")
    with Image.open(trained.folder / "codes.png") as sheet:
        assert sheet.width == 3 * 18 - 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--draws", "0"], "--draws and --fit-steps must be at least 1"),
        (["--map", "map.jpg"], "does not end in .png"),
        (["--csv", "nowhere/bits.csv"], "there is no folder nowhere"),
        (["--pixels", "--fit", "nowhere"], "nowhere does not exist"),
    ],
)
def test_a_mistake_about_scores_is_one_sentence(trained, words, sentence):
    assert sentence in trained("score", "prior/best", "discs.npy", *words, code=2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--count", "0"], "--count 0 must be at least 1"),
        (["--out", "copies.jpg"], "does not end in .png"),
        (["--out", "nowhere/copies.png"], "there is no folder nowhere"),
    ],
)
def test_a_mistake_about_reconstructions_is_one_sentence(trained, words, sentence):
    assert sentence in trained("reconstruct", "codec/best", "discs.npy", *words, code=2)


def test_a_single_picture_is_reconstructed(equipped):
    picture = Image.fromarray(np.load(equipped.folder / "discs.npy")[0])
    picture.resize((40, 20)).save(equipped.folder / "one.png")
    said = equipped("reconstruct", "codec/best", "one.png", "--out", "single.png")
    assert "psnr" in said
    assert "fid" not in said
    with Image.open(equipped.folder / "single.png") as sheet:
        assert sheet.size == (16, 34)
