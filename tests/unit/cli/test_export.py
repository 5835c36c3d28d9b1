"""What ``unmask export`` can be told."""

import json

import pytest
import tyro

from tests.untrained import untrained
from unmask.cli.export import Arguments
from unmask.cli.main import run_command
from unmask.storage import bundles as bundle


@pytest.mark.parametrize("word", ["--licence", "--license"])
def test_a_licence_may_be_spelt_in_both_ways(word):
    given = ["model", "--to", "hub", "--out", "birds", "--name", "ann/birds", word, "cc0-1.0"]
    arguments = tyro.cli(Arguments, args=given)
    assert arguments.licence == "cc0-1.0"


def test_json_names_the_folder_and_its_size(tmp_path, capsys):
    bundle.save(untrained(), tmp_path / "model")
    half = tmp_path / "half"
    run_command(["export", str(tmp_path / "model"), "--to", "half", "--out", str(half), "--json"])
    size = sum(path.stat().st_size for path in half.iterdir())
    assert json.loads(capsys.readouterr().out) == {"folder": str(half), "bytes": size}
