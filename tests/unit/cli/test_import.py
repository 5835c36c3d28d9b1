"""What an import says of the model that it made."""

import json

import torch

from unmask.cli.main import run_command
from unmask.importers import official
from unmask.storage import bundles
from unmask.storage.bundles import Bundle, Part


def test_an_import_tells_what_it_made(monkeypatch, tmp_path, capsys):
    part = Part({}, {"weight": torch.zeros(2, 3)})
    made = Bundle(part, None, {"image_size": 16})
    monkeypatch.setattr(official, "import_official", lambda *given, **more: made)
    out = tmp_path / "theirs"
    run_command(["import", "official", "--vqgan", "vqgan.th", "--out", str(out), "--json"])
    codec = {"parameters": 6, "fingerprint": part.fingerprint}
    assert json.loads(capsys.readouterr().out) == {"codec": codec, "image_size": 16, "folder": str(out)}
    assert bundles.load(out).codec.fingerprint == part.fingerprint
