"""LMDB databases, read page by page: nothing in a damaged file can end the process.

The library that LSUN was written with maps the file and follows what it finds there, so that a file that is
cut off ends in SIGBUS. Here every page is read into memory and every place in it is checked.

    page    16 bytes: its number (8), padding (2), its kind (2), the end of its list of nodes (2), …
            then the place of each node (2), and somewhere after them the nodes
    node    8 bytes: four numbers of 2, the last of them the length of its key; then the key, then the value
            of a branch, the first three are the number of the page below
            of a leaf, the first two are the length of the value; the third says if that has pages of its own
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from unmask.reading import DamagedError

MAGIC, VERSION = 0xBEEFC0DE, 1
HEADER = 16
BRANCH, LEAF = 1, 2  # kinds of pages
PLAIN, BIG = 0, 1  # values beside their keys, and on pages of their own
MAX_DEPTH = 32  # of the library itself
NO_PAGE = 2**64 - 1


class Place(NamedTuple):
    """Where in the file a value is."""

    key: bytes
    offset: int
    length: int


def places(path: Path) -> list[Place]:
    """All keys of a database in their order, and where their values are; a DamagedError if it is damaged."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        return _Tree(file, size).places()


class _Tree:
    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size, self._page_size = file, size, 512
        metas = [self._meta(self._read(0, 512))]
        self._page_size = metas[0][1]
        if self._page_size not in (2**power for power in range(9, 17)):
            raise DamagedError("its page size is no power of two")
        metas.append(self._meta(self._read(self._page_size, 512)))
        _, _, self._root, self._entries = max(metas)  # the newer transaction
        self._visited = 0

    def places(self) -> list[Place]:
        found = list(self._walk(self._root, MAX_DEPTH)) if self._root != NO_PAGE else []
        if len(found) != self._entries:
            raise DamagedError(f"it holds {len(found)} values, not {self._entries}")
        return found

    def _walk(self, number: int, depth: int) -> Iterator[Place]:
        self._visited += 1
        if not depth or self._visited * self._page_size > self._size:
            raise DamagedError("its pages run in circles")
        page = self._page(number)
        (kind,) = struct.unpack_from("<H", page, 10)
        for at, low, high, flags, length in _nodes(page):
            if kind & BRANCH:
                yield from self._walk(low | high << 16 | flags << 32, depth - 1)
            elif kind & LEAF:
                key = page[at + 8 : at + 8 + length]
                start, size = at + 8 + length, low | high << 16
                yield self._place(key, number, start, size, flags, page)
            else:
                raise DamagedError(f"page {number} is of no kind")

    def _place(self, key: bytes, number: int, start: int, size: int, flags: int, page: bytes) -> Place:
        if flags == PLAIN and start + size <= len(page):
            return Place(key, number * self._page_size + start, size)
        if flags == BIG and start + 8 <= len(page):
            (first,) = struct.unpack_from("<Q", page, start)
            if (offset := first * self._page_size + HEADER) + size <= self._size:
                return Place(key, offset, size)
        raise DamagedError(f"a value of page {number} is not where it should be")

    def _page(self, number: int) -> bytes:
        page = self._read(number * self._page_size, self._page_size)
        if struct.unpack_from("<Q", page)[0] != number:
            raise DamagedError(f"page {number} is another one")
        return page

    def _read(self, offset: int, length: int) -> bytes:
        if offset + length > self._size:
            raise DamagedError(f"it is cut off at {self._size:,} bytes")
        self._file.seek(offset)
        return self._file.read(length)

    def _meta(self, page: bytes) -> tuple[int, int, int, int]:
        """Number of the transaction, size of a page, the root's number, how many values there are."""
        magic, version = struct.unpack_from("<II", page, HEADER)
        if (magic, version) != (MAGIC, VERSION):
            raise DamagedError("it is no LMDB database")
        (page_size,) = struct.unpack_from("<I", page, 40)
        entries, root, _, transaction = struct.unpack_from("<QQQQ", page, 120)
        return transaction, page_size, root, entries


def _nodes(page: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Place and first four numbers of every node of a page."""
    (end,) = struct.unpack_from("<H", page, 12)
    if not HEADER <= end <= len(page):
        raise DamagedError("a page's list of nodes ends outside it")
    for (at,) in struct.iter_unpack("<H", page[HEADER : end & ~1]):
        if at + 8 > len(page):
            raise DamagedError("a node is outside its page")
        low, high, flags, length = struct.unpack_from("<HHHH", page, at)
        if at + 8 + length > len(page):
            raise DamagedError("a key is outside its page")
        yield at, low, high, flags, length
