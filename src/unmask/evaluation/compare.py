"""Pictures against real ones: the metrics by name, over features that are computed once."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.losses import usage
from unmask.data.pixels import Indices, PixelSet
from unmask.data.transforms import Pixels8, to_pixels, to_tensor
from unmask.devices import tuned_allocator
from unmask.evaluation.config import Metric
from unmask.evaluation.diversity import code_perplexity, kind_perplexity, kinds_of
from unmask.evaluation.estimate import REPLICATES, Estimate
from unmask.evaluation.features import Extractor, features_of
from unmask.evaluation.fid import Moments, fid, moments_of
from unmask.evaluation.kid import Pairs, kid, pairs_of
from unmask.evaluation.prdc import NEIGHBOURS, Balls, balls_of, prdc
from unmask.progress import Report, silent


class Reference:
    """Real pictures, all of which samples are compared with; what they alone decide is computed once.

    But for precision and its kin: a ball's size depends on how many pictures there are, so that as many real
    ones are taken as there are samples, evenly spread over the set.
    """

    def __init__(
        self,
        pixels: PixelSet,
        codec: Autoencoder,
        extractor: Extractor,
        *,
        k: int = NEIGHBOURS,
        replicates: int = REPLICATES,
        report: Report = silent,
    ) -> None:
        self.pixels = pixels
        self.features = features_of(pixels, extractor, report=report)
        self._codec, self._extractor = codec, extractor
        self._k, self._replicates = k, replicates
        self._balls_by_count: dict[int, Balls] = {}

    def measure(
        self, metric: Metric, samples: PixelSet, count: int, report: Report = silent
    ) -> dict[str, Estimate]:
        """The values of one metric for the first ``count`` of a set's pictures."""
        fake = features_of(samples, self._extractor, report=report)[:count]
        with tuned_allocator():
            if metric == "fid":
                return {"fid": fid(self._moments, fake, replicates=self._replicates)}
            if metric == "kid":
                return {"kid": kid(self._pairs, fake, replicates=self._replicates)}
            if metric == "prdc":
                return prdc(self._balls(count), fake, replicates=self._replicates)
            codes = code_perplexity(self._codec, samples, list(range(count)))
            return _diversity(codes, kind_perplexity(self._kinds, self.features, fake))

    def diversity(self, count: int) -> dict[str, Estimate]:
        """The values that ``count`` of the real pictures have themselves: what samples could reach."""
        rows = self.pixels.spread(count)
        kinds = usage(torch.bincount(self._kinds[rows]))["perplexity"]
        return _diversity(code_perplexity(self._codec, self.pixels, rows), kinds)

    @cached_property
    def _moments(self) -> Moments:
        return moments_of(self.features)

    @cached_property
    def _pairs(self) -> Pairs:
        return pairs_of(self.features)

    def _balls(self, count: int) -> Balls:
        if count not in self._balls_by_count:
            self._balls_by_count[count] = balls_of(self.features[self.pixels.spread(count)], self._k)
        return self._balls_by_count[count]

    @cached_property
    def _kinds(self) -> Tensor:
        return kinds_of(self.features)


def _diversity(codes: float, kinds: float) -> dict[str, Estimate]:
    return {"code_perplexity": Estimate(codes, np.nan), "kind_perplexity": Estimate(kinds, np.nan)}


def reconstructed(codec: Autoencoder, fingerprint: str, pixels: PixelSet) -> PixelSet:
    """A set of pictures as they come back from a codec, computed as they are read."""
    device = next(codec.parameters()).device

    @torch.no_grad()
    def read(rows: Indices) -> Pixels8:
        return to_pixels(codec.decode(codec.encode(to_tensor(pixels.read(rows)).to(device))))

    return PixelSet(pixels.names, np.arange(len(pixels)), read, [fingerprint, pixels.fingerprint])
