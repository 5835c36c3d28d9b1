"""The inputs of a training: images, prepared once, and their codes, encoded once."""

import shlex
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from unmask.config import merge
from unmask.data.base import Source
from unmask.data.cache import is_prepared
from unmask.data.codes import Codes, encode_pixels, is_store, open_codes
from unmask.data.config import ImagesConfig
from unmask.data.pixels import Pixels, open_pixels
from unmask.data.sources import BUILTIN_SETS, SHARDS, open_source
from unmask.devices import Precision, tuned_allocator, wants_bfloat16
from unmask.distributed import Processes
from unmask.evaluation.clusters import captions_of
from unmask.models import codec_from
from unmask.progress import say
from unmask.storage.bundles import Bundle
from unmask.storage.files import cache_folder


def prepare_pixels(source: Source, data: str, images: ImagesConfig, processes: Processes) -> Pixels:
    """The pictures of ``source``, which the user called ``data``; reports those left out."""
    pixels = open_pixels(source, images, processes=processes)
    if pixels.unusable and processes.is_first:
        first = pixels.unusable[0]
        say(
            f"{len(pixels.unusable)} of {len(pixels) + len(pixels.unusable)} images are left out, such as "
            f"{first.name} ({first.reason}). All of them:  {look_at(data, images)}"
        )
    return pixels


def encode_data(
    model: Bundle,
    data: str,
    images: ImagesConfig,
    processes: Processes,
    out: Path | None = None,
    precision: Precision = "32",
) -> Codes:
    """Codes of ``data`` by the model's codec, in ``out`` or the cache folder.

    Codes are cached for each precision, so that they do not depend on what is in the cache. An image is
    encoded once, so that pixels are read from the cache of a codec's training, or else not stored.
    """
    images, source = replace(images, size=model.image_size), open_source(data)
    streamed = images if processes.agreed(is_prepared, source, images) else replace(images, cache="off")
    pixels = prepare_pixels(source, data, streamed, processes)
    fingerprint, bfloat16 = model.codec.fingerprint, wants_bfloat16(precision, processes.device.type)
    out = out or cache_folder() / _codes_name(fingerprint, pixels, images, bfloat16=bfloat16)
    codec = codec_from(model.codec).to(processes.device)
    edge = codec.config.grid(images.size)

    def encode(batch: Tensor) -> Tensor:
        with torch.autocast(processes.device.type, dtype=torch.bfloat16, enabled=bfloat16):
            return codec.encode(batch.to(processes.device))

    with processes.first_goes_first():
        captions = captions_of(pixels, images.captions, codec, fingerprint)
    with tuned_allocator():
        return encode_pixels(
            encode,
            pixels,
            images,
            out,
            codec=fingerprint,
            grid=(edge, edge),
            codebook_size=codec.codebook_size,
            data=data,
            captions=captions,
            precision="bfloat16" if bfloat16 else "float32",
            processes=processes,
        )


def _codes_name(codec: str, pixels: Pixels, images: ImagesConfig, *, bfloat16: bool) -> str:
    """The name of codes in the cache folder: all that they depend on."""
    parts = [codec, *pixels.fingerprints, *["flips"] * images.flip]
    parts += [f"shift{images.shift}"] if images.shift else []
    parts += [f"crops{images.crops}"] if images.num_crops > 1 else []
    return "-".join([*parts, *["bfloat16"] * bfloat16]) + ".codes"


def find_codes(
    model: Bundle, data: str, images: ImagesConfig, processes: Processes, precision: Precision = "32"
) -> tuple[Codes, ImagesConfig]:
    """Codes of ``data``, which may be a folder of them, and the image settings that they were made with.

    Those of stored codes override ``images``.
    """
    if is_store(Path(data)):
        codes = open_codes(Path(data), model.codec.fingerprint)
    else:
        codes = encode_data(model, data, images, processes, precision=precision)
    settled = merge(images, codes.stamp.images)
    wanted, held = images.of_codes, settled.of_codes
    changed = [name for name in held if wanted.get(name) != held[name]]
    if changed and processes.is_first:
        settings = ", ".join(f"{name.replace('_', '-')} {getattr(settled, name)}" for name in changed)
        say(f"the codes of {codes.stamp.data} were made with settings of their own, which hold: {settings}")
    return codes, settled


def look_at(data: str, images: ImagesConfig) -> str:
    """The ``unmask data`` command for the images as a training prepares them."""
    words, default = ["unmask", "data", data], ImagesConfig(captions="auto")
    for name in ("crop", "scale", "min_side", "background", "validation", "fast_decode", "captions"):
        value = getattr(images, name)
        if value != getattr(default, name):
            values = value if isinstance(value, tuple) else [] if value is True else [value]
            words += [f"--images.{name.replace('_', '-')}", *map(str, values)]
    return shlex.join(words)


def lasting(name: str) -> str:
    """A path that means the same wherever the run is resumed from; a built-in name as it is."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def lasting_data(name: str) -> str:
    """A path of images that means the same later; a built-in name wins over a folder of that name."""
    if SHARDS.search(name) and not Path(name).exists():
        return str(Path(name).absolute())
    return name if name in BUILTIN_SETS else lasting(name)
