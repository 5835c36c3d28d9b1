"""Features or moments of a set of images, from the images themselves or from one file.

NAME.safetensors   mean        (D,) float64
                   covariance  (D, D) float64, unbiased
                   features    (images, D) float32, if they were asked for
                   metadata    about: as JSON the fields of Statistics that are no tensors, and the
                               SHA-256 of all tensors
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from einops import rearrange
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from unmask import __version__
from unmask.data.base import Source, combined_hash
from unmask.data.config import ImagesConfig
from unmask.data.pixels import nothing_usable
from unmask.data.prepare import Unusable, decoders
from unmask.data.sources import open_source
from unmask.data.transforms import decode, square
from unmask.devices import tuned_allocator
from unmask.distributed import ALONE, Group
from unmask.errors import ConfigError, DataError
from unmask.evaluation.config import Metric
from unmask.evaluation.features import INCEPTION
from unmask.evaluation.fid import Moments, moments_of
from unmask.evaluation.inception import WIDTH, Inception, resize
from unmask.progress import Bar, no_bar
from unmask.reading import DamagedError, parse_json, parsing, reason
from unmask.storage import files
from unmask.storage.arrays import Item, Layout, open_rows

FORMAT = 1
RECIPE = 1  # to be raised when the same pictures come to give other features
SUFFIX = ".safetensors"
BATCH = 32


@dataclass(frozen=True, eq=False, kw_only=True)
class Statistics:
    """Inception features of a set of images, or their mean and covariance alone."""

    name: str
    """Where the images came from."""
    size_px: int | None
    """Edge of the centre squares that were taken; None: whole images, at their own sizes."""
    fingerprint: str
    """A hash of all features, whether they are here or not."""
    moments: Moments
    features: Tensor | None = None
    left_out: int = 0
    """Images that could not be used."""

    def __len__(self) -> int:
        return self.moments.count

    def require(self, metrics: Sequence[Metric]) -> None:
        """Refuse metrics that cannot be computed from these statistics."""
        if "diversity" in metrics:
            raise ConfigError("diversity is measured on images, not on statistics", hint="--metrics fid,kid")
        others = [metric for metric in metrics if metric != "fid"]
        if self.features is None and others:
            raise ConfigError(
                f"of {self.name} there are mean and covariance, which serve fid; {others[0]} takes features",
                hint=f"--metrics fid, or save them too:  unmask fid {self.name} --features --save FILE",
            )

    def save(self, path: Path, *, features: bool) -> None:
        """Write one file, with the features or without."""
        tensors = {"mean": self.moments.mean, "covariance": self.moments.covariance()}
        if features:
            self.require(["kid"])
            tensors["features"] = torch.as_tensor(self.features).contiguous()
        about = {
            "format": FORMAT,
            "unmask": __version__,
            "name": self.name,
            "count": self.moments.count,
            "size_px": self.size_px,
            "extractor": INCEPTION,
            "fingerprint": self.fingerprint,
            "left_out": self.left_out,
            "sha256": _digest(tensors),
        }
        files.write_bytes(path, save(tensors, {"about": json.dumps(about)}))


def is_statistics(spec: str) -> bool:
    """Whether the name of a data set is that of a statistics file."""
    return Path(spec).suffix == SUFFIX


def load_statistics(path: Path) -> Statistics:
    """The statistics in a file, verified by its checksum."""
    try:
        with parsing():
            return _read(path)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {reason(error)}") from error
    except DamagedError as error:
        raise DataError(
            f"{path} holds no statistics of images: {error}",
            hint=f"make them:  unmask fid IMAGES --save {path}",
        ) from error


def _read(path: Path) -> Statistics:
    with safe_open(path, "pt") as file:
        about: dict[str, Any] = parse_json((file.metadata() or {})["about"])
        tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
    if about["format"] != FORMAT or about["extractor"] != INCEPTION:
        raise DataError(
            f"{path} is of format {about['format']} and holds {about['extractor']}; "
            f"wanted format {FORMAT} and {INCEPTION}"
        )
    if about["sha256"] != _digest(tensors):
        raise DataError(f"{path} is damaged: its numbers are not those that were saved")
    count: int = about["count"]
    return Statistics(
        name=about["name"],
        size_px=about["size_px"],
        fingerprint=about["fingerprint"],
        moments=Moments(count, tensors["mean"], tensors["covariance"] * (count - 1)),
        features=tensors.get("features"),
        left_out=about["left_out"],
    )


def statistics_of(
    sets: Sequence[str],
    *,
    size: int | None = None,
    metrics: Sequence[Metric] = (),
    device: torch.device | str = "cpu",
    bar: Bar = no_bar,
    processes: Group = ALONE,
) -> list[Statistics]:
    """Those of sets of images and of files, all at one size: ``size``, or else that of the files.

    Without either, whole images go to Inception at their own sizes. ``processes`` share the work. What does
    not exist, and files that cannot serve the ``metrics``, are refused before anything is computed.
    """
    if size is not None and size < 1:
        raise ConfigError(f"--size {size} is not a number of pixels; 1 is the least")
    saved = {spec: load_statistics(Path(spec)) for spec in sets if is_statistics(spec)}
    for one in saved.values():
        one.require(metrics)
    sources = {spec: _opened(spec) for spec in sets if spec not in saved}
    sizes = {one.size_px for one in saved.values()} | ({size} if size else set())
    if len(sizes) > 1:
        found = " and ".join(f"{size} px" if size else "images' own sizes" for size in sizes)
        raise ConfigError(f"only images of one size compare, and there are {found}")
    size = sizes.pop() if sizes else None
    network = Inception().to(device) if sources else None
    return [
        saved[spec] if spec in saved else _look(sources[spec], network, size, bar, processes) for spec in sets
    ]


def _opened(spec: str) -> Source:
    """A set of images that has some, as far as its list says."""
    source = open_source(spec)
    if not len(source):
        raise nothing_usable(source, [])
    return source


def _look(
    source: Source, network: Inception | None, size: int | None, bar: Bar, processes: Group
) -> Statistics:
    """Those of every usable image; features are computed once and kept in the cache folder."""
    assert network is not None
    layout = Layout(file="features.npy", shape=(WIDTH,), dtype=np.dtype(np.float32))
    about = {"extractor": INCEPTION, "source": source.name, "size": size}
    key = combined_hash([RECIPE, source.fingerprint, size, INCEPTION])
    with (
        files.in_cache("features") as folder,
        decoders(ImagesConfig()) as pool,
        tuned_allocator(),
        bar(f"looking at {source.name}") as report,
    ):
        lines, array = open_rows(
            folder / f"{key}.features",
            layout,
            lambda numbers: _features(network, pool.map(lambda index: _levels(source, index, size), numbers)),
            len(source),
            batch=BATCH,
            begin=lambda rows: files.write_json(rows.folder / "features.json", about),
            processes=processes,
            report=report,
        )
    unusable = [Unusable(*line) for line in lines if not layout.has_row(line)]
    if not len(array):
        raise nothing_usable(source, unusable)
    features = torch.from_numpy(array)
    return Statistics(
        name=source.name,
        size_px=size,
        fingerprint=combined_hash(line[0] for line in lines if layout.has_row(line)),
        moments=moments_of(features),
        features=features,
        left_out=len(unusable),
    )


def _features(network: Inception, images: Iterable[Tensor | Unusable]) -> Iterator[Item]:
    """A line and a row of features for each image, or the reason why there are none."""
    seen, device = list(images), next(network.parameters()).device
    usable = [item for item in seen if isinstance(item, Tensor)]
    rows = iter(network.features(torch.cat(usable).to(device)).cpu().numpy() if usable else ())
    for item in seen:
        yield ((item.name, item.reason), None) if isinstance(item, Unusable) else ((), next(rows))


def _levels(source: Source, index: int, size: int | None) -> Tensor | Unusable:
    """One image as Inception takes it, (1, 3, 299, 299) float32 in [0, 255]."""
    try:
        image = decode(source.read(index))
    except DataError as error:
        return Unusable(source.entry(index).name, str(error))
    pixels = torch.from_numpy(np.array(square(image, size) if size else image))
    return resize(rearrange(pixels, "H W C -> 1 C H W").float())


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for _, tensor in sorted(tensors.items()):
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()
