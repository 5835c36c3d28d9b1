"""Where to compute: the devices of this machine, their precision, and the CPU's allocator.

Imports torch only when called.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from unmask.errors import ConfigError

if TYPE_CHECKING:
    import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of malloc.h
# The values outside of ``tuned_allocator``, which glibc does not report: those of the environment, or those
# up to which glibc's own thresholds rise with what a process frees.
USUAL = {
    M_MMAP_MAX: int(os.environ.get("MALLOC_MMAP_MAX_", 65_536)),
    M_MMAP_THRESHOLD: int(os.environ.get("MALLOC_MMAP_THRESHOLD_", 32 * 2**20)),
    M_TRIM_THRESHOLD: int(os.environ.get("MALLOC_TRIM_THRESHOLD_", 64 * 2**20)),
}
TUNED = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1}

Device = Literal["auto", "cpu", "cuda", "mps"]
"""auto: a GPU if there is one."""
Precision = Literal["auto", "32", "bf16"]
"""auto: bfloat16 where the device has it (GPUs since 2020, CPUs with avx512_bf16), float32 elsewhere."""


def require_device(name: str) -> "torch.device":
    """The device called ``name``, such as cuda or cuda:1, for auto the best; refused if it is not here."""
    import torch

    here = _devices()
    with suppress(RuntimeError):  # torch knows no device type of that name
        device = torch.device(next(iter(here)) if name == "auto" else name)
        if (device.index or 0) < here.get(device.type, 0):
            return device
    fastest = f"--device auto  takes the fastest of {', '.join(here)}"
    raise ConfigError(f"this machine has no device {name} that torch can use", hint=fastest)


def wants_bfloat16(precision: Precision, device: str) -> bool:
    """Whether to compute in bfloat16; auto: where the device multiplies it itself instead of emulating it."""
    import torch

    if precision != "auto":
        return precision == "bf16"
    on_gpu = device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return on_gpu or (device == "cpu" and torch.cpu._is_avx512_bf16_supported())


def _devices() -> dict[str, int]:
    """How many there are of each kind, the fastest kind first."""
    import torch

    mps = torch.backends.mps.is_available()
    numbers = {"cuda": torch.cuda.device_count(), "mps": int(mps), "cpu": 1}
    return {kind: number for kind, number in numbers.items() if number}


@contextmanager
def tuned_allocator() -> Iterator[None]:
    """Within the block the C library keeps large freed blocks for the next use instead of returning them.

    Activations of tens of megabytes are freed and wanted again all the time; each time the system has to hand
    out cleared pages anew. It suits work whose tensors always have the same sizes: where they vary, memory
    breaks into pieces that fit nothing. Only glibc has this switch; elsewhere nothing happens. It is one
    for the whole process: blocks within blocks and in other threads end with the last of them, which gives
    back what was kept.
    """
    _enter(+1)
    try:
        yield
    finally:
        _enter(-1)


def release_memory() -> None:
    """Give pages that are free back to the system, those in the middle of the heap too.

    Tensors whose sizes vary from batch to batch leave gaps in the heap, which would grow for as long as a
    training runs.
    """
    trim = _libc("malloc_trim")
    if trim is not None:
        trim(0)


_lock, _blocks = threading.Lock(), 0  # blocks in which the allocator is tuned


def _enter(change: int) -> None:
    global _blocks
    with _lock:
        _blocks += change
        mallopt = _libc("mallopt")
        if mallopt is not None:
            for option, value in (TUNED if _blocks else USUAL).items():
                mallopt(option, value)
        if not _blocks:
            release_memory()


def _libc(function: str) -> Any:
    """A function of the C library, or None."""
    return getattr(ctypes.CDLL(None), function, None) if sys.platform == "linux" else None
