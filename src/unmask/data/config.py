"""How a set of images is prepared. Free of torch, so that ``--help`` is instant."""

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from unmask.errors import ConfigError, require_at_least, require_share


@dataclass(frozen=True, kw_only=True)
class ImagesConfig:
    """Preprocessing, augmentation, captions, and the validation split."""

    size: Annotated[int, arg(aliases=["--size"])] = 256
    """Edge in pixels: the shorter side is resized to it and the centre is cropped."""
    crop: Literal["centre", "random"] = "centre"
    """random: train on random square crops of several sizes, for large photographs of many things. A codec
    sees a new crop each time, a prior --images.crops of each image."""
    scale: tuple[float, float] = (1.0, 2.0)
    """Range of random crops: a crop's edge is the shorter side divided by a number in it. 1: all of it."""
    crops: int = 8
    """Random crops per image for a prior."""
    background: str = "white"
    """Colour behind transparent pixels, by name or as #rrggbb."""
    flip: bool = True
    """Mirror half of the training images left to right, at random."""
    shift: int = 0
    """Shift training images by up to this many pixels in each direction (for a prior: by exactly as many, or
    not at all), against overfitting on small sets. Shifts by less than the size of a code make new codes."""
    validation: float = 0.05
    """Share of the images held out for validation, chosen by a hash of their content. 0: none."""
    captions: str = "none"
    """auto: a metadata file, text files beside images, or one folder per class. none. folder: folder names.
    clusters:N: N groups of similar images, found by k-means. Or a .jsonl, .csv, .txt, .npy file."""
    caption_words: int = 16
    """Maximum number of words per caption; longer captions are truncated."""
    min_side: int = 8
    """Images with a side of fewer pixels are reported and skipped."""
    fast_decode: bool = False
    """Decode JPEGs at a reduced scale (needs unmask[fast]). Pixels differ slightly: never for metrics."""
    cache: Literal["prepared", "off"] = "prepared"
    """prepared: store prepared pixels on disk; only the first epoch decodes files. off: decode every time."""
    workers: int = 0
    """Decoding threads. 0: one per core."""

    def __post_init__(self) -> None:
        require_at_least(1, "images", self, "size", "crops", "min_side", "caption_words")
        require_at_least(0, "images", self, "workers")
        require_share("images", self, "validation")
        if not 1 <= self.scale[0] <= self.scale[1] < math.inf:
            raise ConfigError(
                f"scale={self.scale[0]:g} {self.scale[1]:g} is not a range of numbers from 1 up",
                hint="such as  --images.crop random --images.scale 1.5 3",
            )
        if not 0 <= self.shift < self.size:
            raise ConfigError(f"shift={self.shift} does not keep images of {self.size} pixels in sight")
        num_clusters(self.captions)
        _check_colour(self.background)

    @property
    def stored_size(self) -> int:
        """Edge of the squares that are prepared: as large as the smallest of random crops need them."""
        return math.ceil(self.size * self.scale[1]) if self.crop == "random" else self.size

    @property
    def of_codes(self) -> dict[str, object]:
        """The settings that codes of a given size are made by, without those that have no effect."""
        unused = {"size", "cache", "workers"}
        unused |= {"crops", "scale"} if self.crop == "centre" else set()
        unused |= {"caption_words"} if self.captions == "none" else set()
        return {name: value for name, value in asdict(self).items() if name not in unused}

    @property
    def num_crops(self) -> int:
        """How many crops of each image a prior learns from."""
        return self.crops if self.crop == "random" else 1


def num_clusters(captions: str) -> int | None:
    """N of ``clusters:N``; None of every other way to caption images."""
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
