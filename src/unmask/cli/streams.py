"""Standard streams that may be closed or unread."""

import io
import os
import sys
from contextlib import suppress
from typing import Any


def settle_streams() -> None:
    """Open the standard streams that were closed, and let no failure to write to stderr end the work."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # the next file would take the number, and what is meant for the stream
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 (for the rest of the process)
    if sys.stderr is sys.__stderr__:
        binary = io.BufferedWriter(_BestEffortStream(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(binary, errors="backslashreplace", line_buffering=True)


class _BestEffortStream(io.FileIO):
    """A stream whose reader may leave and whose disk may be full: what it cannot take is lost."""

    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return len(data)
