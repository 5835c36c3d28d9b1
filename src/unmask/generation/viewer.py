"""What a model infers from images: likelihoods, captions, labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unmask.data.pictures import Pictures, each_picture
from unmask.data.pixels import PixelSet
from unmask.diffusion.classify import image_nats, label_nats
from unmask.diffusion.guidance import Conditioned
from unmask.diffusion.inpaint import refill
from unmask.diffusion.likelihood import Score, bits_by_picture, join
from unmask.diffusion.settings import Settings
from unmask.distributed import ALONE, Group
from unmask.errors import ConfigError, DataError
from unmask.evaluation.config import Evidence
from unmask.evaluation.estimate import mean_of
from unmask.generation.arguments import checked
from unmask.generation.sampler import BATCH, Sampler


@dataclass(frozen=True)
class Scores:
    """Negative log-likelihoods of images, in bits per code."""

    bits: list[float]
    """Bits per code of each image: an upper bound for absorbing priors, exact for autoregressive ones."""
    mean: float
    """Mean over the images."""
    standard_error: float
    """Standard error of the mean."""


@dataclass(frozen=True)
class Viewer:
    """Scores, captions and classifies images by the prior of their codes."""

    encode: Callable[[Pictures | PixelSet], Iterator[Tensor]]
    """Images to (B, N) codes of a few of them at a time."""
    sampler: Sampler

    @checked
    @torch.no_grad()
    def score(
        self,
        pictures: Pictures | PixelSet,
        *,
        draws: int = 16,
        steps: int | None = None,
        seed: int = 0,
        report: Callable[[int], None] = lambda done: None,
        processes: Group = ALONE,
    ) -> Scores:
        """Negative log-likelihoods of images under the prior, in bits per code.

        For an autoregressive prior they are exact. For an absorbing prior they are upper bounds, estimated
        from ``draws`` masks per image: more draws mean less variance. The bound is that of a chain of
        ``steps`` steps; None is the limit of infinitely many. ``report`` is called with the number of images
        done. ``processes`` share the images, and all get the result.
        """
        if draws < 1 or (steps is not None and steps < 1):
            raise ConfigError(f"draws {draws} and steps {steps} score nothing; 1 of each is the least")
        known = pictures if isinstance(pictures, PixelSet) else list(each_picture(pictures))
        if not len(known):
            raise DataError("there are no images to score")
        likelihood, N = self.sampler.likelihood, self.sampler.prior.num_positions

        def cost(numbers: range) -> Iterator[Score]:
            for codes in self.encode(known[numbers.start : numbers.stop]):
                score = likelihood.score(codes, numbers.start, num_draws=draws, num_steps=steps, seed=seed)
                yield Score(*(part.cpu() for part in score))  # each process has a device of its own

        scores: list[Score] = []
        for part in processes.share(cost, range(len(known)), BATCH):
            scores.append(part)
            report(min(BATCH * len(scores), len(known)))
        bits = bits_by_picture(join(processes.agreed(lambda: scores)), N)
        return Scores(bits.tolist(), *mean_of(bits))

    @checked
    @torch.no_grad()
    def caption(
        self, pictures: Pictures | PixelSet, *, draws: int = 32, seed: int = 0
    ) -> list[dict[str, float]]:
        """Captions for each image, and how often each came up in ``draws`` samples, the most frequent first.

        Captions of the same words in another order count as one.
        """
        words, device = self.sampler.words, self.sampler.device
        self.sampler.check_captions()
        words.require()
        if draws < 1:
            raise ConfigError(f"in {draws} draws no caption comes up; 1 is the least")
        nothing = words.ids("").to(device)
        captions = []
        for codes in (one for batch in self.encode(pictures) for one in batch):
            conditioned = Conditioned(self.sampler.denoiser, codes=codes)
            drawn = refill(conditioned, nothing.expand(draws, -1), (1, len(nothing)), Settings(), seed=seed)
            captions.append(words.count(drawn.codes))
        return captions

    @checked
    @torch.no_grad()
    def classify(
        self,
        pictures: Pictures | PixelSet,
        labels: Sequence[str],
        *,
        by: Evidence = "label",
        draws: int = 16,
        seed: int = 0,
        report: Callable[[int], None] = lambda done: None,
    ) -> list[dict[str, float]]:
        """The probability of each of ``labels`` for each image, the most likely first.

        With ``by="label"`` it is p(label | image), exactly. With ``by="picture"`` it follows from
        p(image | label) with equally frequent labels; for an absorbing prior that is a bound, estimated
        from ``draws`` masks.
        """
        prior = self.sampler.prior
        if not labels or draws < 1:
            raise ConfigError(f"{len(labels)} labels and {draws} draws tell nothing; 1 of each is the least")
        if by == "label":
            self.sampler.check_captions("classify by label", hint="--by picture")
        ids = torch.stack([self.sampler.words.whole(label) for label in labels]).to(self.sampler.device)
        found: list[dict[str, float]] = []
        for codes in self.encode(pictures):
            if by == "label":
                nats = label_nats(prior, codes, ids)
            else:
                nats = image_nats(prior, codes, ids, len(found), num_draws=draws, seed=seed)
            chances = (zip(labels, one.tolist(), strict=True) for one in (-nats).softmax(1))
            found += [dict(sorted(one, key=lambda chance: -chance[1])) for one in chances]
            report(len(found))
        return found
