"""Plots show what was found, whatever kind it is of."""

import pytest
from PIL import Image

from unmask.reproduce.page import page
from unmask.reproduce.plots import plot

CURVE = [{"step": step, "bits": 4 - step / 10, "standard_error": 0.1, "seconds": step} for step in (1, 2, 3)]
FOUND = {
    "losses": {"reweighted": CURVE[-1] | {"curve": CURVE}, "elbo": CURVE[0] | {"curve": CURVE}},
    "adversarial": {
        name: {"fid": fid, "fid_error": 1.0, "seconds": 1, "lambda": [[1, 0.1], [2, 0.5]]}
        for name, fid in (("both", 3.0), ("default", 5.0))
    },
    "likelihood": {"5 bits": {"bits_per_dimension": 2.0, "seconds": 1}},
}


@pytest.fixture
def results():
    arms = {
        claim: {seed: {arm: f"{claim} {arm}" for arm in arms} for seed in "01"}
        for claim, arms in FOUND.items()
    }
    steps = {
        f"{claim} {arm}": {"typed": "unmask demo", "inputs": [], "found": found}
        for claim, arms in FOUND.items()
        for arm, found in arms.items()
    }
    return {"scale": "quick", "arms": arms, "steps": steps}


@pytest.mark.parametrize("claim", FOUND)
def test_a_claim_of_which_something_was_found_has_a_plot_that_the_page_shows(results, claim, tmp_path):
    plot(results, tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == {f"paper-{claim}" for claim in FOUND}
    with Image.open(tmp_path / f"paper-{claim}.png") as picture:
        assert len(picture.convert("RGB").getcolors(10**6)) > 10
    assert f"](paper-{claim}.png)" in page(results)
