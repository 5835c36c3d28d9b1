"""Locks between processes; the system releases those of a killed one."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from unmask.storage.files import sweep


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Let one process at a time make ``target``; the lock of a killed one goes to the next."""
    target.parent.mkdir(parents=True, exist_ok=True)
    path = target.with_name(f".{target.name}.lock")
    with _locked(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Lock the file at ``path`` for the block; yield False, at once, if another process has it locked."""
    with path.open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def working_in(folder: Path, begin: Callable[[], None]) -> Iterator[None]:
    """Let several processes write into ``folder``: the first of them sweeps it, none while another works.

    Each does ``begin`` before the block, the first one alone. Where folders cannot be locked nobody sweeps.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        alone = _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not alone:
            _lock(descriptor, fcntl.LOCK_SH)  # waits for one that begins
        begin()
        if alone:
            sweep(folder)
            _lock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int) -> bool:
    """Whether the lock was acquired."""
    with suppress(OSError):
        fcntl.flock(descriptor, kind)
        return True
    return False


def _locked(path: Path) -> IO[bytes]:
    """The file at ``path``, locked by this process: not one that another removed while we waited for it."""
    while True:
        file = path.open("wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()
