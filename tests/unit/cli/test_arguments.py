"""What several commands take is the same in all of them, in its type and in its words."""

import os
import re
from dataclasses import fields
from importlib import import_module
from typing import get_type_hints

import pytest
import torch
from PIL import Image

from unmask.cli import arguments
from unmask.cli.main import COMMANDS, run_command
from unmask.errors import ConfigError, DataError, UnmaskError

SHARED = {
    "model": {arguments.Model, arguments.AnyModel},
    "codec": {arguments.Codec, arguments.OptionalCodec},
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
WITH_ARGUMENTS = [
    name
    for name, module in MODULES.items()
    if hasattr(module, "Arguments") and {field.name for field in fields(module.Arguments)} & SHARED.keys()
]


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_a_command_takes_what_others_take_in_the_same_way(name):
    given = MODULES[name].Arguments
    hints = get_type_hints(given, include_extras=True)
    shared = [field.name for field in fields(given) if field.name in SHARED]
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


@pytest.mark.parametrize(
    "words",
    [
        "sample emoji --count 99999999999999",
        "sample emoji --batch 1000001",
        "sample emoji --count 1e3",
        "sample emoji --seed 99999999999999999999999999",
        "sample emoji --steps 99999999999999",
        "sample emoji --top-k 99999999999999999999999999",
        "inpaint emoji picture.png --box 0,0,8,8 --count 99999999999999",
        "extend emoji picture.png --left 99999999999999",
        "score emoji picture.png --draws 99999999999999999999999999",
        "evaluate emoji emoji --count 99999999999999",
        "train codec emoji --preset tiny --loop.seed 99999999999999999999999999",
        "data pictures --images.workers 99999999999999999999999999",
        "data ~nobody-of-that-name/pictures",
        "data pictures --out ~nobody-of-that-name/sheet.png",
        "data pictures --images.captions ~nobody-of-that-name/captions.csv",
        "sample emoji --out ~nobody-of-that-name/samples",
        "sample loop",
        "data loop",
        f"data {'n' * 300}",
        f"data pictures --out {'n' * 300}.png",
        "data pipe.zip",
        "export emoji --to half --out loop",
        "encode emoji pictures --out picture.png",
    ],
)
def test_an_argument_that_nobody_can_follow_is_refused_in_a_sentence(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pictures").mkdir()
    for number in range(4):
        Image.new("RGB", (64, 64), (number, 0, 0)).save(f"pictures/{number}.png")
    Image.new("RGB", (64, 64)).save("picture.png")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo("pipe.zip")
    with pytest.raises((UnmaskError, OSError, SystemExit)) as refusal:
        run_command(words.split())
    if refusal.type is SystemExit:  # by the parser itself
        assert refusal.value.code == 2
        assert re.search("beyond|is no whole number", capfd.readouterr().err)
    assert not (tmp_path / "~nobody-of-that-name").exists()


@pytest.mark.parametrize("out", ["file", "file/below", "/dev/null"])
def test_a_reproduction_is_refused_where_no_folder_can_be(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot hold results: \S+: Not a directory\n  name another"):
        run_command(["reproduce", "speed", "--quick", "--out", out])


def test_a_path_may_begin_with_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    Image.new("RGB", (64, 64)).save(tmp_path / "picture.png")
    run_command(["data", "~", "--out=~/sheet.png"])
    assert (tmp_path / "sheet.png").exists()
