"""Statistics of sets: what comes from pictures, what a file keeps, and that both give the same metrics."""

import json
import math

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from unmask.cli.main import run_command
from unmask.errors import ConfigError, DataError
from unmask.evaluation import statistics
from unmask.evaluation.compare import compare
from unmask.evaluation.inception import Inception
from unmask.evaluation.statistics import load_statistics, statistics_of
from unmask.third_party import weights

pytestmark = pytest.mark.slow  # FID over 2048 features takes seconds


@pytest.fixture(scope="module")
def place(tmp_path_factory, fetched, photographs):
    """Two folders of crops of photographs, of several sizes, and a cache of their features."""
    fetched("inception")
    folder = tmp_path_factory.mktemp("sets")
    (folder / "cache/weights").mkdir(parents=True)
    (folder / "cache/weights/inception.safetensors").symlink_to(weights.path("inception"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNMASK_CACHE", str(folder / "cache"))
        for name, two, shift in (("a", photographs[:2], 0), ("b", photographs[1:3], 8)):
            (folder / name).mkdir()
            for number, (row, column) in enumerate(np.ndindex(3, 2)):
                for photograph, image in enumerate(two):
                    wide, high = 96 + 16 * number, 64 + 8 * photograph
                    top, left = 60 * row + shift, 50 * column + shift
                    crop = image[:, top : top + high, left : left + wide]
                    picture = Image.fromarray(crop.permute(1, 2, 0).numpy())
                    picture.save(folder / name / f"{number}-{photograph}.png")
        (folder / "b/broken.png").write_bytes(b"no picture")
        yield folder


@pytest.fixture(scope="module")
def both(place):
    return statistics_of([str(place / "a"), str(place / "b")])


@pytest.fixture(scope="module")
def files(place, both):
    """Statistics of b: mean and covariance alone, and with features."""
    paths = place / "moments.safetensors", place / "whole.safetensors"
    for path, features in zip(paths, (False, True), strict=True):
        both[1].save(path, features=features)
    return [str(path) for path in paths]


def test_whole_pictures_go_to_inception_at_their_own_sizes(place, both):
    network = Inception()
    for one, name in zip(both, "ab", strict=True):
        for number, path in enumerate(sorted((place / name).glob("?-?.png"))):
            image = torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1)[None]
            torch.testing.assert_close(one.features[[number]], network(image), rtol=1e-4, atol=1e-4)


def test_a_broken_picture_costs_that_picture(both):
    assert [(len(one), one.left_out) for one in both] == [(12, 0), (12, 1)]


def test_a_size_cuts_centre_squares(place):
    (small,) = statistics_of([str(place / "a")], size=32)
    picture = Image.open(place / "a/0-0.png").resize((32, 32), Image.Resampling.LANCZOS, (16, 0, 80, 64))
    wanted = Inception()(torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None])
    torch.testing.assert_close(small.features[:1], wanted, rtol=1e-4, atol=1e-4)


def textbook(a, b):
    """FID with the trace of the root as singular values of the centred features, few pictures by few."""
    a, b = a.double().numpy(), b.double().numpy()
    (mean_a, x), (mean_b, y) = (
        (each.mean(0), (each - each.mean(0)) / (len(each) - 1) ** 0.5) for each in (a, b)
    )
    root = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    return ((mean_a - mean_b) ** 2).sum() + (x**2).sum() + (y**2).sum() - 2 * root


def test_metrics_are_those_of_the_reference_packages(both, oracle):
    a, b = both
    values = {name: one.value for name, one in compare(a, b, ["fid", "kid", "prdc"], replicates=0).items()}
    assert values.pop("fid") == pytest.approx(textbook(a.features, b.features), rel=1e-6)
    kid = oracle("torchmetrics.image.kid").poly_mmd(b.features.double(), a.features.double()).item()
    assert values.pop("kid") == pytest.approx(kid, rel=1e-6)
    prdc = oracle("prdc").compute_prdc(b.features.double().numpy(), a.features.double().numpy(), 3)
    assert values == pytest.approx(prdc, abs=1e-6)
    assert 0 < values["precision"] < 1


def test_a_file_gives_the_metrics_of_its_pictures(place, both, files):
    a, b = both
    moments, whole = files
    (_, saved) = statistics_of([str(place / "a"), whole])
    metrics = ["fid", "kid", "prdc"]
    wanted = compare(a, b, metrics, replicates=3)
    found = compare(a, saved, metrics, replicates=3)
    assert found.keys() == wanted.keys()
    for name, value in found.items():
        assert value == pytest.approx(wanted[name], rel=1e-6), name
    (alone,) = statistics_of([moments])
    assert compare(a, alone, ["fid"], replicates=3)["fid"] == pytest.approx(wanted["fid"], rel=1e-6)
    assert saved.fingerprint == alone.fingerprint == b.fingerprint != a.fingerprint


def test_two_means_and_covariances_have_an_fid_without_a_standard_error(place, both, files):
    a, _ = both
    a.save(place / "a.safetensors", features=False)
    one, other = statistics_of([str(place / "a.safetensors"), files[0]])
    found = compare(one, other, ["fid"])["fid"]
    assert found.value == pytest.approx(compare(*both, ["fid"], replicates=0)["fid"].value, rel=1e-9)
    assert math.isnan(found.standard_error)


def test_what_a_file_cannot_serve_is_said(both, files):
    (alone,) = statistics_of([files[0]])
    with pytest.raises(ConfigError, match=r"mean and covariance, which serve fid; kid takes features"):
        compare(both[0], alone, ["fid", "kid"])
    with pytest.raises(ConfigError, match="diversity is measured on images"):
        compare(*both, ["diversity"])


def test_sizes_must_agree_and_files_settle_them(place, files):
    with pytest.raises(ConfigError, match=r"one size compare, and there are .*32 px"):
        statistics_of([str(place / "a"), files[0]], size=32)
    (small,) = statistics_of([str(place / "a")], size=32)
    small.save(place / "small.safetensors", features=False)
    _, again = statistics_of([str(place / "small.safetensors"), str(place / "a")])
    assert again.fingerprint == small.fingerprint


def test_features_are_computed_once(place, monkeypatch):
    monkeypatch.setattr(statistics, "decode", None)
    assert len(statistics_of([str(place / "b")])[0]) == 12


def test_a_damaged_or_foreign_file_is_one_sentence(place, files, tmp_path):
    data = bytearray((place / "moments.safetensors").read_bytes())
    data[-5] ^= 1
    (tmp_path / "damaged.safetensors").write_bytes(data)
    (tmp_path / "cut.safetensors").write_bytes(data[:1000])
    save_file({"mean": torch.zeros(3)}, tmp_path / "foreign.safetensors")
    for name, said in (("damaged", "damaged"), ("cut", "no statistics"), ("foreign", "no statistics")):
        with pytest.raises(DataError, match=said):
            load_statistics(tmp_path / f"{name}.safetensors")
    with pytest.raises(DataError, match="cannot be opened"):
        load_statistics(tmp_path / "absent.safetensors")


def test_the_command_prints_metrics_protocol_and_caution(place, both, monkeypatch, capsys):
    monkeypatch.chdir(place)
    run_command(["fid", "a", "b", "--replicates", "0"])
    said, warned = capsys.readouterr()
    for name, one in compare(*both, ["fid", "kid", "prdc"], replicates=0).items():
        assert f"{name}" in said
        assert f"{one.value:.4g}" in said
    assert "12 images of a against 12 images of b (all images), whole, at their own sizes" in said
    assert "caution: FID over 12 images" in said
    assert warned == "1 of b cannot be used; why:  unmask data b\n"


def test_the_command_prints_one_json_object(place, both, monkeypatch, capsys):
    monkeypatch.chdir(place)
    run_command(["fid", "a", "b", "--metrics", "fid,kid", "--replicates", "3", "--json"])
    said = json.loads(capsys.readouterr().out)
    values = compare(*both, ["fid", "kid"], replicates=3)
    assert (said["fid"], said["fid_error"]) == pytest.approx(values["fid"])
    assert said["kid"] == pytest.approx(values["kid"].value)
    assert said["protocol"]["size_px"] is None
    assert "12 images" in said["caution"]


def test_the_command_saves_statistics_that_it_compares_with(place, both, monkeypatch, capsys):
    monkeypatch.chdir(place)
    run_command(["fid", "b", "--save", "saved.safetensors"])
    assert "statistics of 12 images of b: saved.safetensors" in capsys.readouterr().out
    stored = load_file("saved.safetensors")
    assert stored.keys() == {"mean", "covariance"}
    assert torch.equal(stored["covariance"], both[1].moments.covariance())
    run_command(["fid", "a", "saved.safetensors", "--metrics", "fid", "--json", "--replicates", "0"])
    wanted = compare(*both, ["fid"], replicates=0)["fid"].value
    assert json.loads(capsys.readouterr().out)["fid"] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("a", "two sets to compare, or one and a file"),
        ("a b --save c.safetensors", "two sets to compare, or one and a file"),
        ("a --save c.npz", "does not end in .safetensors"),
        ("a b --metrics fid,quux", "no metric 'quux'"),
        ("a b --metrics diversity", "no metric 'diversity'"),
        ("a absent", "absent does not exist"),
        ("a empty", "empty holds no images"),
        ("a absent.safetensors", "absent.safetensors cannot be opened"),
        ("a moments.safetensors", "mean and covariance, which serve fid; kid takes features"),
        ("a b --size 0", "not a number of pixels"),
    ],
)
def test_mistakes_are_answered_before_anything_is_computed(place, files, monkeypatch, words, said):
    monkeypatch.chdir(place)
    monkeypatch.setattr(statistics, "_look", None)
    (place / "empty").mkdir(exist_ok=True)
    with pytest.raises((ConfigError, DataError), match=said):
        run_command(["fid", *words.split()])


def test_the_hint_names_metrics_of_sets_alone(place, monkeypatch):
    monkeypatch.chdir(place)
    with pytest.raises(ConfigError, match=r"such as:  --metrics fid,kid,prdc$"):
        run_command(["fid", "a", "b", "--metrics", "quux"])


def test_a_built_in_set_is_not_taken_for_the_model_of_that_name(place, monkeypatch):
    monkeypatch.chdir(place)
    (place / "empty").mkdir(exist_ok=True)
    with pytest.raises(DataError, match="empty holds no images"):
        run_command(["fid", "empty", "emoji"])
