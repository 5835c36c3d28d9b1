"""Settings go into the model that they were found for."""

from dataclasses import replace

import pytest
import torch

from unmask.cli import tune
from unmask.diffusion.settings import Settings
from unmask.distributed import ALONE
from unmask.errors import BundleError
from unmask.storage import bundles
from unmask.storage.bundles import Bundle, Part
from unmask.sweeps import tune as tuning
from unmask.sweeps.tune import Tuning


@pytest.fixture
def model(tmp_path):
    part = Part({}, {"weight": torch.zeros(2)})
    bundles.save(Bundle(part, part), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def searching(monkeypatch):
    """A search that finds 8 steps best, while something happens to the model."""

    def search(happens):
        row = {"steps": 8, "kid": 0.1, "precision": 0.5, "coverage": 0.5, "seconds": 0.1}

        def found(*given, **more):
            happens()
            return Tuning([row], row, [Settings(steps=8)])

        monkeypatch.setattr(tune, "load_shared", lambda *given: (None, ALONE))
        monkeypatch.setattr(tune, "show_plot", lambda plot: None)
        monkeypatch.setattr(tuning, "tune", found)

    return search


def retrained(model):
    bundle = bundles.load(model)
    bundles.save(replace(bundle, prior=Part({}, {"weight": torch.ones(2)})), model)


def test_settings_are_kept_in_the_model(model, searching):
    searching(lambda: None)
    tune.main([str(model), "photos"])
    assert bundles.load(model).sampling["recommended"]["sample"] == {"steps": 8}


def test_a_model_that_was_replaced_during_the_search_stays_as_it_is(model, searching):
    searching(lambda: retrained(model))
    with pytest.raises(BundleError, match="has other weights than when the search began"):
        tune.main([str(model), "photos"])
    assert bundles.load(model).sampling == {}


def test_a_copy_has_the_weights_that_were_tuned(model, searching, tmp_path):
    tuned = bundles.load(model).prior.fingerprint
    searching(lambda: retrained(model))
    tune.main([str(model), "photos", "--save", str(tmp_path / "copy")])
    copy = bundles.load(tmp_path / "copy")
    assert (copy.prior.fingerprint, copy.sampling["recommended"]["budgets"]) == (tuned, [{"steps": 8}])
