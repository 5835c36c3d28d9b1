"""Settings of canvases and edits have the same names and defaults in Python, in commands and in requests."""

from dataclasses import fields
from inspect import signature

import pytest

from unmask.diffusion.settings import CanvasConfig, EditConfig, SamplingConfig
from unmask.editing import Editor
from unmask.pipeline import Pipeline
from unmask.studio import schema


@pytest.mark.parametrize(
    ("config", "method"),
    [
        (SamplingConfig, Pipeline.sample),
        (CanvasConfig, Editor.canvas),
        (EditConfig, Editor.inpaint),
        (EditConfig, Editor.extend),
    ],
)
def test_a_method_takes_every_setting_with_its_default(config, method):
    settings = {field.name: field.default for field in fields(config)}
    given = {name: parameter.default for name, parameter in signature(method).parameters.items()}
    assert settings == {name: default for name, default in given.items() if name in settings}


@pytest.mark.parametrize(
    ("config", "request_"),
    [
        (SamplingConfig, schema.Sample),
        (CanvasConfig, schema.Canvas),
        (EditConfig, schema.Inpaint),
        (EditConfig, schema.Extend),
    ],
)
def test_a_request_has_the_defaults_of_the_settings(config, request_):
    settings = {field.name: field.default for field in fields(config)}
    shared = settings.keys() & request_.model_fields.keys()
    assert {"steps", "temperature"} < shared
    for name in shared:
        assert request_.model_fields[name].default == settings[name], name
