"""Whether samples fit their captions: which real image, each of another caption, is nearest."""

import torch
from torch import Tensor

from unmask.evaluation.distances import between
from unmask.evaluation.estimate import Estimate, mean_of
from unmask.rng import generator


def retrieval(samples: Tensor, real: Tensor, num_candidates: int, *, seed: int = 0) -> Estimate:
    """How often a sample is nearer to the image of its caption than to all others of some candidates.

    real: (n, D) features of images of different captions.  samples: (s·n, D), row i drawn for the caption of
    image i % n.  Candidates are that image and others, drawn anew for each sample; by chance it is the
    nearest with probability 1 / ``num_candidates``. The standard error is that over captions, since samples
    of one caption are alike.
    """
    n, rng = len(real), generator(seed, "candidates")
    assert 2 <= num_candidates <= n, f"{n} images make no {num_candidates} candidates"
    assert len(samples) % n == 0, "as many samples of each caption"
    own = torch.arange(len(samples)) % n
    steps = torch.stack([torch.randperm(n - 1, generator=rng)[: num_candidates - 1] + 1 for _ in own])
    candidates = torch.cat([own[:, None], (own[:, None] + steps) % n], dim=1)  # (s·n, candidates), own first
    rows = torch.arange(len(samples)).repeat_interleave(num_candidates)
    squares = between(samples, rows, real, candidates.flatten()).view(candidates.shape)
    found = (squares[:, 0] < squares[:, 1:].amin(1)).double().view(-1, n).mean(0)  # (n,) of each caption
    return mean_of(found)
