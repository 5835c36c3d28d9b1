"""What a tour is made of: commands that were typed, the pictures they made, chapters."""

import io
import json
import shlex
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from PIL import Image
from rich.console import Console

from unmask.data.pixels import PixelSet
from unmask.errors import ConfigError, DataError
from unmask.pipeline import Pipeline, load

STEPS = (128, 50, 16)  # that new pictures are drawn in

Command = Callable[[list[str]], None]
"""Runs what stands after ``unmask`` on a command line."""


@dataclass(frozen=True)
class Typed:
    """A command that was run."""

    line: str
    """As a person types it."""
    said: str
    """What it printed."""
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A file to look at: a PNG, a GIF or an SVG."""

    path: Path
    alt: str
    """What can be seen, for those who cannot."""
    caption: str = ""
    zoom: int = 2
    """By how much it is shown enlarged."""
    still: Path | None = None
    """What to show instead of something that moves to those who want no motion."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Pictures, and the two ways to make them: the commands that did, and Python."""

    pictures: list[Picture]
    commands: list[Typed]
    python: str
    columns: int = 1
    """Pictures beside each other, where there is room."""
    telling: bool = False
    """Whether what the commands answered is worth reading, or only says where files are."""


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """One stop of the tour."""

    title: str
    folder: str
    """Where its files are, below the tour's folder."""
    text: str
    make: "Callable[[Tour], list[Figure]]"


class Tour:
    """One model shown on one set of pictures, into a folder."""

    def __init__(self, model: str, data: str, out: Path, command: Command, device: str = "auto") -> None:
        self.model, self.data, self.out, self.device = model, data, out, device
        self._command = command
        self._options = () if device == "auto" else ("--device", device)
        self._console = Console(highlight=False, soft_wrap=True, markup=False)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The model, from Python."""
        return load(self.model, self.device)

    @cached_property
    def held_out(self) -> PixelSet:
        """The pictures that the model has not been trained on."""
        return self.pipeline.open(self.data, "validation")

    def check(self) -> None:
        """Refuse a model or pictures that the chapters could not show, before anything is touched."""
        if self.pipeline.prior.causal:
            raise ConfigError(
                f"the prior of {self.model} is autoregressive: it cannot do what most of the tour shows",
                hint="take the built-in model:  unmask demo",
            )
        if not len(self.held_out):
            raise DataError(f"{self.data} holds no picture out for the tour to show", hint="unmask demo")

    def drawn_in(self, steps: int) -> Path:
        """The folder of the pictures drawn in so many steps."""
        return self.out / "samples" / f"{steps}-steps"

    @property
    def samples(self) -> Path:
        """Those drawn in the most steps, which other chapters look at again."""
        return self.drawn_in(STEPS[0])

    @property
    def python(self) -> str:
        """The lines that every Python line of the tour goes on from."""
        device = "" if self.device == "auto" else f", {quoted(self.device)}"
        return (
            "from PIL import Image\n"
            "import unmask\n\n"
            f"model = unmask.load({quoted(self.model)}{device})\n"
            f'held_out = model.open({quoted(self.data)}, "validation")'
        )

    def number(self, wish: str) -> int:
        """The number of the held-out picture of that name, or of the first one."""
        return self.held_out.names.index(wish) if wish in self.held_out.names else 0

    def unmask(self, *words: object) -> Typed:
        """Type a command: show it, run it, show and keep what it prints."""
        argv = [str(word) for word in (*words, *self._options)]
        line = shlex.join(["unmask", *argv])
        self.say(f"$ {line}", "cyan")
        said, start = io.StringIO(), time.perf_counter()
        with redirect_stdout(said):
            self._command(argv)
        seconds = time.perf_counter() - start
        if said.getvalue():
            self.say(said.getvalue().rstrip("\n"))
        return Typed(line, said.getvalue(), seconds)

    def say(self, text: str, style: str = "") -> None:
        """Tell the terminal; at once, since bars on the other stream come next."""
        self._console.print(text, style=style)
        self._console.file.flush()


def quoted(text: object) -> str:
    """Text as Python has it, between double quotes."""
    return json.dumps(str(text), ensure_ascii=False)


def keep(picture: Image.Image, path: Path) -> Path:
    """Write a picture to a PNG file of the tour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, "PNG")
    return path
