"""What several commands take is the same in all of them, in its type and in its words."""

from dataclasses import fields
from importlib import import_module
from typing import get_type_hints

import pytest
import torch
from PIL import Image

from unmask.cli import arguments
from unmask.cli.main import COMMANDS, run_command
from unmask.errors import ConfigError

SHARED = {
    "model": {arguments.Model, arguments.AnyModel},
    "codec": {arguments.Codec},
    "data": {
        arguments.Data,
        arguments.OptionalData,
        arguments.PictureOrData,
        arguments.TrainingData,
        arguments.DataOrCodes,
    },
    "device": {arguments.DeviceOption},
    "backend": {arguments.BackendOption},
}
MODULES = {name: import_module(module) for name, (module, _) in COMMANDS.items()}
WITH_ARGUMENTS = [name for name, module in MODULES.items() if hasattr(module, "Arguments")]


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_a_command_takes_what_others_take_in_the_same_way(name):
    given = MODULES[name].Arguments
    hints = get_type_hints(given, include_extras=True)
    shared = [field.name for field in fields(given) if field.name in SHARED]
    assert shared
    for argument in shared:
        assert hints[argument] in SHARED[argument], argument


@pytest.mark.parametrize("kind", [arguments.Model, arguments.AnyModel, arguments.Codec])
def test_the_help_of_a_model_says_where_models_come_from(kind):
    (words,) = (note.help for note in kind.__metadata__ if hasattr(note, "help"))
    assert "runs/" in words
    assert "'emoji'" in words
    assert "user/name on the hub" in words


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
        "fid emoji emoji-3d",
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
