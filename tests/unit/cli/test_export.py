"""What ``unmask export`` can be told."""

import json

import pytest
import tyro

from tests.untrained import K, untrained
from unmask.cli.export import Arguments
from unmask.cli.main import run_command
from unmask.errors import DataError
from unmask.onnx import export
from unmask.pipeline import load
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


def test_what_stands_beside_the_graphs_says_how_rows_are_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(export, "_export", lambda *given: given[-1].write_bytes(b""))
    bundle.save(untrained(words=("cat", "dog", "house")), tmp_path / "model")
    words = "export model --to onnx --out graphs"
    run_command(words.split())
    names = {path.name for path in (tmp_path / "graphs").iterdir()}
    assert names == {"encoder.onnx", "decoder.onnx", "prior.onnx", "prior.json"}
    about = json.loads((tmp_path / "graphs/prior.json").read_text())
    model = load("model", "cpu")
    assert (about["codebook_size"], about["grid"], about["image_size"]) == (K, [4, 4], 16)
    assert about["caption_length"] + 4 * 4 == model.prior.row_length
    row = [about["first_word_id"] + about["words"].index(word) for word in ("house", "cat")]
    unknown = about["caption_length"] - len(row)
    assert [*row, *[about["mask_id"]] * unknown] == model.words.ids("house cat").tolist()
    assert [*row, *[about["end_id"]] * unknown] == model.words.whole("house cat").tolist()
    run_command(words.split())  # over what it wrote itself
    (tmp_path / "graphs/notes.txt").touch()
    with pytest.raises(DataError, match="holds something else than graphs"):
        run_command(words.split())
