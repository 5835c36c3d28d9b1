"""Captions for images that have none: groups of similar ones, by k-means over what a network sees in them."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.kmeans import kmeans, nearest_rows, random_rows
from unmask.data.captions import Caption
from unmask.data.config import num_clusters
from unmask.data.pixels import Pixels
from unmask.errors import DataError
from unmask.evaluation.features import Extractor, features_of, inception_features
from unmask.progress import bar
from unmask.rng import generator
from unmask.third_party import weights


def captions_of(pixels: Pixels, setting: str, codec: Autoencoder, fingerprint: str) -> Sequence[Caption]:
    """The captions of all images, training first: their own, or their groups with ``clusters:N``.

    Groups are those of the training images, seen by Inception where it was fetched, else by the codec.
    """
    train, validation = pixels.split("train"), pixels.split("validation")
    count = num_clusters(setting)
    if count is None:
        return [*train.captions, *validation.captions]
    if count > len(train):
        raise DataError(f"{len(train)} images to train on make no {count} groups of similar ones")
    inception = weights.available("inception")
    seen = inception_features(codec.device) if inception else latents(codec, fingerprint)
    with bar("looking for groups") as report:
        rows = [features_of(part, seen, report=report).float() for part in (train, validation) if len(part)]
    rng = generator(0, "clusters")
    centres = kmeans(rows[0], random_rows(rows[0], count, rng), rng)
    return [f"cluster{group}" for part in rows for group in nearest_rows(part, centres).tolist()]


def latents(codec: Autoencoder, fingerprint: str) -> Extractor:
    """The codec's latents, averaged over the cells of a 4×4 grid."""

    @torch.no_grad()
    def extract(images: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(codec.latents(images.to(codec.device).float() / 255), 4).flatten(1)

    return Extractor(f"latents-{fingerprint}", extract)
