"""How a metric was computed. FIDs are comparable only if their protocols are the same."""

from dataclasses import dataclass

from unmask.data.config import ImagesConfig

FEW = 10_000
AT_INCEPTION = "to 299×299 for Inception (bilinear, as TensorFlow 1)"
RESIZE = f"centre square, shorter side resized (Lanczos); {AT_INCEPTION}"
FORMAT = "8 bits a channel, lossless"


def resizing(images: ImagesConfig, split: str) -> str:
    """How real images become those that are compared with a model's; a whole set is not cut into crops."""
    if images.crop == "centre" or split == "all":
        return RESIZE
    edge = "its edge 1/{:g} to 1/{:g} of the shorter side".format(*images.scale)
    return f"a random crop of each, {edge} (Lanczos); {AT_INCEPTION}"


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What was compared with what, and how; every result comes with it."""

    what: str
    """samples, reconstructions, validation images, or images of another set"""
    pictures: int
    """How many of them."""
    reference: str
    """The data set that they were compared with."""
    split: str
    """Which side of it: train, validation or all."""
    reference_pictures: int
    size_px: int | None
    """None: every image as large as it is."""
    features: str
    """The network, and which weights."""
    resize: str = RESIZE
    format: str = FORMAT

    def __str__(self) -> str:
        split = "all images" if self.split == "all" else f"{self.split} split"
        size = f"{self.size_px}×{self.size_px}" if self.size_px else "whole, at their own sizes"
        return (
            f"{self.pictures:,} {self.what} against {self.reference_pictures:,} images of {self.reference} "
            f"({split}), {size}; {self.format}; {self.resize}; {self.features}"
        )


def caution(pictures: int) -> str | None:
    """A caution for an FID over so many images, if one is due."""
    if pictures >= FEW:
        return None
    return (
        f"FID over {pictures:,} images comes out too high, the more so the fewer they are; below {FEW:,} "
        "it compares only with metrics of the same counts"
    )
