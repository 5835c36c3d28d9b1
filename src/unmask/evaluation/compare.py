"""Images against real ones: the metrics by name, over features that are computed once."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.losses import usage
from unmask.data.pixels import Indices, PixelSet, spread
from unmask.data.transforms import Pixels8, to_pixels, to_tensor
from unmask.devices import tuned_allocator
from unmask.distributed import ALONE, Group
from unmask.evaluation.config import Metric
from unmask.evaluation.diversity import code_perplexity, kind_perplexity, kinds_of
from unmask.evaluation.estimate import REPLICATES, Estimate
from unmask.evaluation.features import Extractor, features_of
from unmask.evaluation.fid import Moments, fid, frechet_distance, moments_of
from unmask.evaluation.kid import Pairs, kid, pairs_of
from unmask.evaluation.prdc import NEIGHBOURS, Balls, balls_of, prdc
from unmask.evaluation.statistics import Statistics
from unmask.progress import Report, silent


class Comparison:
    """One set of images, with which others are compared; what it alone decides is computed once.

    It is given by features, or for FID by moments. All of it is taken but for PRDC: a ball's size
    depends on how many images there are, so that as many are taken as there are in the other set, evenly
    spread.
    """

    def __init__(
        self,
        features: Tensor | None,
        moments: Moments | None = None,
        *,
        k: int = NEIGHBOURS,
        replicates: int = REPLICATES,
    ) -> None:
        self._features, self._stored_moments = features, moments
        self._k, self._replicates = k, replicates
        self._balls_by_count: dict[int, Balls] = {}

    def measure(self, metric: Metric, fake: Tensor) -> dict[str, Estimate]:
        """The values of fid, kid or prdc for (m, D) features of another set."""
        if metric == "fid":
            return {"fid": fid(self._moments, fake, replicates=self._replicates)}
        if metric == "kid":
            return {"kid": kid(self._pairs, fake, replicates=self._replicates)}
        assert metric == "prdc"
        return prdc(self._balls(len(fake)), fake, replicates=self._replicates)

    def part(self, rows: Sequence[int]) -> "Comparison":
        """The set of some of the images."""
        return Comparison(self.features[rows], k=self._k, replicates=self._replicates)

    @property
    def features(self) -> Tensor:
        """(n, D), of a set that has them."""
        assert self._features is not None, "Statistics.require says beforehand what lacks features"
        return self._features

    @cached_property
    def _moments(self) -> Moments:
        return self._stored_moments or moments_of(self.features)

    @cached_property
    def _pairs(self) -> Pairs:
        return pairs_of(self.features)

    def _balls(self, count: int) -> Balls:
        if count not in self._balls_by_count:
            rows = spread(count, len(self.features))
            self._balls_by_count[count] = balls_of(self.features[rows], self._k)
        return self._balls_by_count[count]


class Reference:
    """Real images, or statistics of them, that samples are compared with."""

    def __init__(
        self,
        real: PixelSet | Statistics,
        codec: Autoencoder,
        extractor: Extractor,
        *,
        k: int = NEIGHBOURS,
        replicates: int = REPLICATES,
        report: Report = silent,
        processes: Group = ALONE,
    ) -> None:
        self._real, self._codec, self._extractor, self._processes = real, codec, extractor, processes
        if isinstance(real, Statistics):
            features, moments = real.features, real.moments
        else:
            features, moments = self.look(real, report), None
        self._comparison = Comparison(features, moments, k=k, replicates=replicates)

    def look(self, pixels: PixelSet, report: Report = silent) -> Tensor:
        """(n, D) features of a set's images, which the processes share and which are kept."""
        return features_of(pixels, self._extractor, report=report, processes=self._processes)

    def measure(self, metric: Metric, samples: PixelSet, count: int) -> dict[str, Estimate]:
        """The values of one metric for the first ``count`` of a set's images."""
        fake = features_of(samples, self._extractor)[:count]
        with tuned_allocator():
            if metric != "diversity":
                return self._comparison.measure(metric, fake)
            codes = code_perplexity(self._codec, samples, list(range(count)))
            return _diversity(codes, kind_perplexity(self._kinds, self._comparison.features, fake))

    def measure_part(
        self, metric: Metric, rows: Sequence[int], samples: PixelSet, numbers: Sequence[int]
    ) -> dict[str, Estimate]:
        """The values of one metric for some of a set's images against some of the real ones."""
        with tuned_allocator():
            return self._comparison.part(rows).measure(metric, features_of(samples, self._extractor)[numbers])

    def diversity(self, count: int) -> dict[str, Estimate]:
        """The values that ``count`` of the real images have themselves: what samples could reach."""
        assert isinstance(self._real, PixelSet), "statistics have no images to encode"
        rows = self._real.spread(count)
        kinds = usage(torch.bincount(self._kinds[rows]))["perplexity"]
        return _diversity(code_perplexity(self._codec, self._real, rows), kinds)

    @cached_property
    def _kinds(self) -> Tensor:
        return kinds_of(self._comparison.features)


def compare(
    a: Statistics, b: Statistics, metrics: Sequence[Metric], *, replicates: int = REPLICATES
) -> dict[str, Estimate]:
    """The values of fid, kid and prdc for the images ``a``, with ``b`` as the real ones."""
    for one in (a, b):
        one.require(metrics)
    comparison = Comparison(b.features, b.moments, replicates=replicates)
    values: dict[str, Estimate] = {}
    with tuned_allocator():
        for metric in metrics:
            if a.features is None:  # and so the metric is FID, without a standard error
                values["fid"] = Estimate(frechet_distance(b.moments, a.moments), np.nan)
            else:
                values |= comparison.measure(metric, a.features)
    return values


def _diversity(codes: float, kinds: float) -> dict[str, Estimate]:
    return {"code_perplexity": Estimate(codes, np.nan), "kind_perplexity": Estimate(kinds, np.nan)}


def reconstructed(codec: Autoencoder, fingerprint: str, pixels: PixelSet) -> PixelSet:
    """A set of images as they come back from a codec, computed as they are read."""

    @torch.no_grad()
    def read(rows: Indices) -> Pixels8:
        return to_pixels(codec.decode(codec.encode(to_tensor(pixels.read(rows)).to(codec.device))))

    return PixelSet(pixels.names, np.arange(len(pixels)), read, [fingerprint, pixels.fingerprint])
