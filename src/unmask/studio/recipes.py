"""The same, from the command line and from Python: what the page can do is nothing special."""

import shlex
from collections.abc import Mapping

from pydantic import JsonValue

from unmask.studio.schema import Canvas, Extend, Inpaint, Recipe, Reconstruct, Request, Sample, Score

IMAGE, MASK = "picture.png", "mask.png"
OPEN = f'picture = Image.open("{IMAGE}")'


def recipe_of(request: Request, model: str) -> Recipe:
    """The commands that give what the request gives, with its pictures in files named as they are here."""
    name = request.__class__.__name__.lower()
    command = ["unmask", name, model, *_words(request)]
    return Recipe(command=shlex.join(command), python=_python(request, model))


def settings_of(request: Request) -> dict[str, JsonValue]:
    """All of a request but its pictures."""
    return request.model_dump(mode="json", exclude={"image", "mask"})


def _changed(request: Request) -> dict[str, JsonValue]:
    """The settings to mention as such: all but defaults, which are the same in Python and in the commands."""
    elsewhere = {"image", "mask", "box", "width", "height"} | (
        {"count"} if isinstance(request, Sample) else set()
    )
    return request.model_dump(mode="json", exclude=elsewhere, exclude_defaults=True)


def _words(request: Request) -> list[str]:
    match request:
        case Sample():
            return ["--count", str(request.count), *_options(_changed(request))]
        case Canvas():
            return ["--size", f"{request.width}x{request.height}", *_options(_changed(request))]
        case Inpaint():
            box = request.box and ",".join(map(str, request.box))
            return [IMAGE, f"--box={box}" if box else f"--mask={MASK}", *_options(_changed(request))]
        case Extend():
            return [IMAGE, *_options(_changed(request))]
        case Reconstruct() | Score():
            return ["FOLDER", "--split", "all", *_options(_changed(request))]


def _options(settings: Mapping[str, JsonValue]) -> list[str]:
    words = []
    for name, value in settings.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


def _python(request: Request, model: str) -> str:
    settings = [f"{name}={value!r}" for name, value in _changed(request).items()]
    lines, pictures = _call(request, settings)
    imports = ["import unmask"] + (["from PIL import Image"] if pictures else [])
    return "\n".join([*imports, "", f"model = unmask.load({model!r})", *lines])


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
        case Extend():
            return [OPEN, f"versions = model.extend({', '.join(['picture', *settings])})"], True
        case Reconstruct():
            return [OPEN, "(reconstruction,) = model.reconstruct([picture])"], True
        case Score():
            return [OPEN, f"bits_per_code = model.score({', '.join(['[picture]', *settings])}).mean"], True
