"""Command lines drawn from the commands' own dataclasses, run in this process on a tiny model."""

import contextlib
import dataclasses
import io
import os
import random
import typing
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from tests.torture.campaign import REFUSALS, Campaign
from tests.torture.files import picture
from tests.untrained import untrained
from unmask.cli.main import COMMANDS, run_command
from unmask.diffusion.settings import SETTINGS
from unmask.storage import bundles

LEFT_OUT = {"studio", "demo", "weights", "import", "tune"}  # serve for ever, take minutes, or ask the network
INTEGERS = ("0", "1", "2", "3", "-1", "2147483648", "99999999999999", "9" * 30, "nan", "", "two")
NUMBERS = ("0", "0.5", "1", "2", "-1", "nan", "inf", "-inf", "1e308", "1e999", "", "half")
TEXTS = (
    "",
    "cat",
    "cat dog",
    "ä\u202e",
    "\x1b]0;x\x07",
    "x" * 300,
    "-",
    "../..",
    "none",
    "auto",
    "recommended",
    "paper",
)
INPUTS = (
    "model",
    "pictures",
    "one.png",
    "absent",
    "empty",
    "loop",
    "pipe.zip",
    "~nobody-here/x",
    "n" * 300,
    "",
    "text.txt",
)
OUTPUTS = (
    "out",
    "out.png",
    "out.gif",
    "out.csv",
    "out.codes",
    "deep/er/out.png",
    "loop",
    "text.txt",
    "empty",
    "n" * 300,
)
WRITTEN = {"out", "csv", "grid", "gif", "save"}


class Commands(Campaign):
    def __init__(self, home: Path) -> None:
        super().__init__(home)
        os.environ["UNMASK_CACHE"] = str(home / "cache")
        bundles.save(untrained(words=("cat", "dog")), home / "model")
        (home / "pictures").mkdir()
        for number in range(6):
            (home / "pictures" / f"{number}.png").write_bytes(picture(number=number))
        self._kinds = {
            name: import_module(module).Arguments
            for name, (module, _) in COMMANDS.items()
            if name not in LEFT_OUT and hasattr(import_module(module), "Arguments")
        }

    def trial(self, rng: random.Random, folder: Path) -> str | None:
        self._furnish(folder)
        name = rng.choice(list(self._kinds))
        words = [*name.split(), *drawn(self._kinds[name], rng)]
        words += ["--print-config"] if name.startswith("train") else []
        (folder / "COMMAND.txt").write_text(repr(words))
        os.chdir(folder)
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                run_command(words)
        except REFUSALS:
            return None
        except SystemExit as left:
            return None if left.code in (0, 2) else f"exit code {left.code}: {said.getvalue()[-500:]}"
        return None

    def _furnish(self, folder: Path) -> None:
        for name in ("model", "pictures"):
            (folder / name).symlink_to(self.home / name)
        (folder / "loop").symlink_to("loop")
        (folder / "empty").mkdir()
        (folder / "text.txt").write_text("cat\n")
        (folder / "one.png").write_bytes(picture())
        os.mkfifo(folder / "pipe.zip")


def drawn(kind: type, rng: random.Random) -> list[str]:
    """Arguments for a dataclass: what is wanted, and now and then what is not."""
    positional, options = [], []
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        if "Positional" in repr(hints[field.name]):
            positional.append(_positional(field.name, rng))
        elif rng.random() < 0.35 or not _has_default(field):
            options += _option(field, hints[field.name], rng)
    options += _small(kind)
    return [*positional[: rng.choice((len(positional),) * 8 + (1,))], *options]


def _small(kind: type) -> list[str]:
    """What keeps a command that is followed short."""
    names = {field.name for field in dataclasses.fields(kind)}
    return [
        *(["--count", "2"] if "count" in names else []),
        *(["--steps", "2"] if "sampling" in names else []),
    ]


def _positional(name: str, rng: random.Random) -> str:
    right = {"model": "model", "codec": "model", "prompt": "cat", "image": "one.png"}.get(name, "pictures")
    return right if rng.random() < 0.8 else rng.choice(INPUTS)


def _option(field: Any, hint: Any, rng: random.Random, prefix: str = "--") -> list[str]:
    inside = _inside(field, hint)
    if inside is not None:
        flat = "name=''" in repr(hint)
        chosen = rng.sample(dataclasses.fields(inside), k=min(2, len(dataclasses.fields(inside))))
        hints = typing.get_type_hints(inside, include_extras=True)
        before = prefix if flat else f"{prefix}{_flag(field.name)}."
        return [word for one in chosen for word in _option(one, hints[one.name], rng, before)]
    flag = f"{prefix}{_flag(field.name)}"
    if _plain(hint) is bool:
        return [rng.choice((flag, f"{flag.removesuffix(field.name)}no-{_flag(field.name)}"))]
    return [f"{flag}={_value(field.name, hint, rng)}"]


def _value(name: str, hint: Any, rng: random.Random) -> str:
    plain = _plain(hint)
    if name in SETTINGS:
        each = SETTINGS[name]
        return rng.choice([*(each.choices or ()), *(INTEGERS if each.kind == "integer" else NUMBERS)])
    if typing.get_origin(plain) is Literal:
        return rng.choice([*map(str, typing.get_args(plain)), "another"])
    if plain is Path:
        return rng.choice(OUTPUTS if name in WRITTEN else INPUTS)
    pool = {int: INTEGERS, float: NUMBERS}.get(plain, TEXTS + INPUTS)
    return rng.choice(pool)


def _inside(field: Any, hint: Any) -> type | None:
    if field.default_factory is not dataclasses.MISSING and dataclasses.is_dataclass(
        made := field.default_factory()
    ):
        return type(made)
    plain = _plain(hint)
    return plain if dataclasses.is_dataclass(plain) else None


def _plain(hint: Any) -> Any:
    """A type without annotations and None."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    inner = [one for one in typing.get_args(hint) if one is not type(None)]
    is_union = type(None) in typing.get_args(hint)
    return _plain(inner[0]) if is_union and len(inner) == 1 else hint


def _flag(name: str) -> str:
    return name.replace("_", "-")


def _has_default(field: Any) -> bool:
    return not (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
