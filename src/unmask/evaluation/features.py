"""Features of images: computed once for a set, then mapped from the disk.

    <key>.features/   features.npy    (pictures, D), in the order of the set
                      index.jsonl     the hash of each row
                      features.json   for people: which pictures, which extractor

The key is a hash of all pixels and of the extractor, so a folder is right or has another name. How it is
filled, verified and made again: ``storage.arrays``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from einops import rearrange
from torch import Tensor

from unmask.codec.perceptual import Perceptual
from unmask.data.base import combined_hash
from unmask.data.pixels import PixelSet
from unmask.data.transforms import Pixels8
from unmask.devices import tuned_allocator
from unmask.distributed import ALONE, Group
from unmask.evaluation.inception import Inception
from unmask.progress import Report, silent
from unmask.storage import files
from unmask.storage.arrays import Growing, Item, Layout, open_rows
from unmask.third_party import weights

RECIPE = 1  # to be raised when the same pixels and extractor come to give other features
LPIPS_SIDE_PX = 64  # features of larger pictures would take megabytes each; AlexNet sees none below 32
INCEPTION = f"inception-{weights.REGISTRY['inception'].sha256[:8]}"
LPIPS = f"lpips-alex-{weights.REGISTRY['lpips-alex'].sha256[:8]}-{LPIPS_SIDE_PX}px"


@dataclass(frozen=True)
class Extractor:
    """Maps images to features whose distances are meaningful."""

    name: str
    """Also says which weights, and what is done to pictures first."""
    extract: Callable[[Tensor], Tensor]
    """(B, 3, S, S) uint8 to (B, D)."""

    def __call__(self, pixels: Pixels8) -> Tensor:
        """(B, S, S, 3) pictures to their (B, D) features, on the CPU."""
        return self.extract(rearrange(torch.from_numpy(pixels), "B H W C -> B C H W")).cpu()


def inception_features(device: torch.device) -> Extractor:
    """The 2048 features of FID; float32."""
    network = Inception().to(device)
    return Extractor(INCEPTION, lambda images: network(images.to(device)))


def lpips(net: Literal["vgg", "alex"]) -> Perceptual:
    """LPIPS with its weights; WeightsError says what to type where they have not been fetched."""
    network = Perceptual(net)
    network.load_state_dict(weights.require(f"lpips-{net}"))
    return network


def lpips_features(device: torch.device) -> Extractor:
    """Features whose squared distance is LPIPS with AlexNet, of pictures at 64×64; float16."""
    network = lpips("alex").to(device)

    @torch.no_grad()
    def extract(images: Tensor) -> Tensor:
        images = images.to(device).float() / 255
        if images.shape[-1] != LPIPS_SIDE_PX:
            side = (LPIPS_SIDE_PX, LPIPS_SIDE_PX)
            images = torch.nn.functional.interpolate(images, side, mode="bilinear", antialias=True)
        # LPIPS is Σ over depths of the mean over places of Σ_c w_c (a_c − b_c)²
        seen = zip(network.features(images), network.heads, strict=True)
        depths = [x * (head / (x.shape[2] * x.shape[3])).sqrt()[:, None, None] for x, head in seen]
        return torch.cat([x.flatten(1) for x in depths], dim=1).half()

    return Extractor(LPIPS, extract)


def pixel_features() -> Extractor:
    """The pixels themselves; uint8."""
    return Extractor("pixels", lambda images: images.flatten(1))


def features_of(
    pixels: PixelSet,
    extractor: Extractor,
    *,
    batch: int = 32,
    report: Report = silent,
    processes: Group = ALONE,
) -> Tensor:
    """(n, D) features of all pictures of a set, from the cache folder or put there by all ``processes``."""
    key = combined_hash([RECIPE, pixels.fingerprint, extractor.name])
    first = extractor(pixels.read([0])).numpy()[0]  # says how wide a row is
    layout = Layout(file="features.npy", shape=first.shape, dtype=first.dtype, key=key.encode())

    def begin(rows: Growing) -> None:
        about = {"extractor": extractor.name, "pictures": len(pixels), "pixels": pixels.fingerprint}
        files.write_json(rows.folder / "features.json", about)

    def make(numbers: range) -> Iterator[Item]:
        return (((), row) for row in extractor(pixels.read(numbers)).numpy())

    with files.in_cache("features") as folder, tuned_allocator():
        place, total = folder / f"{key}.features", len(pixels)
        rows = open_rows(
            place, layout, make, total, batch=batch, begin=begin, processes=processes, report=report
        )
    return torch.from_numpy(rows.array)
