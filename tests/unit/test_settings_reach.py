"""A setting is said once, in ``Settings``, and is then everywhere: adding a field is all there is to do."""

import inspect
import json
from dataclasses import fields, replace
from importlib import import_module
from itertools import product
from typing import get_type_hints

import pytest
import torch
import tyro

from tests.untrained import untrained
from unmask.cli.evaluate import Arguments as Evaluate
from unmask.diffusion.choose import combinations
from unmask.diffusion.settings import SETTINGS, Changes, Settings
from unmask.distributed import ALONE
from unmask.evaluation.estimate import Estimate
from unmask.evaluation.protocol import Protocol
from unmask.evaluation.results import Results, settings_label
from unmask.pipeline import Pipeline
from unmask.samples import SampleFolder
from unmask.studio import schema
from unmask.studio.description import describe
from unmask.studio.recipes import recipe_of

NAMES = [field.name for field in fields(Settings)]
USES = [
    (name, use) for name, use in product(NAMES, ("sample", "canvas", "edit")) if use in SETTINGS[name].uses
]
COMMANDS = {
    "sample": ("sample", ["model"]),
    "canvas": ("canvas", ["model", "--size", "16x16"]),
    "edit": ("inpaint", ["model", "picture.png"]),
}
REQUESTS = {
    "sample": (schema.Sample, {}),
    "canvas": (schema.Canvas, {"width": 16, "height": 16}),
    "edit": (schema.Extend, {"image": "", "right": 8}),
}
PROTOCOL = Protocol(
    what="samples", pictures=9, reference="", split="train", reference_pictures=9, size_px=16, features=""
)


@pytest.fixture(scope="module")
def model():
    return Pipeline(untrained(), torch.device("cpu"))


def another(name):
    """A value that is not the default."""
    setting = SETTINGS[name]
    if setting.choices:
        return next(choice for choice in setting.choices if choice != setting.default)
    return 3 if setting.kind == "integer" else 0.5


def typed(name):
    return [f"--{SETTINGS[name].flag}", str(another(name))]


@pytest.mark.parametrize(("name", "use"), USES)
def test_it_is_a_flag_of_the_command_line(name, use, model):
    command, words = COMMANDS[use]
    arguments = tyro.cli(import_module(f"unmask.cli.{command}").Arguments, args=[*words, *typed(name)])
    assert arguments.sampling.changes == {name: another(name)}
    chosen = model.settings(use, arguments.sampling.settings, **arguments.sampling.changes)
    assert chosen == replace(model.settings(use), **{name: another(name)})


@pytest.mark.parametrize(("name", "use"), USES)
def test_its_help_is_on_the_command_line(name, use, capsys):
    command, _ = COMMANDS[use]
    with pytest.raises(SystemExit):
        tyro.cli(import_module(f"unmask.cli.{command}").Arguments, args=["--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"--{SETTINGS[name].flag} " in said
    assert SETTINGS[name].help in said


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_keyword_of_python(name, model, monkeypatch):
    seen = []
    asked = "unmask.generation.sampler.sample_codes"
    monkeypatch.setattr(asked, lambda *given, **more: seen.append(more["settings"]) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.sample(1, **{name: another(name)})
    assert seen == [Settings(**{name: another(name)})]


def test_type_checkers_know_it_as_a_keyword_of_its_type():
    assert get_type_hints(Changes) == get_type_hints(Settings)


@pytest.mark.parametrize("method", ["sample", "canvas", "inpaint", "vary", "extend"])
def test_help_names_it_among_the_keywords_of_all_that_draws(method, model):
    named = list(inspect.signature(getattr(model, method)).parameters)
    assert [name for name in named if name in NAMES] == NAMES
    assert {"negative", "guide", "settings", "seed", "progress", "on_step"} < set(named)
    assert "how" not in named


def test_help_says_that_a_setting_is_the_recommended_one_unless_given(model):
    signature = str(inspect.signature(model.sample))
    assert "remask: float = recommended" in signature
    assert "Ellipsis" not in signature


@pytest.mark.parametrize(("name", "use"), USES)
def test_it_is_in_a_request_to_the_studio_and_in_its_form(name, use, model):
    kind, given = REQUESTS[use]
    request = kind.model_validate({**given, name: another(name)})
    assert request.changes == {name: another(name)}
    assert SETTINGS[name].help in str(kind.model_json_schema()["properties"][name])
    described = describe(model, "")
    form = {each["name"]: each for each in described.model_dump(mode="json")["settings"]}
    assert form[name]["label"] == SETTINGS[name].label
    assert described.sampling["paper"][use][name] == model.settings(use, "paper").of(use)[name]


@pytest.mark.parametrize(("name", "use"), USES)
def test_it_is_in_the_lines_of_code_that_the_studio_shows(name, use, model):
    kind, given = REQUESTS[use]
    recipe = recipe_of(kind.model_validate({**given, name: another(name)}), model, "model")
    assert recipe.command.endswith(" ".join(typed(name)))
    assert f"{name}={another(name)!r}" in recipe.python


@pytest.mark.parametrize("name", [name for name, use in USES if use == "sample"])
def test_it_can_be_swept_in_an_evaluation(name, model, tmp_path):
    default = "all" if SETTINGS[name].default is None else SETTINGS[name].default
    flag, value = typed(name)
    arguments = tyro.cli(Evaluate, args=["model", "data", flag, f"{default},{value}"])
    plain, changed = combinations("sample", {}, arguments.sampling.settings, arguments.sampling.changes)
    assert (plain, changed) == (Settings(), Settings(**{name: another(name)}))
    assert settings_label(plain) != settings_label(changed)
    results = Results(tmp_path, "model", PROTOCOL, {})
    for settings in (plain, changed):
        results.add(settings, {"fid": Estimate(1.0, 0.1)})
    assert [row[name] for row in results.rows] == [SETTINGS[name].default, another(name)]
    assert SETTINGS[name].name.replace("_", " ") in [
        column.header for column in results.table(["fid"]).columns
    ]


@pytest.mark.parametrize("name", [name for name, use in USES if use == "sample"])
def test_it_is_part_of_the_request_that_a_folder_of_samples_holds(name, model, tmp_path):
    folder = SampleFolder(tmp_path, model, settings=Settings(**{name: another(name)}))
    with folder._opened(ALONE):
        pass
    assert json.loads((tmp_path / "samples.json").read_text())[name] == another(name)
