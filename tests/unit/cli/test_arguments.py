"""What several commands take is the same in all of them, in its type and in its words."""

from dataclasses import fields
from importlib import import_module
from typing import get_type_hints

import pytest

from unmask.cli import arguments
from unmask.cli.main import COMMANDS

SHARED = {
    "model": {arguments.Model, arguments.AnyModel},
    "codec": {arguments.Codec},
    "data": {arguments.Data, arguments.PictureOrData, arguments.TrainingData, arguments.DataOrCodes},
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
