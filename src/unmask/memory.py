"""How the process handles memory that torch gives back, on a CPU."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
# Where glibc's own thresholds, which rise with what a process frees, come to rest.
USUAL = {M_MMAP_MAX: 65_536, M_MMAP_THRESHOLD: 32 * 2**20, M_TRIM_THRESHOLD: 64 * 2**20}


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within the block the C library keeps large freed blocks for the next use instead of returning them.

    Activations of tens of megabytes are freed and wanted again all the time; each time the system has to hand
    out cleared pages anew. It suits work whose tensors always have the same sizes: where they vary, memory
    breaks into pieces that fit nothing. Only glibc has this switch; elsewhere nothing happens.
    """
    _set({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1})
    try:
        yield
    finally:
        _set(USUAL)


def release_memory() -> None:
    """Give pages that are free back to the system, those in the middle of the heap too.

    Tensors whose sizes vary from batch to batch leave gaps in the heap, which would grow for as long as a
    training runs.
    """
    trim = _libc("malloc_trim")
    if trim is not None:
        trim(0)


def _set(options: dict[int, int]) -> None:
    mallopt = _libc("mallopt")
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)


def _libc(function: str) -> Any:
    """A function of the C library, None where it has no such."""
    return getattr(ctypes.CDLL(None), function, None) if sys.platform == "linux" else None
