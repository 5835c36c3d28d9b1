"""How an image was drawn, inside its PNG file: a text chunk of JSON, enough to draw it again.

An image that a model draws has its provenance in ``picture.info["unmask"]``; ``encoded`` writes it. Files
are untrusted: what is not exactly as it is written here is not read.
"""

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from PIL.Image import Image
from PIL.PngImagePlugin import PngInfo

from unmask.config import merge, to_json
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError
from unmask.reading import DamagedError, parse_json, parsing

KEY = "unmask"  # of the chunk, and in Pillow's ``info``
ALWAYS = {"task", "seed", "number", "settings"}
MAX_BYTES, MAX_CHUNKS = 2**16, 64  # of the text; that are looked at
SIGNATURE, HEAD = b"\x89PNG\r\n\x1a\n", KEY.encode() + bytes(5)  # not compressed, of no language


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What an image depends on, except for input images. Of defaults, only ``ALWAYS`` are written."""

    task: Literal["sample", "canvas", "inpaint", "extend", "vary"] = "sample"
    model: str = ""
    """Its name as its user gave it, without the folders above."""
    fingerprint: str = ""
    seed: int = 0
    number: int = 0
    """The number of the image within the request."""
    count: int = 1
    """Images of a sheet, of which this is the first."""
    prompt: str | tuple[str, ...] | None = None
    """Several: along a canvas, or of the images of a sheet."""
    negative: str = ""
    guide: str | None = None
    """The fingerprint of a weaker model."""
    size: tuple[int, int] | None = None
    """Width and height of a canvas."""
    box: tuple[int, int, int, int] | None = None
    """What was drawn again: left, top, width, height. None: given by a mask."""
    mask: tuple[int, ...] | None = None
    """Lengths of runs of pixels, row by row, not selected and selected in turn. None: they were too many."""
    margins: tuple[int, int, int, int] | None = None
    """Pixels added left, above, right and below."""
    seam: int | None = None
    strength: float = 1.0
    """The share of the selected codes that was drawn again."""
    unlikely: bool = False
    """The codes that the model finds least likely, instead of random ones."""
    settings: Settings = field(default_factory=Settings)

    def __str__(self) -> str:
        """JSON that ``parse`` reads back."""
        said, usual = to_json(self), to_json(Provenance())
        kept = ALWAYS | {name for name, value in said.items() if value != usual[name]}
        return json.dumps({name: value for name, value in said.items() if name in kept})


def inscribed(picture: Image, provenance: Provenance) -> Image:
    """The image, with what ``encoded`` will write into its file."""
    picture.info[KEY] = provenance
    return picture


def of_sheet(pictures: Sequence[Image]) -> Provenance | None:
    """How the images of a sheet were drawn, if each says so."""
    drawn = [picture.info.get(KEY) for picture in pictures]
    known = [one for one in drawn if isinstance(one, Provenance)]
    if len(known) < len(drawn):
        return None
    prompts = [str(one.prompt or "") for one in known]
    prompt = known[0].prompt if len(set(prompts)) == 1 else tuple(prompts)
    return replace(known[0], count=len(known), prompt=prompt)


def chunks_of(picture: Image) -> PngInfo | None:
    """The text chunk for a PNG file of the image; None for one that was opened from a file."""
    if not isinstance(provenance := picture.info.get(KEY), Provenance):
        return None
    chunks = PngInfo()
    chunks.add_itxt(KEY, str(provenance))
    return chunks


def read(data: bytes) -> Provenance | None:
    """How the image of a PNG file was drawn, if that stands before its pixels, whole and valid."""
    place = len(SIGNATURE) if data.startswith(SIGNATURE) else len(data)
    for _ in range(MAX_CHUNKS):
        head = data[place : place + 8]
        if len(head) < 8 or head[4:] == b"IDAT":
            return None
        (length,) = struct.unpack(">I", head[:4])
        if head[4:] == b"iTXt" and length <= MAX_BYTES:
            body, sum_ = data[place + 8 : place + 8 + length], data[place + 8 + length : place + 12 + length]
            if body.startswith(HEAD) and sum_ == struct.pack(">I", zlib.crc32(head[4:] + body)):
                return parse(body[len(HEAD) :])
        place += 12 + length
    return None


def parse(text: bytes) -> Provenance | None:
    """Parse the output of ``str``; None for anything else."""
    try:
        with parsing():
            return merge(Provenance(), dict(parse_json(text)))
    except (DamagedError, ConfigError):
        return None
