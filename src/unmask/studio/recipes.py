"""The same, from the command line and from Python: what the page can do is nothing special."""

import shlex
from collections.abc import Mapping

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
OPEN = f'picture = Image.open("{IMAGE}")'


def recipe_of(request: Request, model: Pipeline, name: str) -> Recipe:
    """The commands that give what the request gives, with its pictures in files named as they are here."""
    command, said = request.__class__.__name__.lower(), _said(request, model)
    shown = {option: value for option, value in said.items() if option not in ("prompt", "first")}
    words = ["unmask", command, name, *_words(request), *_options(shown)]
    return Recipe(command=shlex.join(words), python=_python(request, said, name))


def all_of(request: Request, model: Pipeline) -> dict[str, JsonValue]:
    """All that a request says, and the settings it leaves to the model, but no pictures."""
    plain = request.model_dump(mode="json", exclude={"model", "image", "mask", *SETTINGS})
    return plain | settings_of(request, model).of(request.use) if isinstance(request, Drawing) else plain


def _said(request: Request, model: Pipeline) -> dict[str, JsonValue]:
    """What is to be mentioned by name: all but defaults, and what is not the model's own anyway."""
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


def _words(request: Request) -> list[str]:
    told = _prompts(request) if isinstance(request, Drawing) else []
    match request:
        case Sample():
            return [*told, "--count", str(request.first + request.count)]
        case Canvas():
            return [*told, "--size", f"{request.width}x{request.height}"]
        case Inpaint():
            box = request.box and ",".join(map(str, request.box))
            return [IMAGE, *told, f"--box={box}" if box else f"--mask={MASK}"]
        case Extend() | Vary():
            return [IMAGE, *told]
        case Caption():
            return [IMAGE]
        case Reconstruct() | Score():
            return ["FOLDER", "--split", "all"]


def _prompts(request: Drawing) -> list[str]:
    match request.prompt:
        case None:
            return []
        case str(prompt):
            return [prompt]
        case prompts:
            return list(prompts)


def _options(said: Mapping[str, JsonValue]) -> list[str]:
    words = []
    for name, value in said.items():
        flag = f"--{name.replace('_', '-')}"
        values = [] if value is True else value if isinstance(value, list) else [value]
        words += [flag, *("all" if each is None else str(each) for each in values)]
    return words


def _python(request: Request, said: Mapping[str, JsonValue], name: str) -> str:
    lines, pictures = _call(request, [f"{name}={value!r}" for name, value in said.items()])
    imports = ["import unmask"] + (["from PIL import Image"] if pictures else [])
    return "\n".join([*imports, "", f"model = unmask.load({name!r})", *lines])


def _call(request: Request, settings: list[str]) -> tuple[list[str], bool]:
    """The lines after the model is loaded, and whether they open pictures."""
    match request:
        case Sample():
            return [f"pictures = model.sample({', '.join([str(request.count), *settings])})"], False
        case Canvas():
            size = f"({request.width}, {request.height})"
            return [f"picture = model.canvas({', '.join([size, *settings])})"], False
        case Inpaint():
            mask = repr(request.box) if request.box else f'Image.open("{MASK}")'
            return [OPEN, f"versions = model.inpaint({', '.join(['picture', mask, *settings])})"], True
        case Extend() | Vary():
            method = type(request).__name__.lower()
            return [OPEN, f"versions = model.{method}({', '.join(['picture', *settings])})"], True
        case Reconstruct():
            return [OPEN, "(reconstruction,) = model.reconstruct([picture])"], True
        case Caption():
            return [OPEN, f"(captions,) = model.caption({', '.join(['[picture]', *settings])})"], True
        case Score():
            return [OPEN, f"bits_per_code = model.score({', '.join(['[picture]', *settings])}).mean"], True
