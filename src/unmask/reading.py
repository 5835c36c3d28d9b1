"""Where files become values: whatever the bytes are, there is a value, an OSError or a DamagedError.

Parsers raise anything on damaged bytes: errors of their own, IndexError, RecursionError, OverflowError.
So none of them is called outside ``parsing``, and nobody has to know what they raise.
"""

import errno
import io
import json
import os
import reprlib
import stat
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from unmask.errors import ConfigError, UnmaskError

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_JSON_BYTES = 1 << 28
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120


class Readable(Protocol):
    """A file, or what unpacks one."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, or what is left."""


class DamagedError(ValueError):
    """Bytes that are not what they should be; the message says why in a few words."""


@contextmanager
def parsing() -> Iterator[None]:
    """Turn whatever the block raises about bytes into a DamagedError; an OSError stays one."""
    try:
        yield
    except (UnmaskError, OSError, DamagedError):
        raise
    except Exception as error:
        raise DamagedError(reason(error)) from error


def reason(error: Exception) -> str:
    """Why something could not be read, in one short line that is safe to print."""
    words = (isinstance(error, OSError) and error.strerror) or str(error).strip() or type(error).__name__
    line = printable(words.splitlines()[0])
    return line if len(line) <= 240 else f"{line[:240]}…"


def lines_of(text: str) -> list[str]:
    """The lines of a text file. ``str.splitlines`` parts them at more than line feeds, such as U+2028."""
    return [line.rstrip("\r\n") for line in io.StringIO(text, newline="\n")]


def expanded(path: str) -> Path:
    """The path with a ``~`` at its beginning spelt out."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        name = Path(path).parts[0]
        raise ConfigError(f"there is no home folder {name}", hint=f"a name like that:  ./{path}") from None


def printable(text: str) -> str:
    """``text`` with control characters and undecodable bytes spelt out: safe to print and to store."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def brief(value: object) -> str:
    """``repr`` of a value from a file, shortened."""
    return _SHORT.repr(value)


def parse_json(data: bytes | str) -> Any:
    """The value of a JSON text. NaN and the infinities are no JSON."""
    with parsing():
        return json.loads(data, parse_constant=_refuse)


def parse_yaml(data: bytes) -> Any:
    """The plain value of a YAML text."""
    import yaml

    with parsing():
        try:
            return yaml.safe_load(data)
        except yaml.MarkedYAMLError as error:  # its first line says only where
            line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
            raise DamagedError(f"{printable(error.problem or '')}{line}") from error


def read_json(path: Path) -> Any:
    """The value of a JSON file."""
    return parse_json(read_bytes(path))


def read_bytes(path: Path, most: int = MAX_JSON_BYTES) -> bytes:
    """The content of a regular file that has ``most`` bytes at the most; a pipe would be waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return read_at_most(file, most)


def read_at_most(file: Readable, most: int) -> bytes:
    """The rest of a file, which may be unpacked meanwhile, unless it has more than ``most`` bytes."""
    with parsing():
        data = file.read(most + 1)
    if len(data) > most:
        raise DamagedError(f"it holds more than {most:,} bytes")
    return data


def map_array(path: Path) -> "npt.NDArray[Any]":
    """The array of a .npy file, mapped from the disk."""
    import numpy as np

    with parsing(), np.errstate(over="raise"):
        return np.lib.format.open_memmap(path, mode="r")


def fit(value: Any, hint: Any, name: str) -> Any:
    """``value`` as the type that ``hint`` names, where that loses nothing."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is types.UnionType:
        for kind in inner:
            with suppress(ConfigError):
                return fit(value, kind, name)
    if origin is typing.Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
        if len(kinds) == len(value):
            return tuple(fit(one, kind, name) for one, kind in zip(value, kinds, strict=True))
    if origin is list and isinstance(value, list):
        return [fit(one, inner[0], name) for one in value]
    if origin is dict and isinstance(value, dict):
        return {key: fit(one, inner[1], name) for key, one in value.items()}
    if hint is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return float(value)  # YAML reads 1e-4 as text, and JSON has no infinity
    if hint is int and type(value) is int and not -(2**63) <= value < 2**63:
        raise ConfigError(f"{name} is {brief(value)}, which no machine counts to")
    if isinstance(hint, type) and type(value) is hint:
        return value
    wanted = " or ".join(map(repr, inner)) if origin is typing.Literal else getattr(hint, "__name__", hint)
    raise ConfigError(f"{name} is {brief(value)}, but should be {wanted}")


def _refuse(constant: str) -> NoReturn:
    raise DamagedError(f"{constant} is no number of JSON")
