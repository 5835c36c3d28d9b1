"""A bar on stderr for work that takes more than a moment."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[float, int], None]
"""Told how much is done, and of how much."""
Bar = Callable[[str], AbstractContextManager[Report]]
"""Shows how far something of this title has come, while a block lasts."""


def silent(done: float, total: int) -> None:
    """A report to nobody."""


@contextmanager
def no_bar(title: str) -> Iterator[Report]:
    """A bar that nobody sees."""
    yield silent


@contextmanager
def bar(title: str, visible: bool = True) -> Iterator[Report]:
    """A bar that pulses until the first report, moves with each, and leaves no trace."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    disable = not (visible and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=disable) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
