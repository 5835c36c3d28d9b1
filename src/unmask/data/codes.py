"""A data set's codes on disk: ``codes.npy``, memory-mapped, and ``codes.json``, which says whose they are.

    churches.codes/  codes.npy (pictures, views, N) uint16 or int32   codes.json

Training pictures come first, then those held out, each in every view (``images.views``). Rows are
appended batch by batch, so that an encoding that was cut off goes on where its file ends; one process at a
time, and the folder takes its name only when it is whole.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from einops import rearrange
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.data.config import ImagesConfig
from unmask.data.pixels import Pixels
from unmask.data.splits import Split
from unmask.data.transforms import Pixels8, to_tensor
from unmask.data.views import every_view, num_views
from unmask.errors import DataError
from unmask.progress import bar
from unmask.storage import files
from unmask.storage.arrays import grow_array

FORMAT = 1
StoredCodes = npt.NDArray[np.uint16] | npt.NDArray[np.int32]


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
    images: dict[str, Any] = field(default_factory=dict, compare=False)
    """How the pictures were prepared and split; what that came to is in their fingerprints."""
    format: int = FORMAT

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the array on disk: pictures, views of each, positions."""
        views = num_views(flip=self.flips, shift=self.shift)
        return self.num_train + self.num_validation, views, self.grid[0] * self.grid[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest that holds every code and MASK."""
        return np.dtype("<u2" if self.codebook_size < 2**16 else "<i4")

    @property
    def row_bytes(self) -> int:
        """Bytes a picture takes."""
        return self.shape[1] * self.shape[2] * self.dtype.itemsize


class CodeSet:
    """The codes of one split, read from the disk as they are asked for."""

    def __init__(self, rows: StoredCodes) -> None:
        self._rows = rows  # (n, N)

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, indices: npt.ArrayLike) -> Tensor:
        """(B, N) int64 codes of the given rows."""
        return torch.from_numpy(self._rows[np.asarray(indices, np.int64)].astype(np.int64))


class Codes:
    """A store that is whole, and made by the codec it is used with."""

    def __init__(self, stamp: Stamp, rows: StoredCodes) -> None:
        self.stamp = stamp
        self._rows = rows  # (pictures, views, N)

    def split(self, name: Split) -> CodeSet:
        """The codes of one split: for training in every view, held out as the pictures are."""
        border = self.stamp.num_train
        if name == "train":
            return CodeSet(rearrange(self._rows[:border], "n views N -> (n views) N"))
        return CodeSet(self._rows[border:, 0])


def encode(
    codec: Autoencoder,
    fingerprint: str,
    pixels: Pixels,
    data: str,
    images: ImagesConfig,
    out: Path,
    *,
    batch: int = 32,
) -> Codes:
    """Encode both splits of ``pixels`` into ``out``, or take what is there if it is just that.

    ``images`` says how ``data`` became these pixels, and in which views they are encoded.
    """
    train, validation = pixels.split("train"), pixels.split("validation")
    edge = codec.config.grid(images.size)
    stamp = Stamp(
        codec=fingerprint,
        pixels=pixels.fingerprints,
        data=data,
        image_size=images.size,
        grid=(edge, edge),
        codebook_size=codec.codebook_size,
        flips=images.flip,
        num_train=len(train),
        num_validation=len(validation),
        shift=images.shift,
        images=asdict(images),
    )
    if not out.exists():
        try:
            _fill(out, stamp, codec, pixels, batch)
        except OSError as error:
            message = files.shortage(out, stamp.shape[0] * stamp.row_bytes, error)
            raise DataError(message, hint="make room and say it again: it goes on from here") from error
    codes = open_codes(out, fingerprint)
    if codes.stamp != stamp:
        raise DataError(f"{out} holds codes of other pictures or settings", hint="name another --out")
    return codes


def open_codes(folder: Path, fingerprint: str) -> Codes:
    """The store at ``folder``; refused unless the codec of that fingerprint made it."""
    stamp = _read_stamp(folder)
    if stamp.codec != fingerprint:
        raise DataError(
            f"{folder} holds codes from codec {stamp.codec}, but this model decodes with codec "
            f"{fingerprint}; the same numbers would mean different patches",
            hint=f"re-encode:  unmask encode CODEC {stamp.data} --out ANOTHER.codes",
        )
    path = folder / "codes.npy"
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is damaged: {error}", hint=f"remove {folder} and encode again") from error
    if rows.shape != stamp.shape or rows.dtype != stamp.dtype:
        raise DataError(
            f"{path} holds {rows.dtype} {rows.shape}, but codes.json says {stamp.dtype} {stamp.shape}",
            hint=f"remove {folder} and encode again",
        )
    return Codes(stamp, rows)


def is_store(path: Path) -> bool:
    """Whether ``path`` holds codes rather than pictures."""
    return (path / "codes.json").is_file()


def _read_stamp(folder: Path) -> Stamp:
    path = folder / "codes.json"
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        if content["format"] > FORMAT:
            raise DataError(f"{path} has format {content['format']}", hint="pip install --upgrade unmask")
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        return Stamp(**fields)
    except FileNotFoundError:
        raise DataError(f"{folder} holds no codes", hint="make some:  unmask encode CODEC DATA") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} does not describe codes: {error!r}") from None


def _fill(out: Path, stamp: Stamp, codec: Autoencoder, pixels: Pixels, batch: int) -> None:
    """Write the store, from the first picture that is not there yet, unless another process did."""
    with files.alone(out):
        if out.exists():
            return
        with files.grow_folder(out) as partial:
            _claim(partial, stamp)
            _grow(partial / "codes.npy", stamp, codec, pixels, batch)


def _claim(partial: Path, stamp: Stamp) -> None:
    """Make sure that whatever the folder holds is of this stamp."""
    try:
        begun = _read_stamp(partial) == stamp
    except DataError:  # it is new, or was begun by another version
        begun = False
    if not begun:
        (partial / "codes.npy").unlink(missing_ok=True)
        files.write_json(partial / "codes.json", asdict(stamp))


def _grow(path: Path, stamp: Stamp, codec: Autoencoder, pixels: Pixels, batch: int) -> None:
    with grow_array(path, stamp.shape[1:], stamp.dtype) as rows, bar(f"encoding {stamp.data}") as report:
        for pictures in _batches(pixels, len(rows), batch):
            rows.append(_encode(codec, pictures, stamp))
            report(len(rows), stamp.shape[0])


def _batches(pixels: Pixels, start: int, batch: int) -> Iterator[Pixels8]:
    """Pictures from number ``start`` of the store's order on, (B, H, W, 3)."""
    for name in ("train", "validation"):
        part = pixels.split(name)
        for first in range(start, len(part), batch):
            yield part.read(range(first, min(first + batch, len(part))))
        start = max(0, start - len(part))


@torch.no_grad()
def _encode(codec: Autoencoder, pictures: Pixels8, stamp: Stamp) -> StoredCodes:
    device = next(codec.parameters()).device
    views = every_view(pictures, flip=stamp.flips, shift=stamp.shift)
    codes = [codec.encode(to_tensor(np.ascontiguousarray(view)).to(device)) for view in views]
    rows: StoredCodes = rearrange(codes, "views B h w -> B views (h w)").cpu().numpy().astype(stamp.dtype)
    return rows
