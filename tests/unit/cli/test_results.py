"""What a command found: sentences, or one object of JSON."""

import json
import math
from pathlib import Path

import pytest
from rich.table import Table

from unmask.cli import main
from unmask.cli.main import run_command
from unmask.cli.results import emit
from unmask.diffusion.settings import Settings
from unmask.progress import say


@pytest.fixture
def finding(monkeypatch):
    """A command that finds something, and says more than that."""

    def command(argv):
        assert not argv
        say("progress")
        print("an aside")
        table = Table()
        table.add_row("a table")
        emit(table, mean=1.5)
        emit("a sentence", path=Path("here.png"), settings=Settings(steps=3))
        emit(text="no sentence", rows=[{"fid": math.nan, "kid": -math.inf, "count": 2, "best": True}])

    module = type("Module", (), {"main": staticmethod(command)})
    monkeypatch.setattr(main, "import_module", lambda name: module)


def test_sentences_go_to_standard_output_and_progress_to_the_other(finding, capsys):
    run_command(["sample"])
    said = capsys.readouterr()
    assert "an aside\n" in said.out
    assert "a table" in said.out
    assert said.out.endswith("a sentence\n")
    assert said.err == "progress\n"


def test_json_is_all_that_is_on_standard_output(finding, capsys):
    run_command(["sample", "--json"])
    said = capsys.readouterr()
    found = json.loads(said.out, parse_constant=pytest.fail)
    assert found.pop("text") == "no sentence"
    assert found.pop("rows") == [{"fid": None, "kid": None, "count": 2, "best": True}]
    assert found["settings"].pop("steps") == 3
    assert found == {"mean": 1.5, "path": "here.png", "settings": found["settings"]}
    assert {"an aside", "a sentence", "progress"} <= set(said.err.splitlines())


def test_quiet_leaves_results_alone(finding, capsys):
    run_command(["--quiet", "sample"])
    said = capsys.readouterr()
    assert said.out.endswith("a sentence\n")
    assert said.err == ""
    run_command(["sample", "--quiet", "--json"])
    said = capsys.readouterr()
    assert json.loads(said.out)["mean"] == 1.5
    assert said.err == ""
    run_command(["sample"])
    assert capsys.readouterr().err == "progress\n"
