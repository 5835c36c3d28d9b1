"""What a person watches while weights get better: a bar in a terminal, lines in a file."""

import sys
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

SHOWN = 5  # metrics beside the bar


class Progress:
    """Steps done, examples a second, the latest metrics and the time left, on stderr."""

    def __init__(self, num_steps: int, start: int, examples_per_step: int, visible: bool) -> None:
        self._examples = examples_per_step
        self._terminal = sys.stderr.isatty()
        self._visible = visible
        self._bar = Bar(
            TextColumn("[bold]training[/]"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("[dim]{task.fields[metrics]}[/]"),
            console=Console(file=sys.stderr),
            disable=not (visible and self._terminal),
            speed_estimate_period=120,
        )
        self._row = self._bar.add_task("", total=num_steps, completed=start, speed="", metrics="")

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self) -> None:
        """One more step is done."""
        self._bar.advance(self._row)
        speed = self._bar.tasks[0].speed
        if speed:
            self._bar.update(self._row, speed=f"{speed * self._examples:.1f} examples/s")

    def show(self, metrics: dict[str, float]) -> None:
        """Put the latest metrics beside the bar, or on a line of their own where there is no terminal."""
        text = "  ".join(f"{name} {value:.3g}" for name, value in list(metrics.items())[:SHOWN])
        self._bar.update(self._row, metrics=text)
        if self._visible and not self._terminal:
            bar = self._bar.tasks[0]
            left = f"{timedelta(seconds=round(bar.time_remaining))} left" if bar.time_remaining else ""
            done = f"step {bar.completed:.0f}/{bar.total:.0f}"
            print(
                "  ".join(part for part in (done, bar.fields["speed"], left, text) if part), file=sys.stderr
            )

    def note(self, text: str) -> None:
        """Put a line above the bar, where it stays."""
        if self._visible:
            self._bar.console.print(text, soft_wrap=True, highlight=False, markup=False)
