"""The page follows from the results, so that nobody edits a verdict by hand."""

import json
import re
import runpy
from pathlib import Path

import pytest

from unmask.errors import ConfigError
from unmask.reproduce.arms import to_equal_bound
from unmask.reproduce.bench import clock, learnt
from unmask.reproduce.claims import CLAIMS, claims_named
from unmask.reproduce.manifest import SCALES, Lab
from unmask.reproduce.page import page, seeds_of

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_in_the_documentation_is_what_its_results_say():
    """If this fails: python tools/publish_paper.py FOLDER."""
    results = json.loads((DOCS / "paper.json").read_text())
    assert (DOCS / "paper.md").read_text() == page(results, "paper.json", "pictures/")


def found_of(bits):
    return {"bits": bits, "standard_error": 0.01, "seconds": 1}


def test_a_number_that_changes_changes_the_verdict():
    def verdict(reweighted, elbo):
        found = {"reweighted": reweighted, "elbo": elbo}
        steps = {
            name: {"typed": f"score {name}", "inputs": [], "found": found_of(bits)}
            for name, bits in found.items()
        }
        arms = {"losses": {"0": {name: name for name in found}}}
        text = page({"scale": "quick", "arms": arms, "steps": steps})
        return re.search(r"\| Figure 5 \| (.*) \|", text)[1]

    assert verdict(3.0, 3.1) == "**confirmed**, one seed only"
    assert verdict(3.1, 3.0) == "**refuted**, one seed only"
    assert verdict(3.0, 3.0) == "**not at this scale**, one seed only"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_is_in_the_paper_and_compares_what_it_measures(claim):
    assert re.search(r"(Table|Figure|Section|Appendix|Issue)s? ", claim.paper)
    for scale in SCALES.values():
        arms = claim.arms(Lab(scale, "DATA", 0))
        for test in claim.tests:
            assert test.better in arms
            assert test.worse in arms or isinstance(test.worse, float)
    assert claim.otherwise


def test_minutes_are_those_of_a_method_and_of_the_trainings_before_it():
    codec = {"typed": "train codec", "inputs": [], "found": {"seconds": 120, "curve": []}}
    method = {"typed": "ddpm", "inputs": ["codec"], "found": {"fid": 1.0, "minutes": 6}}
    arms = {"compute": {"0": {"DDPM": "method"}}}
    (claim,) = claims_named(["compute"])
    found = seeds_of(claim, {"arms": arms, "steps": {"codec": codec, "method": method}})
    assert found[0]["DDPM"]["minutes"] == 8


def test_adversarial_codecs_are_compared_as_their_trainings_left_them():
    """The best by L1 and LPIPS may be from before the discriminator began, and then all are the same."""
    (claim,) = claims_named(["adversarial"])
    assert all("{0}/last" in arm.line for arm in claim.arms(Lab(SCALES["full"], "DATA", 0)).values())


def test_claims_share_their_trainings():
    lab = Lab(SCALES["full"], "DATA", 0)
    arms = {claim.name: claim.arms(lab) for claim in CLAIMS}
    assert arms["losses"]["reweighted"].key == arms["autoregressive"]["absorbing"].key
    assert arms["losses"]["elbo"].key != arms["losses"]["mlm"].key
    assert Lab(SCALES["full"], "DATA", 1).prior().key != lab.prior().key


def test_the_time_to_an_equal_bound_is_read_off_the_curves():
    """The first arm ends at 3 bits after 40 s; the second is there a third of the way from 10 s to 20 s."""
    slow = [{"bits": 4.0, "seconds": 20.0}, {"bits": 3.0, "seconds": 40.0}]
    fast = [{"bits": 3.5, "seconds": 10.0}, {"bits": 2.0, "seconds": 20.0}]
    arms = {name: {"bits": curve[-1]["bits"], "curve": curve} for name, curve in (("a", slow), ("b", fast))}
    found = to_equal_bound(arms)
    assert found["a"]["minutes_to_bound"] == pytest.approx(40 / 60)
    assert found["b"]["minutes_to_bound"] == pytest.approx((10 + 10 / 3) / 60)


def test_a_claim_is_told_by_the_arms_of_one_test():
    losses, memorisation, likelihood = claims_named(["losses", "memorisation", "likelihood"])
    assert losses.is_told_by(["reweighted", "elbo"])
    assert not losses.is_told_by(["reweighted", "mlm"])
    assert memorisation.is_told_by(["samples"])
    assert likelihood.is_told_by(["5 bits"])
    assert not likelihood.is_told_by([])


def test_an_unknown_claim_is_refused():
    with pytest.raises(ConfigError, match="there is no claim 'lossess'"):
        claims_named(["lossess"])


def test_a_training_comes_to_its_best_validation():
    log = [
        {"kind": "train", "step": 1, "time": 100.0, "loss": 2.0, "lambda": 0.5},
        {"kind": "validation", "step": 1, "time": 101.0, "bits": 3.0, "standard_error": 0.1},
        {"kind": "train", "step": 2, "time": 102.0, "loss": 1.0},
        {"kind": "validation", "step": 2, "time": 103.0, "bits": 3.5, "standard_error": 0.1},
    ]
    found = learnt(log)
    assert (found["bits"], found["step"], found["seconds"]) == (3.0, 1, 4.0)
    assert [point["bits"] for point in found["curve"]] == [3.0, 3.5]
    assert found["lambda"] == [[1, 0.5]]


def test_the_clock_stands_still_while_a_run_is_stopped():
    assert clock([0, 10, 20, 5000, 5010]) == [10, 20, 30, 40, 50]


def test_claims_that_were_not_run_again_stay_published():
    tool = runpy.run_path(str(DOCS.parent / "tools/publish_paper.py"))

    def results(claim, found):
        steps = {"prior": {"inputs": ["codec"], "found": found}, "codec": {"inputs": [], "found": found}}
        return {"scale": "quick", "arms": {claim: {"0": {"an arm": "prior"}}}, "steps": steps}

    published = results("losses", 1)
    published["steps"]["of no claim"] = {"inputs": [], "found": 1}
    joined = tool["joined"](published, results("steps", 2))
    assert joined["arms"] == published["arms"] | results("steps", 2)["arms"]
    assert {key: step["found"] for key, step in joined["steps"].items()} == {"prior": 2, "codec": 2}
    other = {**published, "scale": "full"}
    assert tool["joined"](other, results("steps", 2)) == results("steps", 2)
