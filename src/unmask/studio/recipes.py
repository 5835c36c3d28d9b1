"""The same request as a command and as Python code."""

import shlex
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from unmask.diffusion.settings import SETTINGS
from unmask.pipeline import Pipeline
from unmask.studio.schema import (
    Canvas,
    Caption,
    Drawing,
    Extend,
    Inpaint,
    Recipe,
    Reconstruct,
    Request,
    Sample,
    Score,
    Vary,
)
from unmask.studio.tasks import settings_of

IMAGE, MASK = "picture.png", "mask.png"


class _Ways(NamedTuple):
    """A kind of request as a command and in Python, without its settings."""

    words: list[str]
    """Of the command, after the model."""
    result: str
    """The name of the result in Python."""
    arguments: list[str]
    """The first ones of the model's method."""


def recipe_of(request: Request, model: Pipeline, name: str) -> Recipe:
    """The commands that give what the request gives, with its pictures in files named as they are here."""
    task, ways, said = type(request).__name__.lower(), _ways(request), _said(request, model)
    shown = {option: value for option, value in said.items() if option not in ("prompt", "first")}
    command = shlex.join(["unmask", task, name, *ways.words, *_options(shown)])
    given = ", ".join([*ways.arguments, *(f"{option}={value!r}" for option, value in said.items())])
    call = f"{ways.result} = model.{task}({given})" + (".mean" if task == "score" else "")
    imports, opened = ["import unmask"], []
    if hasattr(request, "image"):
        imports, opened = [*imports, "from PIL import Image"], [f'picture = Image.open("{IMAGE}")']
    python = "\n".join([*imports, "", f"model = unmask.load({name!r})", *opened, call])
    return Recipe(command=command, python=python)


def all_of(request: Request, model: Pipeline) -> dict[str, JsonValue]:
    """All that a request says, and the settings it leaves to the model, but no pictures."""
    plain = request.model_dump(mode="json", exclude={"model", "image", "mask", *SETTINGS})
    return plain | settings_of(request, model).of(request.use) if isinstance(request, Drawing) else plain


def _said(request: Request, model: Pipeline) -> dict[str, JsonValue]:
    """Settings to write out: those that differ from defaults and from the model's own."""
    elsewhere = {"model", "image", "mask", "box", "width", "height", "words", *SETTINGS} | (
        {"count"} if isinstance(request, Sample) else set()
    )
    said = request.model_dump(mode="json", exclude=elsewhere, exclude_defaults=True)
    if isinstance(request, Drawing):
        own = model.settings(request.use, request.settings).of(request.use)
        drawn = settings_of(request, model).of(request.use)
        said |= {name: value for name, value in drawn.items() if value != own[name]}
    if said.get("seam") == model.codec.config.factor // 2:
        del said["seam"]
    return said


def _ways(request: Request) -> _Ways:
    prompt = request.prompt if isinstance(request, Drawing) else None
    prompts = [] if prompt is None else [prompt] if isinstance(prompt, str) else prompt
    match request:
        case Sample():
            number = str(request.first + request.count)
            return _Ways([*prompts, "--count", number], "pictures", [str(request.count)])
        case Canvas():
            width, height = request.width, request.height
            return _Ways([*prompts, "--size", f"{width}x{height}"], "picture", [f"({width}, {height})"])
        case Inpaint():
            box = request.box and ",".join(map(str, request.box))
            words = [IMAGE, *prompts, f"--box={box}" if box else f"--mask={MASK}"]
            mask = repr(request.box) if box else f'Image.open("{MASK}")'
            return _Ways(words, "versions", ["picture", mask])
        case Extend() | Vary():
            return _Ways([IMAGE, *prompts], "versions", ["picture"])
        case Caption():
            return _Ways([IMAGE], "(captions,)", ["[picture]"])
        case Reconstruct():
            return _Ways(["FOLDER", "--split", "all"], "(reconstruction,)", ["[picture]"])
        case Score():
            return _Ways(["FOLDER", "--split", "all"], "bits_per_code", ["[picture]"])


def _options(said: Mapping[str, JsonValue]) -> list[str]:
    words = []
    for name, value in said.items():
        flag = f"--{name.replace('_', '-')}"
        values = [] if value is True else value if isinstance(value, list) else [value]
        words += [flag, *("all" if each is None else str(each) for each in values)]
    return words
