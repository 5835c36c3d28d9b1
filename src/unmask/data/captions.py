"""Captions of a set's images: found beside them, read from a file, or taken from their folders.

The first of these that captions anything captions the set: what the source itself knows (a built-in set, a
labels file beside an array), ``metadata.jsonl`` or ``metadata.csv``, ``name.txt`` (``.cls``, ``.json``)
beside ``name.jpg``, one folder per class.
"""

import csv
import io
import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import splitext
from typing import Any

from unmask.data.base import MAX_FILE_BYTES, Source, reading
from unmask.data.config import num_clusters
from unmask.errors import DataError
from unmask.reading import (
    DamagedError,
    brief,
    expanded,
    lines_of,
    map_array,
    parse_json,
    parsing,
    printable,
    read_bytes,
)

METADATA = ("metadata.jsonl", "metadata.csv")
COLUMNS = ("text", "label")  # of a table; the first of those that it has holds the captions
BESIDE = (".txt", ".cls", ".json")  # the first of those that an image has holds its caption
NONE = "train without:  --images.captions none"

Caption = str | None
Place = str
"""Where something stands, for people: ``metadata.csv, line 4``."""


@dataclass(frozen=True)
class Captions:
    """A caption, or None, for each entry of a source, in its order."""

    texts: list[Caption]
    origin: str = "none"
    """For people: where they were found."""
    files: Counter[str] = field(default_factory=Counter)
    """Suffixes of the files that hold them."""
    ambiguous: list[str] = field(default_factory=list)
    """What could have been read otherwise, a sentence each."""

    def __bool__(self) -> bool:
        return any(text is not None for text in self.texts)


def read_captions(source: Source, setting: str) -> Captions:
    """The captions that ``--images.captions`` asks for; groups of similar images are found in training."""
    if setting == "none" or num_clusters(setting):
        return Captions([None] * len(source))
    if setting == "folder":
        return _from_folders(source)
    if setting != "auto":
        return _from_file(source, expanded(setting))
    for find in (_from_source, _from_metadata, _from_files_beside, _from_class_folders):
        if found := find(source):
            return found
    return Captions([None] * len(source))


def read_list(path: Path, count: int) -> list[Caption]:
    """A caption a line of a text file, or the labels of a .npy, for ``count`` images in their order."""
    if path.suffix == ".npy":
        texts = [str(label) for label in _read_labels(path)]
    else:
        texts = lines_of(_decoded(_bytes_of(path), str(path)))
    if len(texts) != count:
        raise DataError(f"{path} captions {len(texts):,} images, but there are {count:,}", hint=NONE)
    return [_tidy(text) for text in texts]


def _from_source(source: Source) -> Captions:
    return Captions(list(source.captions()), "its own labels")


def _from_metadata(source: Source) -> Captions:
    tables: dict[str, dict[str, str]] = defaultdict(dict)  # by folder, by the file's own name
    for name in source.beside:
        folder, own = posixpath.split(name)
        if own in METADATA:
            tables[folder][own] = name
    placing = _Placing(source)
    for folder, names in tables.items():
        first = names[min(names, key=METADATA.index)]
        placing.apply(source.read_beside(first), printable(first), folder)
    read = sorted({min(names, key=METADATA.index) for names in tables.values()})
    twice = [
        f"{', '.join(METADATA)} both stand in {f or '.'}" for f, names in tables.items() if len(names) > 1
    ]
    kinds = Counter(PurePosixPath(own).suffix for names in tables.values() for own in names)
    return Captions(placing.texts, " and ".join(read), kinds, twice)


def _from_file(source: Source, path: Path) -> Captions:
    if path.suffix in (".jsonl", ".csv"):
        placing = _Placing(source)
        placing.apply(_bytes_of(path), str(path), "")
        texts = placing.texts
    elif path.suffix in (".txt", ".npy"):
        texts = read_list(path, len(source))
    else:
        raise DataError(
            f"{path} holds no captions; wanted a .jsonl, .csv, .txt or .npy",
            hint="otherwise:  --images.captions auto, none, folder or clusters:64",
        )
    return Captions(texts, str(path))


class _Placing:
    """Puts the captions of tables in their places."""

    def __init__(self, source: Source) -> None:
        self.texts: list[Caption] = [None] * len(source)
        self._name = source.name
        self._index_of = {entry.name: index for index, entry in enumerate(source.entries)}
        self._lines: dict[int, Place] = {}
        """Which line captions an image."""

    def apply(self, data: bytes, name: str, folder: str) -> None:
        """Take the captions of a table's lines, whose names of files are relative to ``folder``."""
        parse = _json_lines if name.endswith(".jsonl") else _csv_lines
        for place, row in parse(_decoded(data, name), name):
            if not isinstance(row.get("file_name"), str):
                raise DataError(f"{place}: there is no file_name", hint=NONE)
            image = printable(posixpath.normpath(posixpath.join(folder, row["file_name"])))
            if image not in self._index_of:
                raise DataError(f"{place}: {self._name} holds no image {image}", hint=NONE)
            index = self._index_of[image]
            if index in self._lines:
                raise DataError(f"{place}: {image} has a caption already, by {self._lines[index]}", hint=NONE)
            self.texts[index], self._lines[index] = _caption_in(row, place), place


def _json_lines(text: str, name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    for number, line in enumerate(lines_of(text), start=1):
        if line.strip():
            yield f"{name}, line {number}", _json_object(line, f"{name}, line {number}")


def _csv_lines(text: str, name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        with parsing():
            for row in rows:
                place = f"{name}, line {rows.line_num}"
                column = next((column for column in COLUMNS if column in row), None)
                if column and row[column] is None:
                    raise DataError(f"{place} ends before {column}", hint=NONE)
                yield place, row
    except DamagedError as error:
        raise DataError(f"{name}, line {rows.reader.line_num}: {error}", hint=NONE) from None


def _json_object(text: str, place: Place) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except DamagedError as error:
        why = str(error) if "\n" in text else str(error).replace(": line 1 column ", ": column ")
        raise DataError(f"{place} is not JSON: {why}", hint=NONE) from None
    if not isinstance(value, dict):
        raise DataError(f"{place} is not an object such as {{…}}", hint=NONE)
    return value


def _caption_in(row: dict[str, Any], place: Place) -> Caption:
    """The ``text``, else the ``label``, of a line; an empty one is no caption."""
    for column in COLUMNS:
        if column in row:
            value = row[column]
            if value is not None and not isinstance(value, str | int):
                raise DataError(
                    f"{place}: {column} is neither text nor a number but {brief(value)}", hint=NONE
                )
            return None if value is None else _tidy(str(value))
    raise DataError(f"{place}: there is neither text nor label", hint=NONE)


def _from_files_beside(source: Source) -> Captions:
    beside: dict[str, dict[str, str]] = defaultdict(dict)  # by the name without its suffix, by suffix
    for name in source.beside:
        path = PurePosixPath(name)
        if path.suffix.lower() in BESIDE:
            beside[printable(splitext(path)[0])][path.suffix.lower()] = name
    stems = [splitext(PurePosixPath(entry.name))[0] for entry in source.entries]  # also of "."
    images = Counter(stem for stem in stems if stem in beside)
    texts = [_caption_beside(source, beside[stem]) if stem in beside else None for stem in stems]
    kinds = Counter(kind for stem in images for kind in beside[stem])
    ambiguous = [f"{stem}: {', '.join(sorted(beside[stem]))}" for stem in images if len(beside[stem]) > 1]
    ambiguous += [f"{stem}: {count} images share a caption" for stem, count in images.items() if count > 1]
    return Captions(texts, f"{' and '.join(kinds)} files", kinds, ambiguous)


def _caption_beside(source: Source, files: dict[str, str]) -> Caption:
    name = files[min(files, key=BESIDE.index)]
    place = printable(name)
    text = _decoded(source.read_beside(name), place)
    if not name.lower().endswith(".json"):
        return _tidy(text)
    row = _json_object(text, place)
    return _caption_in(row, place) if row.keys() & set(COLUMNS) else None


def _from_folders(source: Source) -> Captions:
    """The name of the folder that an image is in."""
    names = [PurePosixPath(entry.name).parent.name for entry in source.entries]
    return Captions([_tidy(name.replace("_", " ")) for name in names], "the names of folders")


def _from_class_folders(source: Source) -> Captions:
    """The same where it looks like classes: several folders, all images as deep."""
    folders = {PurePosixPath(entry.name).parent for entry in source.entries}
    alike = len({len(folder.parts) for folder in folders}) == 1 and len({f.name for f in folders}) > 1
    return _from_folders(source) if alike else Captions([None] * len(source))


def _read_labels(path: Path) -> Sequence[Any]:
    with reading(path, " as an array", hint=NONE):
        labels = map_array(path)
        if labels.ndim != 1 or labels.dtype.kind not in "iuU":
            raise DataError(
                f"{path} holds {labels.dtype} of shape {labels.shape}; wanted a row of integers or words",
                hint=NONE,
            )
        values: list[Any] = labels.tolist()
    return values


def _bytes_of(path: Path) -> bytes:
    with reading(path, hint=NONE):
        return read_bytes(path, MAX_FILE_BYTES)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"{name}, line {line} is not UTF-8", hint=NONE) from None


def _tidy(text: str) -> Caption:
    """One printable line, single spaces; None where nothing is left."""
    return printable(" ".join(text.split())) or None
