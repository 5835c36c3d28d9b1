"""What a demo is made of: chapters, the commands typed in them, the images that came of these."""

import inspect
import io
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rich.console import Console

from unmask.data.pixels import PixelSet
from unmask.errors import ConfigError, DataError
from unmask.pipeline import Pipeline, load

STEPS = (128, 50, 16)  # that samples are drawn in


@dataclass(frozen=True)
class Command:
    """A command that was run: as a person types it, what it printed, how long it took."""

    line: str
    answer: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A PNG or a GIF to look at."""

    path: Path
    alt: str
    """What can be seen, for those who cannot."""
    caption: str = ""
    zoom: int = 2
    """By how much it is shown enlarged."""
    still: Path | None = None
    """What to show instead of something that moves to those who want no motion."""


Make = Callable[["Demo"], Iterator[Figure]]
"""Types the commands of a chapter and yields its figures."""


@dataclass(frozen=True)
class Chapter:
    """One chapter of the page."""

    title: str
    make: Make
    columns: int
    """Figures beside each other, where there is room."""
    telling: bool
    """Whether what the commands answer is worth reading, or only says where files are."""

    @property
    def folder(self) -> str:
        """Where its files are, below the demo's folder."""
        return self.make.__name__

    @property
    def text(self) -> str:
        """What it is about."""
        return inspect.getdoc(self.make) or ""


@dataclass(frozen=True)
class ToldChapter:
    """A chapter that was run."""

    chapter: Chapter
    commands: list[Command] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The time that its commands took."""
        return sum(command.seconds for command in self.commands)


class Demo:
    """One model shown on one set of images, into a folder."""

    def __init__(
        self, model: str, data: str, out: Path, run: Callable[[list[str]], None], device: str = "auto"
    ) -> None:
        """``run`` runs what stands after ``unmask`` on a command line."""
        self.model, self.data, self.out, self.device = model, data, out, device
        self.told: list[ToldChapter] = []
        self._run = run
        self._console = Console(highlight=False, soft_wrap=True, markup=False)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The model, from Python."""
        return load(self.model, self.device)

    @cached_property
    def validation(self) -> PixelSet:
        """The images that the model has not been trained on."""
        return self.pipeline.open(self.data, "validation")

    @property
    def samples(self) -> Path:
        """The folder of those drawn in the most steps, which other chapters look at again."""
        return self.out / "samples" / f"{STEPS[0]}"

    def check(self) -> None:
        """Refuse a model or data that the chapters could not show, before anything is touched."""
        if self.pipeline.prior.causal:
            raise ConfigError(
                f"the prior of {self.model} is autoregressive: it cannot do what most of the demo shows",
                hint="take the built-in model:  unmask demo",
            )
        if not len(self.validation):
            raise DataError(f"{self.data} has no validation split for the demo to show", hint="unmask demo")

    def tell(self, chapter: Chapter) -> None:
        """Run a chapter."""
        self.told.append(ToldChapter(chapter))
        self.folder.mkdir()
        self.told[-1].figures.extend(chapter.make(self))

    @property
    def folder(self) -> Path:
        """The folder of the chapter that is being told."""
        return self.out / self.told[-1].chapter.folder

    @property
    def seconds(self) -> float:
        """The time that all commands took."""
        return sum(told.seconds for told in self.told)

    def unmask(self, line: str, **values: object) -> Command:
        """Type a command: show it, run it, show and keep what it prints.

        Words in capitals stand for ``values``, or for the model (MODEL) and the data (DATA).
        """
        values |= {"MODEL": self.model, "DATA": self.data}
        argv = [str(values.get(word, word)) for word in line.split()]
        if self.device != "auto":
            argv += ["--device", self.device]
        line = shlex.join(["unmask", *argv])
        self.say(f"$ {line}", "cyan")
        answer, start = io.StringIO(), time.perf_counter()
        with redirect_stdout(answer):
            self._run(argv)
        command = Command(line, answer.getvalue().rstrip("\n"), time.perf_counter() - start)
        self.told[-1].commands.append(command)
        if command.answer:
            self.say(command.answer)
        return command

    def say(self, text: str, style: str = "") -> None:
        """Tell the terminal; at once, since bars on the other stream come next."""
        self._console.print(text, style=style)
        self._console.file.flush()
