"""Readers that take no torch: pictures, archives, arrays, captions, settings, results, rows."""

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import numpy as np
from PIL import Image

from tests.torture.fuzz import Damage, Reader
from unmask.config import CodecTraining, PriorTraining, merge, read_changes
from unmask.data.captions import read_captions
from unmask.data.config import ImagesConfig
from unmask.data.prepare import prepare
from unmask.data.sources import open_source
from unmask.data.transforms import decode
from unmask.evaluation.protocol import Protocol
from unmask.evaluation.results import Results
from unmask.storage.arrays import Item, Layout, load_rows, open_rows

FORMATS = {
    "png": {},
    "jpeg": {},
    "gif": {},
    "bmp": {},
    "tiff": {"compression": "tiff_lzw"},
    "webp": {},
    "ppm": {},
}
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
IMAGES = ImagesConfig(size=16, workers=1)
LAYOUT = Layout(file="rows.npy", shape=(4,), dtype=np.dtype(np.uint8), num_labels=1)
PROTOCOL = Protocol(
    what="samples", pictures=9, reference="r", split="train", reference_pictures=9, size_px=8, features="f"
)


def picture(kind: str = "png", number: int = 0, size: tuple[int, int] = (12, 10), **options: object) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (*size, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def survey(folder: Path) -> None:
    """Read a source as a training does."""
    inside = [path for path in folder.iterdir() if path.suffix != ".txt"]
    spec = inside[0] if len(inside) == 1 and inside[0].suffix not in (".mdb", ".png") else folder
    source = open_source(str(spec))
    assert source.fingerprint
    for index in range(len(source)):
        prepare(source, index, IMAGES)
    read_captions(source, "auto")


def settings(folder: Path) -> None:
    for path in folder.iterdir():
        merge(PriorTraining() if path.stem == "prior" else CodecTraining(), read_changes(path))


def make_picture(folder: Path) -> None:
    kind = folder.name
    (folder / "picture").write_bytes(picture(kind, **FORMATS[kind]))


def make_zip(folder: Path) -> None:
    with zipfile.ZipFile(folder / "set.zip", "w") as archive:
        for number, method in enumerate(METHODS):
            archive.writestr(f"ä{number}.png", picture(number=number), method)
        archive.writestr("metadata.jsonl", '{"file_name": "ä1.png", "text": "one"}\n')


def make_tar(kind: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with tarfile.open(folder / f"set.{kind}", "w:gz" if kind.endswith("gz") else "w") as archive:
            for number in range(3):
                member, data = tarfile.TarInfo(f"{number}.png"), picture(number=number)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    return make


def make_npy(folder: Path) -> None:
    np.save(folder / "rows.npy", np.zeros((3, 8, 8, 3), np.uint8))
    (folder / "rows.txt").write_text("one\ntwo\nthree\n")


def make_idx(folder: Path) -> None:
    pixels, header = bytes(3 * 16), np.array([3, 4, 4], ">u4").tobytes()
    (folder / "a-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3]) + header + pixels)
    (folder / "a-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3]))


def make_lmdb(folder: Path) -> None:
    with lmdb.open(str(folder), map_size=1 << 22) as database, database.begin(write=True) as transaction:
        for number in range(30):
            transaction.put(b"%040d" % number, picture(number=number) if number < 3 else bytes(number * 150))
    (folder / "lock.mdb").unlink()


def make_captions(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.png").write_bytes(picture(number=number))
    (folder / "metadata.jsonl").write_text(
        "".join(
            json.dumps({"file_name": f"{number}.png", "text": f"number {number}"}) + "\n"
            for number in range(3)
        )
    )
    (folder / "metadata.csv").write_text('file_name,text\n0.png,"a, b"\n1.png,c\n')


def make_settings(folder: Path) -> None:
    (folder / "codec.yaml").write_text(
        "optim: {lr: 1e-4, batch: 4}\ncodec:\n  multipliers: [1, 1, 2, 2, 4]\ntrain: codec\n"
    )
    (folder / "prior.json").write_text('{"prior": {"depth": 2}, "loop": {"steps": 10}, "optim": {"lr": 0.1}}')


def read_results(folder: Path) -> object:
    results = Results(folder, "model", PROTOCOL, {"seed": 0})
    return [results.rows, results.real]


def make_results(folder: Path) -> None:
    results = Results(folder, "model", PROTOCOL, {"seed": 0})
    results.rows, results.real = [{"fid": 12.5, "fid_error": 0.25}], {"kid": 0.5}
    results._save()
    (folder / "results.csv").unlink()


def make_rows(folder: Path) -> None:
    folder.rmdir()

    def make(numbers: range) -> Iterator[Item]:
        for number in numbers:
            yield ((f"row {number}",), np.full(4, number, np.uint8)) if number < 5 else ((), None)

    open_rows(folder, LAYOUT, make, 6)


def read_rows(folder: Path) -> object:
    found = load_rows(folder, LAYOUT)
    return found and [found.lines, found.array.tolist()]


class Files(Damage):
    readers = {  # noqa: RUF012
        **{
            kind: Reader(make_picture, lambda folder: decode((folder / "picture").read_bytes()))
            for kind in FORMATS
        },
        "zip": Reader(make_zip, survey),
        "tar": Reader(make_tar("tar"), survey),
        "tar.gz": Reader(make_tar("tar.gz"), survey),
        "npy": Reader(make_npy, survey),
        "idx": Reader(make_idx, survey),
        "lmdb": Reader(make_lmdb, survey),
        "captions": Reader(make_captions, survey, files="metadata.*"),
        "settings": Reader(make_settings, settings),
        "results": Reader(make_results, read_results, verified=True),
        "rows": Reader(make_rows, read_rows, verified=True),
    }
