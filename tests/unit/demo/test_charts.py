"""Charts are drawings of their numbers: lengths in proportion, round numbers at the edge."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.demo.charts import Bar, Series, bars, curve, ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_are_as_long_as_their_values():
    drawn = ElementTree.fromstring(bars([Bar("one", 2.0, 0.1), Bar("two & more", 6.0, 0.0)], "bits"))
    lengths = [float(rect.get("width")) for rect in drawn.iter(f"{SVG}rect")]
    assert lengths[1] / lengths[0] == pytest.approx(3, rel=1e-2)
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert texts == ["one", "2.00", "two & more", "6.00", "bits"]


def test_a_whisker_is_two_standard_errors_long():
    drawn = ElementTree.fromstring(bars([Bar("one", 2.0, 0.5)], "bits"))
    length = float(next(drawn.iter(f"{SVG}rect")).get("width"))
    low, high = map(
        float, re.fullmatch(r"M(\S+) \S+H(\S+)", next(drawn.iter(f"{SVG}path")).get("d")).groups()
    )
    assert (high - low) / length == pytest.approx(2 * 0.5 / 2, rel=1e-2)


def test_a_curve_goes_down_where_its_values_do():
    falling, level = Series("training", [(10, 4.0), (20, 2.0), (30, 1.0)]), Series("held out", [(30, 3.0)])
    drawn = ElementTree.fromstring(curve([falling, level], "steps", "bits"))
    line = next(drawn.iter(f"{SVG}polyline")).get("points").split()
    xs, ys = zip(*(map(float, point.split(",")) for point in line), strict=True)
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys)  # SVG counts from the top
    assert (ys[1] - ys[0]) / (ys[2] - ys[1]) == pytest.approx(2, rel=0.02)


def test_a_curve_of_one_value_can_be_drawn():
    ElementTree.fromstring(curve([Series("a", [(5, 1.0)]), Series("b", [(5, 1.0)])], "steps", "bits"))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_even_and_within(low, extent):
    found = ticks(low, low + extent)
    assert 2 <= len(found) <= 6
    assert all(low - 1e-6 * extent <= tick <= low + extent * (1 + 1e-6) for tick in found)
    steps = [b - a for a, b in pairwise(found)]
    assert all(step == pytest.approx(steps[0], rel=1e-6) for step in steps)


def test_ticks_are_round():
    assert ticks(0, 400) == [0, 100, 200, 300, 400]
    assert ticks(0.11, 0.42) == [0.2, 0.3, 0.4]
