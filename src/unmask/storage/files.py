"""Writes that are whole or absent: beside the target, flushed to the disk, then renamed over it.

A folder cannot be renamed over another, so a folder is replaced in two renames, with names beside it:

    best  .best.partial                  being filled: a kill here leaves the old folder
          .best.partial  .best.previous  the old one stepped aside, so the new one is known to be whole
    best                 .best.previous  the new one is in place

Only the state in the middle has no ``best``, and ``settle`` finishes it. One process writes a folder; any
number may read and settle it meanwhile, since all they ever do is a rename that fails unless it is right.

A folder that takes long to fill grows instead: it is new, several processes may want it, and after a kill the
next one continues it (``locks.alone``).
"""

import csv
import errno
import io
import json
import os
import shutil
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from safetensors import SafetensorError

from unmask.errors import DataError, UnmaskError


def cache_folder() -> Path:
    """The folder for what can be fetched or computed again: ``$UNMASK_CACHE``, else ``~/.cache/unmask``."""
    return Path(os.environ.get("UNMASK_CACHE") or "~/.cache/unmask").expanduser()


def free_name(path: Path) -> Path:
    """A path beside this one that does not exist: samples-2 where there is a folder samples."""
    number = 2
    while (free := path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return free


@contextmanager
def in_cache(what: str) -> Iterator[Path]:
    """The cache folder, for a block that keeps ``what`` there; a DataError if it cannot."""
    with accessing(folder := cache_folder(), f"hold {what}", hint="UNMASK_CACHE=/a/larger/disk"):
        yield folder


@contextmanager
def accessing(path: Path, doing: str = "be written", *, hint: str | None = None) -> Iterator[None]:
    """Turn an OSError into a DataError: this path cannot be written, be read, hold samples."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path} cannot {doing}: {error.strerror}", hint=hint) from error


def check_folder(
    path: Path, doing: str, kind: type[UnmaskError] = DataError, *, hint: str | None = None
) -> None:
    """Refuse a path that is no folder to write in and cannot become one; nothing is made there."""
    there = next(each for each in (path, *path.absolute().parents) if os.path.lexists(each))
    problem = 0 if os.access(there, os.W_OK | os.X_OK) else errno.EACCES
    problem = problem if there.is_dir() else errno.ENOTDIR
    if problem:
        raise kind(f"{path} cannot {doing}: {there}: {os.strerror(problem)}", hint=hint)


def write_bytes(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``; a reader sees the old file or the new one, never a part.

    A device, a pipe and standard output are written to, never replaced; a link stays a link.
    """
    if stream := _stream(path):
        with stream:
            stream.write(data)
        return
    path = _real(path)
    partial = path.with_name(f".{path.name}.partial-{threading.get_native_id()}")
    try:
        partial.write_bytes(data)
        _flush(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _flush(path.parent)


def _stream(path: Path) -> IO[bytes] | None:
    """A stream to write to ``path``, if it is no file that could be replaced."""
    if not path.exists():
        return None
    for number, output in ((1, sys.stdout), (2, sys.stderr)):  # opened again, they would be truncated
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), path.stat()):
                output.flush()
                return open(number, "wb", closefd=False)
    return None if path.is_file() else path.open("wb")


def write_json(path: Path, value: Any) -> None:
    """Put ``value`` at ``path`` as readable JSON, atomically."""
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def write_csv(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Put the rows of a table at ``path``, its heading first, as CSV, atomically."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_bytes(path, text.getvalue().encode())


@contextmanager
def replace_folder(target: Path, ours: Collection[str]) -> Iterator[Path]:
    """Yield an empty folder to fill; when the block ends well it takes the place of ``target``.

    ``ours`` are the names of all that we ever put there: whatever else the target holds stays in it.
    """
    target = _real(target)  # a link goes on pointing at the place; "." has a name
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    settle(target)
    partial, previous = _partial(target), _previous(target)
    for leftover in (previous, partial):  # in this order: both together mean that the new one is whole
        _remove(leftover)
    partial.mkdir()
    try:
        yield partial
        _flush_all(partial)
        _keep_others(target, partial, ours)
        _flush(partial)
    except BaseException:
        _remove(partial)
        raise
    if target.exists():
        target.rename(previous)  # from here on a kill keeps the new folder
        settle(target)
    else:
        partial.rename(target)
    _flush(target.parent)
    _remove(previous)


@contextmanager
def grow_folder(target: Path) -> Iterator[Path]:
    """Yield the folder to fill, as it was left if the block was cut off before; at the end it is ``target``.

    Only for one that is ``alone`` with the target.
    """
    partial = _partial(target)
    partial.mkdir(exist_ok=True)
    yield partial
    _flush_all(partial)
    partial.rename(target)
    _flush(target.parent)


def remove_folder(target: Path) -> None:
    """Remove ``target`` atomically, so that no reader sees a part of it."""
    removed = target.with_name(f".{target.name}.removed")
    _remove(removed)
    target.rename(removed)
    _remove(removed)


def settle(target: Path) -> tuple[int, int] | None:
    """Finish a replacement of ``target`` that was cut off; return what tells its versions apart."""
    target = _real(target)
    if not target.exists() and _previous(target).exists():
        with suppress(OSError):  # another process was quicker, and target is no longer absent
            _partial(target).rename(target)
    with suppress(FileNotFoundError):
        status = target.stat()
        return status.st_ino, status.st_mtime_ns
    return None


def settle_within(folder: Path) -> None:
    """Finish whatever replacement was cut off in ``folder``."""
    for previous in folder.glob(".*.previous"):
        settle(folder / previous.name[1:].removesuffix(".previous"))


def sweep(folder: Path) -> None:
    """Remove partial writes that kills left in ``folder``; only for a process that writes there alone."""
    settle_within(folder)
    for pattern in (".*.previous", ".*.partial*", ".*.removed"):
        for leftover in folder.glob(pattern):
            _remove(leftover)


@contextmanager
def writing(
    target: Path, wanted: int, kind: type[UnmaskError] = DataError, *, hint: str | None = None
) -> Iterator[None]:
    """Turn a failure to write ``target`` into an error that says how much it takes and how much is free."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        disk = next(folder for folder in target.absolute().parents if folder.exists())
        room = f"it takes {wanted:,} bytes, {shutil.disk_usage(disk).free:,} are free"
        raise kind(f"{target} could not be written: {error}; {room}", hint=hint) from error


def _real(path: Path) -> Path:
    """The path without links; one of circular links as it is, for the disk to refuse."""
    return Path(os.path.realpath(path))


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.partial")


def _previous(target: Path) -> Path:
    return target.with_name(f".{target.name}.previous")


def _keep_others(old: Path, new: Path, ours: Collection[str]) -> None:
    """Give what ``old`` holds beside ``ours`` a second name in ``new``: at every instant it has one."""
    for path in old.iterdir() if old.exists() else ():
        if path.name in ours:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True, copy_function=_link)
        else:
            _link(path, new / path.name)


def _link(old: Path | str, new: Path | str) -> None:
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:  # some file systems have no hard links
        shutil.copy2(old, new, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush_all(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        _flush(path)


def _flush(path: Path) -> None:
    """Force a file, or a folder's list of names, out of the operating system's cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
