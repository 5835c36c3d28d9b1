"""Decoding and resizing a folder of photographs, against Pillow one file at a time."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measure import interleave, row
from unmask.data.batches import Batches
from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet, open_pixels
from unmask.data.sources import open_source
from unmask.data.transforms import identify, square, upright_jpeg

COUNT, WIDTH, HEIGHT, SIZE, BATCH = 128, 1024, 768, 256, 16


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        _make_photos(root / "photos")
        _compare(root / "photos", root / "cache")


def _compare(photos: Path, cache: Path) -> None:
    plain = ImagesConfig(size=SIZE, validation=0)
    fast = ImagesConfig(size=SIZE, validation=0, fast_decode=True)
    off = ImagesConfig(size=SIZE, validation=0, cache="off")
    timings = interleave(
        {
            "Pillow one by one": lambda: _by_hand(photos),
            "Pillow one by one, draft mode": lambda: _by_hand(photos, draft=True),
            "simplejpeg one by one": lambda: _scaled_by_hand(photos),
            "first epoch": lambda: _epoch(_fresh(photos, plain)),
            "first epoch, fast_decode": lambda: _epoch(_fresh(photos, fast)),
            "cached epoch": lambda: _epoch(_pixels(photos, cache, plain)),
            "cached epoch, as float batches": _float_epoch(_pixels(photos, cache, plain)),
            "any epoch, cache off": lambda: _epoch(_pixels(photos, cache, off)),
        }
    )
    kind = f"{WIDTH}x{HEIGHT} JPEG, quality 90"
    config = {"pictures": COUNT, "from": kind, "to": f"{SIZE}x{SIZE}", "batch": BATCH}
    for name in list(timings)[1:]:
        row("images", name, timings, baseline="Pillow one by one", config=config)


def _make_photos(folder: Path) -> None:
    """Pictures with the spectrum of photographs: coarse shapes, finer and fainter detail."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        picture = np.zeros((HEIGHT, WIDTH, 3))
        for octave in range(8):
            shape = (3 * 2**octave, 4 * 2**octave, 3)
            detail = Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).resize((WIDTH, HEIGHT))
            picture += np.asarray(detail, float) / 2 ** (octave + 1)
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(folder / f"{number:04}.jpg", quality=90)


def _by_hand(photos: Path, draft: bool = False) -> None:
    """What a careful person writes by hand: the shorter side resized, the centre cropped."""
    for path in sorted(photos.iterdir()):
        with Image.open(path) as opened:
            if draft:
                opened.draft("RGB", (SIZE, SIZE))
            image = opened.convert("RGB")
        scale = SIZE / min(image.size)
        image = image.resize(
            (round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS
        )
        left, top = (image.width - SIZE) // 2, (image.height - SIZE) // 2
        assert np.asarray(image.crop((left, top, left + SIZE, top + SIZE))).shape == (SIZE, SIZE, 3)


def _scaled_by_hand(photos: Path) -> None:
    """The other way to decode at a reduced scale, beside Pillow's draft mode."""
    for path in sorted(photos.iterdir()):
        data = path.read_bytes()
        image = square(upright_jpeg(identify(data), data, SIZE), SIZE)
        assert np.asarray(image).shape == (SIZE, SIZE, 3)


def _pixels(photos: Path, cache: Path, config: ImagesConfig) -> PixelSet:
    return open_pixels(open_source(str(photos)), config, cache, progress=lambda done, total: None).split(
        "train"
    )


def _fresh(photos: Path, config: ImagesConfig) -> PixelSet:
    with tempfile.TemporaryDirectory() as cache:
        return _pixels(photos, Path(cache), config)


def _epoch(pixels: PixelSet) -> None:
    order = np.random.default_rng(0).permutation(len(pixels))
    for start in range(0, len(order), BATCH):
        assert pixels.read(order[start : start + BATCH]).shape == (BATCH, SIZE, SIZE, 3)


def _float_epoch(pixels: PixelSet) -> Callable[[], None]:
    """An epoch of a training that is under way: shuffled, flipped, read ahead, as tensors."""
    batches = Batches(pixels, batch=BATCH, seed=0, flip=True)

    def epoch() -> None:
        for step in range(COUNT // BATCH):
            assert batches.at(step).shape == (BATCH, 3, SIZE, SIZE)

    return epoch
