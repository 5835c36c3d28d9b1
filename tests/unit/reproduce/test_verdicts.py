"""Verdicts follow from numbers and their standard errors, by the book."""

import math

import numpy as np
import pytest
from scipy import stats

from unmask.reproduce.verdicts import Test, Value, judge, limit, over_seeds, overall, value

LOWER = Test(metric="fid", better="a", worse="b", paper="1 < 2")
Test.__test__ = False  # a claim's, not pytest's


def seed(a, b, error=0.1):
    return {name: {"fid": fid, "fid_error": error} for name, fid in (("a", a), ("b", b))}


@pytest.mark.parametrize("seeds", range(2, 10))
def test_limits_are_student_s(seeds):
    assert limit(seeds) == pytest.approx(stats.t.ppf(0.975, seeds - 1), abs=5e-4)


def test_one_seed_is_judged_by_the_errors_of_its_metrics():
    beyond = limit(1) * math.hypot(0.1, 0.1)
    assert judge(LOWER, [seed(1, 1.001 + beyond)]).verdict == "confirmed"
    assert judge(LOWER, [seed(1, 0.999 + beyond)]).verdict == "not at this scale"
    assert judge(LOWER, [seed(1.001 + beyond, 1)]).verdict == "refuted"
    assert judge(LOWER, [seed(1, 2)]).seeds == 1


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [([1.0, 1.1, 0.9], "confirmed"), ([-1.0, -1.1, -0.9], "refuted"), ([1, -1, 2], "not at this scale")],
)
def test_seeds_are_judged_by_a_paired_t_test(gains, verdict):
    """What all arms of a seed have in common, here a large offset, is no noise."""
    offsets = (0, 100, -50)
    outcome = judge(LOWER, [seed(o, o + gain, error=9) for o, gain in zip(offsets, gains, strict=True)])
    assert outcome.verdict == verdict
    p = stats.ttest_1samp(gains, 0).pvalue
    assert (p < 0.05) == (verdict != "not at this scale")
    assert outcome.gain == pytest.approx((np.mean(gains), stats.sem(gains)))


def test_more_can_be_better():
    higher = Test(metric="fid", better="a", worse="b", higher=True, paper="2 > 1")
    assert judge(higher, [seed(2, 1)]).verdict == "confirmed"
    assert judge(higher, [seed(1, 2)]).verdict == "refuted"


def test_no_worse_is_refuted_only_beyond_chance():
    most = Test(metric="fid", better="a", worse=1.0, no_worse=True, paper="no more than 1")
    assert judge(most, [seed(1.1, 0)]).verdict == "confirmed"
    assert judge(most, [seed(1.3, 0)]).verdict == "refuted"


def test_a_seed_that_lacks_an_arm_does_not_count():
    assert judge(LOWER, [{"a": {"fid": 1.0}}]).verdict == "not run yet"
    assert judge(LOWER, [seed(1, 2), {"a": {"fid": 1.0}}]).seeds == 1


def test_one_seed_without_an_error_decides_nothing():
    assert judge(LOWER, [seed(1, 2, error=math.nan)]).verdict == "undecided"
    assert judge(LOWER, [seed(1, 2 + i / 9, error=math.nan) for i in range(3)]).verdict == "confirmed"


def test_what_is_not_compared_is_measured_once_it_has_been_run():
    assert overall([], [seed(1, 2)]).verdict == "measured"
    assert overall([], []).verdict == "not run yet"


def test_the_worst_of_what_was_run_decides():
    opposite = Test(metric="fid", better="b", worse="a", paper="2 < 1")
    lacking = Test(metric="fid", better="a", worse="c", paper="1 < 3")
    assert overall([LOWER, opposite, lacking], [seed(1, 2)]).verdict == "refuted"
    assert overall([LOWER, lacking], [seed(1, 2)]).verdict == "confirmed"
    assert overall([lacking], [seed(1, 2)]).verdict == "not run yet"


def test_values_bring_the_error_that_stands_beside_them():
    found = {"bits": 3.0, "standard_error": 0.1, "fid": 9.0, "fid_error": 0.2, "psnr": 20.0, "step": None}
    assert value(found, "bits") == (3.0, 0.1)
    assert value(found, "fid") == (9.0, 0.2)
    assert math.isnan(value(found, "psnr").error)
    assert value(found, "step") is None


def test_a_mean_shows_the_digits_that_mean_something():
    assert str(over_seeds([Value(1.0, 9), Value(1.1, 9), Value(1.2, 9)])) == "1.100 ± 0.058"
    assert str(Value(123.456, math.nan)) == "123.5"
