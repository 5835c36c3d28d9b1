"""How the process handles memory that torch gives back, on a CPU."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
# Where glibc's own thresholds, which rise with what a process frees, come to rest.
USUAL = {M_MMAP_MAX: 65_536, M_MMAP_THRESHOLD: 32 * 2**20, M_TRIM_THRESHOLD: 64 * 2**20}


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within the block the C library keeps large freed blocks for the next use instead of returning them.

    Activations of tens of megabytes are freed and wanted again all the time; each time the system has to hand
    out cleared pages anew. Keeping them makes the codec's convolutions about a fifth faster
    (benchmarks/codec.py). It suits work whose tensors always have the same sizes: where they vary, memory
    breaks into pieces that fit nothing. Only glibc has this switch; elsewhere nothing happens.
    """
    _set({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1})
    try:
        yield
    finally:
        _set(USUAL)


def _set(options: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)
