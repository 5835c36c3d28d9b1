"""Results of a command: sentences on standard output or, with ``--json``, one object of JSON."""

import io
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from unmask.progress import QUIET

OPTIONS = {
    "--quiet": "print only results and errors",
    "--json": "print results as one JSON object on standard output, messages on stderr",
}
"""What every command takes, before whatever it takes of its own."""
_FOUND: ContextVar[dict[str, Any]] = ContextVar("FOUND")


def emit(text: RenderableType | None = None, /, **values: Any) -> None:
    """Print a sentence or a table, and keep the values for ``--json``."""
    _FOUND.get({}).update(values)
    if isinstance(text, str):
        print(text)
    elif text is not None:
        Console(highlight=False).print(text)


def listed(rows: Mapping[str, str]) -> Table:
    """A table of names, and what there is to say of each, as it stands."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    for name, text in rows.items():
        table.add_row(name, Text(text))
    return table


@contextmanager
def results(options: list[str]) -> Iterator[None]:
    """What is emitted during the block goes where the options say."""
    found: dict[str, Any] = {}
    first = int(os.environ.get("RANK", 0)) == 0  # only one of several processes prints
    as_json, quiet = "--json" in options, "--quiet" in options or not first
    tokens = QUIET.set(quiet or QUIET.get()), _FOUND.set(found)
    try:
        aside = io.StringIO() if quiet else sys.stderr
        with redirect_stdout(aside if as_json or not first else sys.stdout):
            yield
        if as_json and first:
            print(json.dumps(_plain(found), ensure_ascii=False, allow_nan=False))
    finally:
        QUIET.reset(tokens[0])
        _FOUND.reset(tokens[1])


def _plain(value: Any) -> Any:
    """A value as JSON has it: settings as a dictionary, NaN and infinity as null, paths by their names."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
