"""An evaluation on disk: a folder of metrics that come in one by one, with their table, plot and samples."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from unmask import __version__
from unmask.diffusion.settings import SETTINGS, Settings
from unmask.errors import DataError
from unmask.evaluation.config import COLUMNS, Metric
from unmask.evaluation.protocol import Protocol, caution
from unmask.reading import DamagedError, parsing, read_json
from unmask.storage.files import accessing, write_csv, write_json
from unmask.storage.seals import sealed, unsealed

if TYPE_CHECKING:
    from unmask.evaluation.estimate import Estimate

Row = dict[str, Any]
"""Settings and metrics of one set of images: ``fid`` is a metric, ``fid_error`` its standard error."""

ALWAYS = ("steps", "temperature", "schedule", "order")  # shown whether they were swept or not
PANELS = 4  # in a row of the plot
ONCE = ("held-out pictures", "validation pictures")  # what validation images were called before
OLDER = ("unmask", "model", "protocol", "options", "caution", "real", "results")  # without a checksum


def settings_label(settings: Settings) -> str:
    """The settings of a sweep, such as ``even random 50 steps temperature 0.9``, and what has no default."""
    row = _settings(settings)
    steps, temperature = _word(row["steps"]), _word(row["temperature"])
    others = [f"{name} {_word(row[name])}" for name in _changed([row]) if name not in ALWAYS]
    return " ".join([settings.schedule, settings.order, f"{steps} steps temperature {temperature}", *others])


def samples_folder(folder: Path, settings: Settings) -> Path:
    """Where an evaluation keeps the samples of some settings."""
    return folder / "samples" / settings_label(settings).replace(" ", "-")


class Results:
    """``results.json`` in a folder, and what else is made of it.

    A configuration stands for the samples of one setting, None for images that no sampler has made. Of
    several processes one saves what all of them add.
    """

    def __init__(
        self, folder: Path, model: str, protocol: Protocol, options: dict[str, Any], *, keep: bool = True
    ) -> None:
        self.folder, self._keep = folder, keep
        self.protocol = protocol
        self.caution = caution(min(protocol.pictures, protocol.reference_pictures))
        """A caution for an FID, if one is due."""
        self._about = {"model": model, "protocol": asdict(protocol), "options": options}
        self.rows: list[Row] = []
        self.real: Row = {}
        """Metrics that real images have by themselves."""
        self._load()

    def row(self, config: Settings | None, label: str | None = None) -> Row | None:
        """Settings and metrics of what has been measured, of all images or of those of a label."""
        settings = _settings(config).items()
        alike = (row for row in self.rows if settings <= row.items())
        return next((row for row in alike if row.get("label") == label), None)

    def missing(
        self, metrics: Sequence[Metric], config: Settings | None, label: str | None = None
    ) -> list[Metric]:
        """Those of the metrics that have not been measured yet."""
        row = self.row(config, label) or {}
        return [metric for metric in metrics if not row.keys() >= set(COLUMNS[metric])]

    def add(
        self, config: Settings | None, values: "Mapping[str, Estimate]", label: str | None = None
    ) -> None:
        """Take in metrics and save them."""
        row = self.row(config, label)
        if row is None:
            self.rows.append(row := _settings(config) | ({} if label is None else {"label": label}))
        row.update(plain(values))
        self._save()

    def add_real(self, values: "Mapping[str, Estimate]") -> None:
        """Take in metrics of the real images and save them."""
        self.real.update(plain(values))
        self._save()

    def table(self, columns: Sequence[str]) -> Table:
        """A line for each setting and, where they have any, one for the real images."""
        table, settings = table_of(self.rows, columns), _shown(self.rows)
        if self.real.keys() & set(columns):
            blank = ["real"] + [""] * (len(settings) - 1) if settings else []
            table.add_row(*blank, *(as_text(self.real, name) for name in columns))
        return table

    def plot(self, columns: Sequence[str]) -> Path | None:
        """``results.png``, each metric over the first number swept; None if none was. It takes matplotlib."""
        rows = [row for row in self.rows if "label" not in row]
        swept = _swept(rows)
        along = next((name for name in swept if SETTINGS[name].kind != "choice"), None)
        if along is None:
            return None
        path = self.folder / "results.png"
        _plot(rows, columns, along, [name for name in swept if name != along], path)
        return path

    def _save(self) -> None:
        """Write what is known so far as JSON and as CSV."""
        if not self._keep:
            return
        about = {"unmask": __version__, **self._about, "caution": self.caution}
        content = about | {"real": self.real, "results": self.rows}
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        with accessing(self.folder, "hold results"):
            write_json(self.folder / "results.json", sealed(content))
            write_csv(self.folder / "results.csv", [names, *(map(row.get, names) for row in self.rows)])

    def _load(self) -> None:
        """Take over the results of an earlier evaluation, if model, protocol and options are the same."""
        path = self.folder / "results.json"
        hint = "name another folder:  --out FOLDER"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with parsing():
                content = unsealed(read_json(path), OLDER)
                there = {name: content[name] for name in self._about}
                if there["protocol"]["what"] in ONCE:
                    there["protocol"]["what"] = "validation images"
                self.rows = [_complete(row) for row in content["results"]]
                self.real = _checked(content["real"])
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(f"{self.folder} cannot hold results: {error.strerror}") from error
        except DamagedError as error:
            raise DataError(f"{path} is damaged: {error}", hint=hint) from None
        changed = [name for name, value in self._about.items() if there[name] != value]
        if changed:
            what = " and ".join(changed)
            raise DataError(
                f"{self.folder} holds results that differ in {what}; metrics would not compare", hint=hint
            )


def table_of(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    """A line for each row: its settings, as far as they differ, and its metrics."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    settings = _shown(rows)
    for name in (*settings, *columns):
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(_word(row.get(name)) for name in settings), *(as_text(row, name) for name in columns))
    return table


def _settings(settings: Settings | None) -> Row:
    return settings.of("sample") if settings else {}


def _complete(row: Row) -> Row:
    """A row with the settings that did not exist when it was measured: they have their defaults."""
    row = _checked(row)
    return _settings(Settings()) | row if "steps" in row else row


def _checked(row: Any) -> Row:
    """A row whose metrics are numbers, and whose label is text."""
    if not isinstance(row.get("label", ""), str):
        raise DamagedError("label is no text")
    metrics = row.keys() - SETTINGS.keys() - {"label"}
    if odd := sorted(name for name in metrics if not _is_number(row[name])):
        raise DamagedError(f"{odd[0]} is no number")
    return dict(row)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _changed(rows: Sequence[Row]) -> list[str]:
    """The settings that have not their default in all of the rows."""
    defaults = _settings(Settings())
    return [name for name, value in defaults.items() if any(row.get(name, value) != value for row in rows)]


def _swept(rows: Sequence[Row]) -> list[str]:
    """The settings that differ between rows."""
    return [name for name in SETTINGS if len({_word(row[name]) for row in rows if name in row}) > 1]


def _shown(rows: Sequence[Row]) -> list[str]:
    """The settings that a table of the rows shows, and the label where there are any."""
    telling = (*ALWAYS, *_changed(rows), "label")
    return [name for name in (*SETTINGS, "label") if name in telling and any(name in row for row in rows)]


def plain(columns: "Mapping[str, Estimate]") -> Row:
    """Metrics and their standard errors as plain values; an error that is not known is left out."""
    row: Row = {}
    for name, (value, error) in columns.items():
        row[name] = value
        if math.isfinite(error):
            row[f"{name}_error"] = error
    return row


def _word(value: Any) -> str:
    """A setting's value as it is typed."""
    return "all" if value is None else " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _number(value: Any) -> float:
    """Where a setting stands among others of its kind; None is as much as there can be."""
    return math.inf if value is None else float(value[0] if isinstance(value, list) else value)


def as_text(row: Row, name: str) -> str:
    """A metric of a row with its standard error, to the significant digits."""
    if name not in row:
        return "–"
    value, error = row[name], row.get(f"{name}_error")
    if error is None:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 4  # two significant ones
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _plot(rows: Sequence[Row], columns: Sequence[str], along: str, others: Sequence[str], path: Path) -> None:
    """Draw a panel for each figure, a line in it for each combination of the other settings."""
    from matplotlib.figure import Figure

    height, width = -(-len(columns) // PANELS), min(PANELS, len(columns))
    picture = Figure(figsize=(3.4 * width, 3 * height), layout="constrained")
    panels = picture.subplots(height, width, squeeze=False).flatten()
    for axes, figure in zip(panels[: len(columns)], columns, strict=True):
        for label, line in _lines(rows, along, others, figure).items():
            x, y, error = zip(*line, strict=True)
            axes.errorbar(x, y, yerr=error, marker="o", capsize=3, label=label)
        axes.set(xlabel=along, title=figure.replace("_", " "))
    for axes in panels[len(columns) :]:
        axes.set_axis_off()
    if others:
        handles, labels = panels[0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=width, fontsize="small")
    picture.savefig(path, dpi=120)


def _lines(
    rows: Sequence[Row], along: str, others: Sequence[str], figure: str
) -> dict[str, list[tuple[str, float, float]]]:
    """Points (setting, value, error) by what else was swept."""
    lines: dict[str, list[tuple[str, float, float]]] = {}
    for row in sorted(rows, key=lambda row: _number(row[along])):
        if figure in row:
            label = ", ".join(f"{name} {_word(row[name])}" for name in others)
            point = (_word(row[along]), row[figure], row.get(f"{figure}_error", 0.0))
            lines.setdefault(label, []).append(point)
    return lines
