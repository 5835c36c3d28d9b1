"""Results are kept whole, never mixed, and shown with their protocol."""

import json
import sys
from dataclasses import replace

import pytest

from unmask.cli.results import Results, _lines, plot
from unmask.errors import DataError
from unmask.metrics.protocol import Protocol

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


def row(steps, temperature, **figures):
    return {"steps": steps, "temperature": temperature, "schedule": "even", "order": "random"} | figures


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path / "out", "a model", PROTOCOL, OPTIONS)
    for steps, fid in ((16, 20.123), (None, 10.0)):
        results.row(row(steps, 1.0)).update(fid=fid, fid_error=0.61, kid=0.01)
    results.save()
    return results


def test_what_was_saved_is_taken_over(results):
    again = Results(results.folder, "a model", PROTOCOL, OPTIONS)
    assert again.rows == results.rows
    assert again.row(row(16, 1.0))["fid"] == 20.123
    assert "fid" not in again.row(row(16, 0.5))
    assert len(again.rows) == 3


@pytest.mark.parametrize(
    ("model", "protocol", "options", "what"),
    [
        ("another", PROTOCOL, OPTIONS, "model"),
        ("a model", replace(PROTOCOL, pictures=99), OPTIONS, "protocol"),
        ("another", PROTOCOL, {"seed": 1}, "model and options"),
    ],
)
def test_results_that_do_not_compare_are_not_mixed(results, model, protocol, options, what):
    with pytest.raises(DataError, match=f"holds results that differ in {what}; figures would not compare"):
        Results(results.folder, model, protocol, options)


def test_a_damaged_file_and_a_place_that_is_no_folder_are_one_sentence_each(results):
    (results.folder / "results.json").write_text("{")
    with pytest.raises(DataError, match=r"results\.json is damaged"):
        Results(results.folder, "a model", PROTOCOL, OPTIONS)
    with pytest.raises(DataError, match="cannot hold results: File exists"):
        Results(results.folder / "results.json", "a model", PROTOCOL, OPTIONS)


def test_the_json_says_how_figures_came_about(results):
    content = json.loads((results.folder / "results.json").read_text())
    assert content["protocol"]["reference_pictures"] == 500
    assert content["options"] == OPTIONS
    assert "FID over 100 pictures" in content["caution"]


def test_the_table_is_whole_on_any_terminal_and_cautions(results, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    results.show(["fid", "kid", "recall"])
    said = capsys.readouterr().out
    assert "20.12 ± 0.61" in said
    assert "0.01" in said
    assert "–" in said  # recall was not measured
    assert " all " in said
    assert "100 samples against 500 pictures of photos (train split)" in said
    assert "caution: FID over 100 pictures" in said
    results.show(["kid"])
    assert "caution" not in capsys.readouterr().out


def test_a_sweep_is_plotted_and_a_single_setting_is_not(results, tmp_path):
    assert plot(results.rows, ["fid", "kid"], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
    assert not plot(results.rows[:1], ["fid"], tmp_path / "no.png")
    assert not (tmp_path / "no.png").exists()


def test_settings_are_plotted_from_the_least_to_the_most():
    """A temperature of 0 is the least; steps that are not named are as many as there can be."""
    for along, settings in (("temperature", [1.0, 0.0, 0.5]), ("steps", [None, 50, 16])):
        rows = [{"steps": 16, "temperature": 1.0, "fid": 1.0} | {along: setting} for setting in settings]
        ((_, points),) = _lines(rows, along, [], "fid").items()
        wanted = ["0.0", "0.5", "1.0"] if along == "temperature" else ["16", "50", "all"]
        assert [setting for setting, _, _ in points] == wanted


def test_without_matplotlib_there_is_a_sentence_and_no_plot(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not plot(results.rows, ["fid"], tmp_path / "plot.png")
    assert "matplotlib is not installed:  pip install 'unmask[plot]'" in capsys.readouterr().out
