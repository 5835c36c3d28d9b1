"""Figures are kept whole, never mixed, and drawn in order."""

import json
import math
from dataclasses import replace

import pytest

from unmask.diffusion.settings import Settings
from unmask.errors import DataError
from unmask.evaluation.estimate import Estimate
from unmask.evaluation.protocol import Protocol
from unmask.evaluation.results import Results, _lines, samples_folder, settings_label

PROTOCOL = Protocol(
    what="samples",
    pictures=100,
    reference="photos",
    split="train",
    reference_pictures=500,
    size_px=64,
    features="inception",
)
OPTIONS = {"seed": 0}


def sampling(steps, temperature=1.0):
    return Settings(steps=steps, temperature=temperature)


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path / "out", "a model", PROTOCOL, OPTIONS)
    for steps, fid in ((16, 20.123), (None, 10.0)):
        results.add(sampling(steps), {"fid": Estimate(fid, 0.61), "kid": Estimate(0.01, math.nan)})
    return results


def test_what_was_added_is_taken_over(results):
    results.add_real({"code_perplexity": Estimate(7.5, math.nan)})
    again = Results(results.folder, "a model", PROTOCOL, OPTIONS)
    assert again.rows == results.rows
    assert again.real == {"code_perplexity": 7.5}
    assert again.missing(["fid", "prdc", "kid"], sampling(16)) == ["prdc"]
    assert again.missing(["fid", "kid"], sampling(16, 0.5)) == ["fid", "kid"]
    assert len(again.rows) == 2  # looking adds nothing


def test_metrics_of_labels_are_taken_over(results):
    results.add(sampling(16), {"fid": Estimate(30.5, 0.2)}, label="cats")
    again = Results(results.folder, "a model", PROTOCOL, OPTIONS)
    assert again.rows == results.rows
    assert again.row(sampling(16), "cats")["fid"] == 30.5
    assert again.row(sampling(16))["fid"] == 20.123


def test_a_row_gathers_the_figures_of_its_settings(results):
    results.add(sampling(16), {"precision": Estimate(0.5, 0.1)})
    settings = sampling(16).of("sample")
    figures = {"fid": 20.123, "fid_error": 0.61, "kid": 0.01, "precision": 0.5, "precision_error": 0.1}
    assert results.rows[0] == settings | figures
    assert len(results.rows) == 2


def test_pictures_that_no_sampler_has_made_have_a_row_without_settings(tmp_path):
    results = Results(tmp_path, "a model", PROTOCOL, OPTIONS)
    assert results.missing(["kid"], None) == ["kid"]
    results.add(None, {"kid": Estimate(0.01, math.nan)})
    assert results.rows == [{"kid": 0.01}]
    assert not results.missing(["kid"], None)


def test_samples_are_kept_under_the_name_of_their_setting(tmp_path):
    assert samples_folder(tmp_path, sampling(None)) == (
        tmp_path / "samples/even-random-all-steps-temperature-1.0"
    )
    other = Settings(steps=50, temperature=0.9, schedule="cosine", order="halton")
    assert settings_label(other) == "cosine halton 50 steps temperature 0.9"
    assert settings_label(replace(other, remask=0.3)) == "cosine halton 50 steps temperature 0.9 remask 0.3"


def test_results_from_before_remasking_could_be_swept_are_taken_over(results):
    path = results.folder / "results.json"
    content = json.loads(path.read_text())
    del content["checksum"]
    for row in content["results"]:
        del row["remask"]
    path.write_text(json.dumps(content))
    assert Results(results.folder, "a model", PROTOCOL, OPTIONS).rows == results.rows


@pytest.mark.parametrize("once", ["held-out pictures", "validation pictures"])
def test_results_of_validation_images_are_known_by_their_former_names(tmp_path, once):
    older, newer = (replace(PROTOCOL, what=what) for what in (once, "validation images"))
    Results(tmp_path, "a model", older, OPTIONS).add(None, {"kid": Estimate(0.01, math.nan)})
    assert Results(tmp_path, "a model", newer, OPTIONS).rows == [{"kid": 0.01}]


def test_remasking_alone_is_plotted_too(tmp_path):
    results = Results(tmp_path, "a model", PROTOCOL, OPTIONS)
    for remask in (0.0, 0.3):
        results.add(replace(sampling(16), remask=remask), {"fid": Estimate(20.0, 0.6)})
    assert results.plot(["fid"])


@pytest.mark.parametrize(
    ("model", "protocol", "options", "what"),
    [
        ("another", PROTOCOL, OPTIONS, "model"),
        ("a model", replace(PROTOCOL, pictures=99), OPTIONS, "protocol"),
        ("another", PROTOCOL, {"seed": 1}, "model and options"),
    ],
)
def test_results_that_do_not_compare_are_not_mixed(results, model, protocol, options, what):
    with pytest.raises(DataError, match=f"differ in {what}"):
        Results(results.folder, model, protocol, options)


def test_a_damaged_file_and_a_place_that_is_no_folder_are_one_sentence_each(results):
    (results.folder / "results.json").write_text("{")
    with pytest.raises(DataError, match=r"results\.json is damaged"):
        Results(results.folder, "a model", PROTOCOL, OPTIONS)
    with pytest.raises(DataError, match="cannot hold results: File exists"):
        Results(results.folder / "results.json", "a model", PROTOCOL, OPTIONS)


@pytest.mark.parametrize("old", ["20.123", "0.61", '"kid"'])
def test_a_number_that_was_changed_is_noticed(results, old):
    path = results.folder / "results.json"
    text = path.read_text()
    path.write_text(text.replace(old, old.translate(str.maketrans("16k", "29r"))))
    with pytest.raises(DataError, match=r"results\.json is damaged"):
        Results(results.folder, "a model", PROTOCOL, OPTIONS)


@pytest.mark.parametrize("rows", [[[]], [5], [None], [{"fid": "low"}], [{"fid": {}}], {}, 7])
def test_older_results_of_another_shape_are_refused(results, rows):
    path = results.folder / "results.json"
    content = json.loads(path.read_text())
    del content["checksum"]
    path.write_text(json.dumps(content | {"results": rows or 7}))
    with pytest.raises(DataError, match=r"results\.json is damaged"):
        Results(results.folder, "a model", PROTOCOL, OPTIONS)


def test_the_json_says_how_figures_came_about(results):
    content = json.loads((results.folder / "results.json").read_text())
    assert content["protocol"]["reference_pictures"] == 500
    assert content["options"] == OPTIONS
    assert "FID over 100 images" in content["caution"]


def test_a_sweep_is_plotted_and_a_single_setting_is_not(results, tmp_path):
    path = results.plot(["fid", "kid"])
    assert path == results.folder / "results.png"
    assert path.stat().st_size > 1000
    single = Results(tmp_path / "single", "a model", PROTOCOL, OPTIONS)
    single.add(sampling(16), {"fid": Estimate(20.0, 0.6)})
    assert single.plot(["fid"]) is None
    assert not (single.folder / "results.png").exists()


def test_settings_are_plotted_from_the_least_to_the_most():
    """A temperature of 0 is the least; steps that are not named are as many as there can be."""
    for along, settings in (("temperature", [1.0, 0.0, 0.5]), ("steps", [None, 50, 16])):
        rows = [{"steps": 16, "temperature": 1.0, "fid": 1.0} | {along: setting} for setting in settings]
        ((_, points),) = _lines(rows, along, [], "fid").items()
        wanted = ["0.0", "0.5", "1.0"] if along == "temperature" else ["16", "50", "all"]
        assert [setting for setting, _, _ in points] == wanted
