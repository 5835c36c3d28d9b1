"""A data set's codes on disk: ``codes.npy``, memory-mapped, and ``codes.json``, which says whose they are.

    churches.codes/  codes.npy (pictures, views, N) uint16 or int32   codes.json   index.jsonl
                     captions.json, where there are captions: one, or null, for each picture

Training pictures come first, then those of validation, each in every view (``data.views``). A row is a
picture; how rows are kept, verified and made again: ``storage.arrays``. Their hashes cover the stamp too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from einops import rearrange
from torch import Tensor

from unmask.config import merge
from unmask.data.base import combined_hash
from unmask.data.captions import Caption
from unmask.data.config import ImagesConfig
from unmask.data.pixels import Pixels, PixelSet
from unmask.data.splits import Split
from unmask.data.transforms import Pixels8, to_tensor
from unmask.data.views import every_view, num_views
from unmask.distributed import ALONE, Group
from unmask.errors import DataError
from unmask.progress import bar
from unmask.reading import DamagedError, map_array, parsing, read_json, reason
from unmask.storage import files, seals
from unmask.storage.arrays import INDEX, WHOLE, Item, Layout, load_rows, open_rows

FORMAT = 2  # 1 had no hashes
CODES, STAMP, CAPTIONS = "codes.npy", "codes.json", "captions.json"
OURS = {CODES, STAMP, CAPTIONS, INDEX, WHOLE}
StoredCodes = npt.NDArray[np.uint16] | npt.NDArray[np.int32]
Encode = Callable[[Tensor], Tensor]
"""(B, 3, H, W) images in [0, 1] to (B, h, w) codes, on whatever device."""


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What a store holds: enough to know whether it is the right one."""

    codec: str
    """Fingerprint of the codec that made the codes."""
    pixels: tuple[str, str]
    """Fingerprints of the pictures of each split."""
    data: str = field(compare=False)
    """What the user called the pictures; by another name they are the same."""
    image_size: int
    grid: tuple[int, int]
    codebook_size: int
    flips: bool
    num_train: int
    num_validation: int
    shift: int = 0
    crops: int = 1
    precision: str = "float32"
    """In which the codec computed."""
    captions: str = field(default="", compare=False)
    """Hash of all captions, which may change while the codes stay; empty where there are none."""
    images: dict[str, Any] = field(default_factory=dict, compare=False)
    """How the pictures were prepared and split; what that came to is in their fingerprints."""
    format: int = field(default=FORMAT, compare=False)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the array on disk: pictures, views of each, positions."""
        views = self.crops * num_views(flip=self.flips, shift=self.shift)
        return self.num_train + self.num_validation, views, self.grid[0] * self.grid[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest that holds every code and MASK."""
        return np.dtype("<u2" if self.codebook_size < 2**16 else "<i4")

    @property
    def layout(self) -> Layout:
        """Of the folder; rows are known to be of this stamp by their hashes."""
        later = {"crops": 1, "precision": "float32"}  # by their defaults keys are as they ever were
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.compare}
        key = combined_hash(value for name, value in values.items() if value != later.get(name)).encode()
        return Layout(file=CODES, shape=self.shape[1:], dtype=self.dtype, key=key)


class _NoStampError(DataError):
    """A store without a stamp that can be read."""


class CodeSet:
    """The codes of one split, read from the disk as they are asked for."""

    def __init__(self, rows: StoredCodes, captions: Sequence[Caption]) -> None:
        self._rows = rows  # (n, N)
        self.captions = captions
        """Of each row."""

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, indices: npt.ArrayLike) -> Tensor:
        """(B, N) int64 codes of the given rows."""
        return torch.from_numpy(self._rows[np.asarray(indices, np.int64)].astype(np.int64))


class Codes:
    """A store that is whole, and made by the codec it is used with."""

    def __init__(self, stamp: Stamp, rows: StoredCodes, captions: Sequence[Caption] = ()) -> None:
        self.stamp = stamp
        self._rows = rows  # (pictures, views, N)
        self._captions = captions or [None] * len(rows)

    def split(self, name: Split) -> CodeSet:
        """The codes of one split: for training in every view, for validation as the pictures are."""
        border = self.stamp.num_train
        if name == "train":
            captions = [caption for caption in self._captions[:border] for _ in range(self._rows.shape[1])]
            return CodeSet(rearrange(self._rows[:border], "n views N -> (n views) N"), captions)
        return CodeSet(self._rows[border:, 0], self._captions[border:])


def encode_pixels(
    encode: Encode,
    pixels: Pixels,
    images: ImagesConfig,
    out: Path,
    *,
    codec: str,
    grid: tuple[int, int],
    codebook_size: int,
    data: str,
    captions: Sequence[Caption] = (),
    precision: str = "float32",
    batch: int = 32,
    processes: Group = ALONE,
) -> Codes:
    """Encode both splits of ``pixels`` into ``out``, or take what is there if it is just that.

    ``images`` says how ``data`` became these pixels, and in which views they are encoded; ``codec`` is the
    fingerprint of what encodes, in ``precision``. ``captions`` are those of all pictures, training first.
    ``processes`` share the work.
    """
    train, validation = pixels.split("train"), pixels.split("validation")
    stamp = Stamp(
        codec=codec,
        pixels=(train.fingerprint, validation.fingerprint),
        data=data,
        image_size=images.size,
        grid=grid,
        codebook_size=codebook_size,
        flips=images.flip,
        num_train=len(train),
        num_validation=len(validation),
        shift=images.shift,
        crops=images.num_crops,
        precision=precision,
        captions=captions_hash(captions),
        images=asdict(images),
    )
    there = _stamp_there(out, stamp)
    if there and there.format < FORMAT and (older := _load(out, there)) is not None:
        return Codes(stamp, older, captions)

    def make(numbers: range) -> Iterator[Item]:
        for crops in _batches(train, validation, numbers, stamp.crops):
            yield from (((), row) for row in _encode(encode, crops, stamp))

    wanted = stamp.shape[0] * stamp.layout.row_bytes
    with files.writing(out, wanted, hint="make room and say it again: it goes on from here"):
        with bar(f"encoding {data}", visible=processes.is_first) as report:
            array = open_rows(
                out,
                stamp.layout,
                make,
                stamp.shape[0],
                batch=batch,
                begin=lambda rows: _write_stamp(rows.folder, stamp),
                processes=processes,
                report=report,
            ).array
        # Rows that are whole may have lost their captions, or have been made with other settings of these.
        up_to_date = there and merge(images, there.images) == images and _has_captions(out, there, stamp)
        if processes.is_first and not up_to_date:
            if stamp.captions:
                files.write_json(out / CAPTIONS, list(captions))
            _write_stamp(out, stamp)
    return Codes(stamp, array, captions)


def open_codes(folder: Path, codec: str) -> Codes:
    """The store at ``folder``; refused unless the codec of that fingerprint made it."""
    stamp = _read_stamp(folder)
    _check_codec(folder, stamp, codec)
    rows, again = _load(folder, stamp), f"say again:  unmask encode CODEC {stamp.data} --out {folder}"
    if rows is None:
        raise DataError(f"{folder / CODES} is damaged, or what stands beside it", hint=again)
    if not _has_captions(folder, stamp, stamp):
        raise DataError(f"{folder / CAPTIONS} is absent or damaged", hint=again)
    captions: list[Caption] = read_json(folder / CAPTIONS) if stamp.captions else []
    return Codes(stamp, rows, captions)


def captions_hash(captions: Sequence[Caption]) -> str:
    """A hash of captions; empty where there are none."""
    return combined_hash(captions)[:16] if any(captions) else ""


def is_store(path: Path) -> bool:
    """Whether ``path`` holds codes rather than pictures."""
    return (path / STAMP).is_file()


def _has_captions(folder: Path, there: Stamp, wanted: Stamp) -> bool:
    """Whether a store with the stamp ``there`` has the captions that another speaks of."""
    if there.captions != wanted.captions or not wanted.captions:
        return there.captions == wanted.captions
    try:
        with parsing():
            return captions_hash(read_json(folder / CAPTIONS)) == wanted.captions
    except (OSError, DamagedError):
        return False


def _stamp_there(out: Path, stamp: Stamp) -> Stamp | None:
    """The stamp of what is to be made, where it is begun or done; anything else at ``out`` is refused."""
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; codes are kept in a folder", hint=f"--out {out}.codes")
    others = sorted({path.name for path in out.iterdir()} - OURS) if out.exists() else []
    try:
        there = _read_stamp(out)
    except _NoStampError:
        if others:
            raise
        return None
    _check_codec(out, there, stamp.codec)
    if there != stamp:
        raise DataError(f"{out} holds codes of other images or settings", hint="name another --out")
    if others and _load(out, there) is None:  # to make it again is to remove the folder
        raise DataError(
            f"{out / CODES} is damaged, but {out} also holds {others[0]}", hint="name another --out"
        )
    return there


def _check_codec(folder: Path, stamp: Stamp, codec: str) -> None:
    if stamp.codec != codec:
        raise DataError(
            f"{folder} holds codes from codec {stamp.codec}, but this model decodes with codec "
            f"{codec}; the same numbers would mean different patches",
            hint=f"re-encode:  unmask encode CODEC {stamp.data} --out ANOTHER.codes",
        )


def _load(folder: Path, stamp: Stamp) -> StoredCodes | None:
    """The rows, if they are whole; of an older store, if they could be."""
    if stamp.format == FORMAT:
        rows = load_rows(folder, stamp.layout)
        return rows.array if rows and rows.array.shape == stamp.shape else None
    try:
        older: StoredCodes = map_array(folder / CODES)
    except (OSError, DamagedError):
        return None
    fits = older.shape == stamp.shape and older.dtype == stamp.dtype
    return older if fits and older.max(initial=0) < stamp.codebook_size else None


def _read_stamp(folder: Path) -> Stamp:
    path = folder / STAMP
    try:
        with parsing():
            content: dict[str, Any] = read_json(path)
            if content["format"] > FORMAT:
                raise DataError(f"{path} has format {content['format']}", hint="pip install --upgrade unmask")
            older = content.keys() if content["format"] == 1 else ()
            values = seals.unsealed(content, older)
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
            stamp = Stamp(**fields)
            if 0 in stamp.layout.shape:
                raise DamagedError(f"a grid of {stamp.grid} holds no codes")
            return stamp
    except (FileNotFoundError, NotADirectoryError):
        raise _NoStampError(f"{folder} holds no codes", hint="make some:  unmask encode CODEC DATA") from None
    except (OSError, DamagedError) as error:
        raise _NoStampError(f"{path} does not describe codes: {reason(error)}") from None


def _write_stamp(folder: Path, stamp: Stamp) -> None:
    files.write_json(folder / STAMP, seals.sealed(asdict(stamp)))


def _batches(
    train: PixelSet, validation: PixelSet, numbers: range, num_crops: int
) -> Iterator[list[Pixels8]]:
    """Pictures of these numbers in the store's order, (B, H, W, 3), once for each crop of them."""
    for part, first in ((train, 0), (validation, len(train))):
        some = range(max(numbers.start - first, 0), min(numbers.stop - first, len(part)))
        if some:
            yield [part.read(some, crop) for crop in range(num_crops)]


@torch.no_grad()
def _encode(encode: Encode, crops: list[Pixels8], stamp: Stamp) -> StoredCodes:
    """(B, H, W, 3) pictures, once for each crop of them, to (B, views, N)."""
    views = [view for crop in crops for view in every_view(crop, flip=stamp.flips, shift=stamp.shift)]
    codes = [encode(to_tensor(np.ascontiguousarray(view))) for view in views]
    rows: StoredCodes = rearrange(codes, "views B h w -> B views (h w)").cpu().numpy().astype(stamp.dtype)
    return rows
