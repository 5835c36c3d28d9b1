"""Progress of a training: a bar in a terminal, lines in a file."""

from datetime import timedelta
from time import monotonic

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Column

from unmask.progress import FIRST_LINE, NEXT_LINES, stderr

SHOWN = 5  # metrics beside the bar


class Progress:
    """Steps done, examples a second, the latest metrics and the time left, on stderr."""

    def __init__(self, num_steps: int, start: int, examples_per_step: int, visible: bool) -> None:
        self._examples, self._console = examples_per_step, stderr(visible)
        self._text, self._next_line = "", monotonic() + FIRST_LINE
        self._bar = Bar(
            TextColumn("[bold]training[/]"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("[dim]{task.fields[metrics]}[/]", table_column=Column(no_wrap=True, ratio=1)),
            console=self._console,
            expand=True,
            disable=self._console.quiet or not self._console.is_terminal,
            speed_estimate_period=120,
        )
        self._row = self._bar.add_task("", total=num_steps, completed=start, speed="", metrics="")

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self) -> None:
        """One more step is done."""
        self._bar.advance(self._row)
        speed = self._bar.tasks[0].speed
        if speed:
            self._bar.update(self._row, speed=f"{speed * self._examples:.1f} examples/s")
        if monotonic() >= self._next_line:
            self._line()

    def show(self, metrics: dict[str, float]) -> None:
        """Put the latest metrics beside the bar, or on a line of their own where there is no terminal."""
        self._text = "  ".join(f"{name} {value:.3g}" for name, value in list(metrics.items())[:SHOWN])
        self._bar.update(self._row, metrics=self._text)
        self._line()

    def note(self, text: str) -> None:
        """Put a line above the bar, where it stays."""
        self._bar.console.print(text)

    def _line(self) -> None:
        """The progress as a line, where there is no terminal to show a bar."""
        self._next_line = monotonic() + NEXT_LINES
        if not self._console.is_terminal:
            bar = self._bar.tasks[0]
            left = f"{timedelta(seconds=round(bar.time_remaining))} left" if bar.time_remaining else ""
            done = f"step {bar.completed:.0f}/{bar.total:.0f}"
            self._console.print("  ".join(filter(None, (done, bar.fields["speed"], left, self._text))))
