"""The search for settings, over a landscape that is known."""

from dataclasses import replace

import pytest
import torch

from tests.untrained import untrained
from unmask.cli import tune as command
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError
from unmask.pipeline import Pipeline
from unmask.sweeps import tune as tuning
from unmask.sweeps.tune import Tuning, near_best, tune

BEST = {
    4: Settings(steps=4, temperature=0.7, remask=1.0),
    8: Settings(steps=8, temperature=0.9, order="halton"),
}


def kid(settings):
    """Lowest at the best settings, and the higher the more of them differ."""
    best = BEST[settings.steps].of("sample")
    return sum(best[name] != value for name, value in settings.of("sample").items()) / settings.steps


class Landscape:
    """Stands in for ``evaluate``: remembers what was asked, and answers at once."""

    def __init__(self):
        self.asked, self.measured = [], []

    def __call__(self, model, data, *, settings, split, seed, **others):
        sweep = {name: values for name, values in others.items() if isinstance(values, list)}
        self.asked.append((data, split, seed))
        self.measured += [replace(settings, **{name: v}) for name in sweep for v in sweep[name]] or [settings]
        return self

    def row(self, settings):
        return settings.of("sample") | {"kid": kid(settings), "precision": 0.5, "coverage": 0.5}


@pytest.fixture
def landscape(monkeypatch):
    landscape = Landscape()
    monkeypatch.setattr(tuning, "evaluate", landscape)
    monkeypatch.setattr(tuning, "_seconds", lambda model, settings, batch: settings.steps / 100)
    return landscape


def model(kind="absorbing"):
    return Pipeline(untrained(kind), torch.device("cpu"))


def test_the_best_settings_of_each_number_of_steps_are_found(landscape):
    found = tune(model(), "photos", steps=[8, 4])
    assert list(found.chosen) == [BEST[4], BEST[8]]
    assert [row["kid"] for row in found.rows] == [0, 0]
    assert [row["seconds"] for row in found.rows] == [0.04, 0.08]
    assert found.paper["kid"] == kid(Settings(steps=8))


def test_it_takes_the_training_pictures_and_a_seed_of_its_own(landscape):
    tune(model(), "photos", steps=[4])
    assert set(landscape.asked) == {("photos", "train", 1)}


def test_what_means_nothing_to_a_model_is_not_tried(landscape):
    tune(model(), "photos", steps=[4])
    assert {one.guidance for one in landscape.measured} == {1.0}  # it knows no words
    assert {one.schedule for one in landscape.measured} == {"even", "cosine"}  # it has no curve
    with pytest.raises(ConfigError, match="there are no steps to tune"):
        tune(model("autoregressive"), "photos")


def test_a_curve_without_points_plans_nothing(landscape):
    without_validation = model()
    without_validation.sampler.curve = {}
    tune(without_validation, "photos", steps=[4])
    assert {one.schedule for one in landscape.measured} == {"even", "cosine"}


def test_values_that_are_given_are_the_only_ones(landscape):
    tune(model(), "photos", steps=[4], temperature=[0.6], order=["raster"])
    assert {one.temperature for one in landscape.measured[3:-1]} == {0.6}  # remasking came first
    with pytest.raises(ConfigError, match="numbers of steps"):
        tune(model(), "photos", steps=[None])


def test_where_chance_may_have_decided_precision_and_coverage_do():
    def row(kid, coverage):
        return {"kid": kid, "kid_error": 0.01, "precision": 0.5, "coverage": coverage}

    rows = [row(0.020, 0.3), row(0.028, 0.4), row(0.031, 0.9)]
    assert near_best(rows) == rows[:2]
    assert tuning._best(rows) == rows[1]


def test_the_fewest_steps_that_are_as_good_become_the_recommended_ones():
    steps = [Settings(steps=n, temperature=t) for n, t in ((8, 0.7), (16, 0.8), (64, 0.9))]
    kids = [0.05, 0.021, 0.02]
    rows = [one.of("sample") | {"kid": k, "kid_error": 0.002} for one, k in zip(steps, kids, strict=True)]
    known = {
        "recommended": {"sample": {"steps": 5}, "canvas": {"steps": 7}},
        "mine": {"sample": {}},
    }
    sampling = Tuning(rows, rows[-1], steps).sampling(known)
    assert sampling["recommended"]["sample"] == {"steps": 16, "temperature": 0.8}
    assert sampling["recommended"]["canvas"] == {"steps": 7}
    assert sampling["recommended"]["budgets"][0] == {"steps": 8, "temperature": 0.7}
    assert sampling["mine"] == known["mine"]
    assert known["recommended"]["sample"] == {"steps": 5}


def test_a_model_that_others_share_is_left_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"stored in emoji.*\n.*--save FOLDER"):
        command.main(["emoji", "emoji-3d"])


def test_a_plot_has_quality_over_passes_and_over_seconds(tmp_path):
    settings = [Settings(steps=8), Settings(steps=16)]
    rows = [one.of("sample") | {"kid": 0.1, "seconds": 1.0} for one in settings]
    assert tuning.plot(Tuning(rows, rows[0], settings), tmp_path).read_bytes().startswith(b"\x89PNG")
