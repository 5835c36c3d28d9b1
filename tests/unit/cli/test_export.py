"""What ``unmask export`` can be told."""

import pytest
import tyro

from unmask.cli.export import Arguments


@pytest.mark.parametrize("word", ["--licence", "--license"])
def test_a_licence_may_be_spelt_in_both_ways(word):
    given = ["model", "--to", "hub", "--out", "birds", "--name", "ann/birds", word, "cc0-1.0"]
    arguments = tyro.cli(Arguments, args=given)
    arguments.check()
    assert arguments.licence == "cc0-1.0"
