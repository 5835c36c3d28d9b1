"""An array on disk that grows row by row, and goes on after a kill with all rows that were written.

While it grows its header counts no rows: the length of the file does.
"""

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt


@contextmanager
def grow_array(path: Path, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Iterator["Rows"]:
    """The rows at ``path``, each of ``shape``, to append to; when the block ends well the .npy is whole."""
    path.touch()
    with path.open("r+b") as file:
        rows = Rows(file, shape, dtype)
        yield rows
        rows.finish()


class Rows:
    """An array in the making: what a process before this one wrote of it is kept."""

    def __init__(self, file: IO[bytes], shape: tuple[int, ...], dtype: "np.dtype[Any]") -> None:
        self._file, self._shape, self._dtype = file, shape, dtype
        self._row_bytes = math.prod(shape) * dtype.itemsize
        self._start = len(self._header(0))
        self.cut(self._found())

    def __len__(self) -> int:
        return self._count

    def read(self, row: int) -> bytes:
        """A row as it is on disk; nothing of one that is not there."""
        self._file.seek(self._place(row))
        return self._file.read(self._row_bytes)

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Write further rows, (n, *shape); from here on a kill does not lose them."""
        assert rows.shape[1:] == self._shape
        assert rows.dtype == self._dtype
        self._file.seek(self._place(self._count))
        self._file.write(rows.tobytes())
        self._file.flush()
        self._count += len(rows)

    def cut(self, count: int) -> None:
        """Keep the first ``count`` rows and nothing behind them."""
        self._count = count
        self._write_header(0)
        self._file.truncate(self._place(count))

    def finish(self) -> None:
        """Make the header true."""
        self._write_header(self._count)

    def _found(self) -> int:
        """How many whole rows the file holds; none if it was begun for other ones."""
        count = max(0, self._file.seek(0, io.SEEK_END) - self._start) // self._row_bytes
        self._file.seek(0)
        header = self._file.read(self._start)
        return count if header in (self._header(0), self._header(count)) else 0

    def _place(self, row: int) -> int:
        return self._start + row * self._row_bytes

    def _write_header(self, count: int) -> None:
        self._file.seek(0)
        self._file.write(self._header(count))
        self._file.flush()

    def _header(self, count: int) -> bytes:
        """The beginning of the file; numpy leaves room in it, so its length is the same for any count."""
        header = io.BytesIO()
        descr = np.lib.format.dtype_to_descr(self._dtype)
        about = {"descr": descr, "fortran_order": False, "shape": (count, *self._shape)}
        np.lib.format.write_array_header_1_0(header, about)
        return header.getvalue()
