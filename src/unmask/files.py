"""Writes that are whole or absent: beside the target, flushed to the disk, then renamed over it.

A folder cannot be renamed over another, so a folder is replaced in two renames, and ``settle`` finishes a
replacement that was cut off between them. Whoever reads such a folder settles it first.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


def cache_folder() -> Path:
    """The folder for what can be fetched or computed again: ``$UNMASK_CACHE``, else ``~/.cache/unmask``."""
    return Path(os.environ.get("UNMASK_CACHE") or "~/.cache/unmask").expanduser()


def write_bytes(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``; a reader sees the old file or the new one, never a part."""
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(data)
        _flush(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _flush(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Put ``value`` at ``path`` as readable JSON, atomically."""
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


@contextmanager
def replace_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; when the block ends well it takes the place of ``target``."""
    settle(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    _remove(partial)
    partial.mkdir()
    try:
        yield partial
        for path in (*partial.rglob("*"), partial):
            _flush(path)
    except BaseException:
        _remove(partial)
        raise
    partial.rename(_complete(target))  # from here on a kill keeps the new folder
    settle(target)


def settle(target: Path) -> None:
    """Finish a replacement of ``target`` that was interrupted; do nothing where there was none."""
    complete, previous = _complete(target), _previous(target)
    with suppress(FileNotFoundError):  # a second process was settling it too
        if complete.exists():
            if target.exists():
                _remove(previous)
                target.rename(previous)
            complete.rename(target)
            _flush(target.parent)
        if target.exists() and previous.exists():
            _remove(previous)


def _complete(target: Path) -> Path:
    return target.with_name(f".{target.name}.complete")


def _previous(target: Path) -> Path:
    return target.with_name(f".{target.name}.previous")


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _flush(path: Path) -> None:
    """Force a file, or a folder's list of names, out of the operating system's cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
