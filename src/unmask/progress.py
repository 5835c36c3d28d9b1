"""Messages and progress on stderr: sentences, and bars or, in a file, lines."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import monotonic, perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

FIRST_LINE, NEXT_LINES = 2, 15  # seconds from the start, and from each other
QUIET = ContextVar("QUIET", default=False)
"""Whether nothing but errors is to be said."""
Report = Callable[[float, int], None]
"""Called with how much is done, and of how much."""
Bar = Callable[[str], AbstractContextManager[Report]]
"""Shows how far something of this title has come, while a block lasts."""


def silent(done: float, total: int) -> None:
    """A report that does nothing."""


@contextmanager
def no_bar(title: str) -> Iterator[Report]:
    """A bar that is not shown."""
    yield silent


def stderr(visible: bool = True) -> Console:
    """Where sentences and bars go."""
    quiet = QUIET.get() or not visible
    return Console(stderr=True, highlight=False, soft_wrap=True, markup=False, quiet=quiet)


def say(sentence: str) -> None:
    """Put a line on stderr."""
    stderr().print(sentence)


@contextmanager
def bar(title: str, visible: bool = True, *, unit: str = "images") -> Iterator[Report]:
    """A bar that pulses until the first report, moves with each, and leaves no trace; in a file, lines.

    What is counted is the ``unit``.
    """
    console = stderr(visible)
    if not console.is_terminal:
        yield Lines(title, unit, console)
        return
    columns = (
        TextColumn("{task.description}", table_column=Column(no_wrap=True, max_width=32)),
        BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=10, max_width=40)),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, expand=True, disable=console.quiet) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class Lines:
    """A report that says by time how far something has come: soon for the first time, then now and then."""

    def __init__(self, title: str, unit: str, console: Console) -> None:
        self._title, self._unit, self._console = title, unit, console
        self._start = monotonic()
        self._next = self._start + FIRST_LINE

    def __call__(self, done: float, total: int) -> None:
        """Say it, if it is time to."""
        now = monotonic()
        if now < self._next or done >= total:
            return
        self._next = now + NEXT_LINES
        # The first of many brings much that the others do not: networks that are loaded, pages of a file.
        left = f", {rough_duration((now - self._start) * (total - done) / done)} left" if done > 1 else ""
        self._console.print(f"{self._title}: {done:,.0f} of {total:,} {self._unit}{left}")


def took(work: Callable[[], object]) -> float:
    """The seconds that some work takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def rough_duration(seconds: float) -> str:
    """Seconds in the unit that fits: 12 s, 5.0 min, 2.1 h."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{max(seconds, 1):.0f} s"
