"""What can be asked of a set of pictures. Free of torch, so that ``--help`` is instant."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from unmask.errors import ConfigError, require_at_least, require_share


@dataclass(frozen=True, kw_only=True)
class ImagesConfig:
    """How pictures become squares of pixels, and which of them are held out."""

    size: Annotated[int, arg(aliases=["--size"])] = 256
    """Edge in pixels: the shorter side is resized to it and the centre is cut out."""
    crop: Literal["centre", "random"] = "centre"
    """random: cut squares of several sizes out of the centre square, at random places: for large photographs
    of many things. A codec sees a new one each time, a prior --images.crops of them."""
    scale: tuple[float, float] = (1.0, 2.0)
    """Of random crops: how many times their edge the shorter side has, from and to. 1: all of it."""
    crops: int = 8
    """Random crops of each picture that a prior learns from."""
    background: str = "white"
    """Colour behind transparent pixels, by name or as #rrggbb."""
    flip: bool = True
    """Mirror half of the training pictures left to right, each time anew."""
    shift: int = 0
    """Move training pictures by up to this many pixels each way, for a prior by exactly so many or none:
    against overfitting to a small set. Less than the pixels a code stands for makes new codes."""
    validation: float = 0.05
    """Share of the pictures held out, picked by their content. 0: none."""
    captions: str = "none"
    """auto: a metadata file, text files beside pictures, or one folder per class. none. folder: the names of
    folders. clusters:N: N groups of similar pictures, found by k-means. Or a .jsonl, .csv, .txt, .npy."""
    caption_words: int = 16
    """Words of a caption at most; what is longer is cut off."""
    min_side: int = 8
    """Pictures with a side of fewer pixels are reported and left out."""
    fast_decode: bool = False
    """Decode JPEGs at a reduced scale (needs unmask[fast]). Pixels differ a little: never for metrics."""
    cache: Literal["prepared", "off"] = "prepared"
    """prepared: keep the squares on disk, so that only the first epoch decodes. off: decode every time."""
    workers: int = 0
    """Threads that decode. 0: one for each core."""

    def __post_init__(self) -> None:
        require_at_least(1, "images", self, "size", "crops", "min_side", "caption_words")
        require_at_least(0, "images", self, "workers")
        require_share("images", self, "validation")
        if not 1 <= self.scale[0] <= self.scale[1] < math.inf:
            raise ConfigError(
                f"scale={self.scale[0]:g} {self.scale[1]:g} is no range of scales from 1 on",
                hint="such as  --images.crop random --images.scale 1.5 3",
            )
        if not 0 <= self.shift < self.size:
            raise ConfigError(f"shift={self.shift} does not keep pictures of {self.size} pixels in sight")
        num_clusters(self.captions)
        _check_colour(self.background)

    @property
    def stored_size(self) -> int:
        """Edge of the squares that are prepared: as large as the smallest of random crops need them."""
        return math.ceil(self.size * self.scale[1]) if self.crop == "random" else self.size

    @property
    def num_crops(self) -> int:
        """How many crops of each picture a prior learns from."""
        return self.crops if self.crop == "random" else 1


def num_clusters(captions: str) -> int | None:
    """N of ``clusters:N``; None of every other way to caption pictures."""
    kind, colon, number = captions.partition(":")
    if kind != "clusters":
        return None
    if not (colon and number.isdecimal() and int(number) > 1):
        raise ConfigError(f"captions={captions} does not say how many groups", hint="such as  clusters:64")
    return int(number)


def _check_colour(name: str) -> None:
    from PIL import ImageColor

    try:
        opaque = len(ImageColor.getrgb(name)) == 3
    except ValueError:
        opaque = False
    if not opaque:
        raise ConfigError(f"background={name!r} is not an opaque colour, such as white or #ff8800")
