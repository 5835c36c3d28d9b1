"""How the process handles memory that torch gives back, on a CPU."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h


def keep_freed_memory() -> None:
    """Make the C library keep large blocks for the next use instead of returning them to the system.

    Activations of tens of megabytes are freed and wanted again all the time; each time the system has to hand
    out cleared pages anew. Keeping them makes the codec's convolutions about a fifth faster
    (benchmarks/codec.py). Only glibc has this switch; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(M_MMAP_MAX, 0)
            libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
