"""Results of an evaluation: a file that grows as figures come in, a table, and a plot."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from unmask import __version__
from unmask.errors import DataError
from unmask.files import write_bytes, write_json
from unmask.metrics.protocol import Protocol, caution

Row = dict[str, Any]
"""Settings and figures of one set of pictures: ``fid`` is a figure, ``fid_error`` its standard error."""

WIDE = 1000  # characters: more than any table has, since figures are never to be cut
PANELS = 4  # in a row of the plot
SETTINGS = ("steps", "temperature", "schedule", "order")


class Results:
    """``results.json`` in a folder, and what else is made of it."""

    def __init__(self, folder: Path, model: str, protocol: Protocol, options: dict[str, Any]) -> None:
        self.folder = folder
        self._about = {"model": model, "protocol": asdict(protocol), "options": options}
        self._caution = caution(min(protocol.pictures, protocol.reference_pictures))
        self._protocol = protocol
        self.rows: list[Row] = []
        self.real: Row = {}
        """Figures that real pictures have by themselves."""
        self._load()

    def row(self, settings: Row) -> Row:
        """The row of these settings, there already or new."""
        for row in self.rows:
            if all(row.get(name) == value for name, value in settings.items()):
                return row
        self.rows.append(dict(settings))
        return self.rows[-1]

    def save(self) -> None:
        """Write what is known so far as JSON and as CSV."""
        try:
            about = {"unmask": __version__, **self._about, "caution": self._caution}
            content = about | {"real": self.real, "results": self.rows}
            write_json(self.folder / "results.json", content)
            write_bytes(self.folder / "results.csv", self._csv().encode())
        except OSError as error:
            raise DataError(f"{self.folder} cannot hold results: {error.strerror}") from error

    def show(self, figures: Sequence[str]) -> None:
        """Print the table, how it came about, and what to beware of."""
        table = _table(self.rows, self.real, figures)
        Console(highlight=False, markup=False, width=Console(width=WIDE).measure(table).maximum).print(table)
        console = Console(highlight=False, markup=False, soft_wrap=True)
        console.print(f"\n{self._protocol}")
        if "fid" in figures and self._caution:
            console.print(f"caution: {self._caution}")
        console.print(f"also in {self.folder}: results.csv, results.json")

    def _load(self) -> None:
        """Take over what an earlier command left, if it was after the same."""
        path = self.folder / "results.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            content = json.loads(path.read_bytes())
            there = {name: content[name] for name in self._about}
            self.rows, self.real = content["results"], content["real"]
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(f"{self.folder} cannot hold results: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} is damaged: {error!r}", hint="name another folder:  --out FOLDER"
            ) from None
        changed = [name for name, value in self._about.items() if there[name] != value]
        if changed:
            what = " and ".join(changed)
            raise DataError(
                f"{self.folder} holds results that differ in {what}; figures would not compare",
                hint="name another folder:  --out FOLDER",
            )

    def _csv(self) -> str:
        text = io.StringIO()
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        table = csv.DictWriter(text, names, lineterminator="\n")
        table.writeheader()
        table.writerows(self.rows)
        return text.getvalue()


def _table(rows: Sequence[Row], real: Row, figures: Sequence[str]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    settings = [name for name in SETTINGS if any(name in row for row in rows)]
    for name in (*settings, *figures):
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(_setting(row, name) for name in settings), *(_figure(row, name) for name in figures))
    if real.keys() & set(figures):
        blank = ["real"] + [""] * (len(settings) - 1) if settings else []
        table.add_row(*blank, *(_figure(real, name) for name in figures))
    return table


def _setting(row: Row, name: str) -> str:
    return "all" if row[name] is None else str(row[name])  # steps: as many as there are codes


def _figure(row: Row, name: str) -> str:
    if name not in row:
        return "–"
    value, error = row[name], row.get(f"{name}_error")
    if error is None:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 4  # two that mean something
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def plot(rows: Sequence[Row], figures: Sequence[str], path: Path) -> bool:
    """Draw each figure over the setting that was swept; whether there was one, and something to draw with."""
    swept = [name for name in SETTINGS if len({row[name] for row in rows if name in row}) > 1]
    along = next((name for name in ("steps", "temperature") if name in swept), None)
    if along is None:
        return False
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot, since matplotlib is not installed:  pip install 'unmask[plot]'")
        return False
    height, width = -(-len(figures) // PANELS), min(PANELS, len(figures))
    picture = Figure(figsize=(3.4 * width, 3 * height), layout="constrained")
    panels = picture.subplots(height, width, squeeze=False).flatten()
    for axes, figure in zip(panels[: len(figures)], figures, strict=True):
        for label, line in _lines(rows, along, [name for name in swept if name != along], figure).items():
            x, y, error = zip(*line, strict=True)
            axes.errorbar(x, y, yerr=error, marker="o", capsize=3, label=label)
        axes.set(xlabel=along, title=figure.replace("_", " "))
    for axes in panels[len(figures) :]:
        axes.set_axis_off()
    if len(swept) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=width, fontsize="small")
    picture.savefig(path, dpi=120)
    return True


def _lines(
    rows: Sequence[Row], along: str, others: Sequence[str], figure: str
) -> dict[str, list[tuple[str, float, float]]]:
    """Points (setting, value, error) by what else was swept."""
    lines: dict[str, list[tuple[str, float, float]]] = {}
    for row in sorted(rows, key=lambda row: math.inf if row[along] is None else row[along]):
        if figure in row:
            label = ", ".join(f"{name} {_setting(row, name)}" for name in others)
            point = (_setting(row, along), row[figure], row.get(f"{figure}_error", 0.0))
            lines.setdefault(label, []).append(point)
    return lines
