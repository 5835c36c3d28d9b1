"""Every command that computes does so where it is told to."""

import pytest
import torch
from PIL import Image

from unmask.cli.main import run_command
from unmask.errors import ConfigError


@pytest.mark.parametrize(
    "words",
    [
        "train codec emoji --preset tiny",
        "train prior emoji emoji --preset tiny",
        "encode emoji emoji --out emoji.codes",
        "reconstruct emoji emoji",
        "score emoji emoji",
        "sample emoji",
        "canvas emoji --size 96x64",
        "inpaint emoji picture.png --box 0,0,8,8",
        "extend emoji picture.png --right 8",
        "studio emoji --port 0",
        "evaluate emoji emoji",
        "neighbours emoji emoji",
        "demo",
    ],
)
def test_a_device_that_is_not_there_is_refused_in_a_sentence(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    Image.new("RGB", (64, 64)).save("picture.png")
    with pytest.raises(ConfigError, match="no device cuda"):
        run_command([*words.split(), "--device", "cuda"])
