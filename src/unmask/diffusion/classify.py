"""Which of some labels an image has: by its caption given its codes, or by its codes given a caption.

Both are conditionals of one prior. Nats are (B, C), C labels for each of B images: the fewer, the likelier.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.diffusion.fill import Denoiser
from unmask.diffusion.guidance import Conditioned
from unmask.diffusion.likelihood import Prior, likelihood_of

ROWS = 64  # in one pass


def label_nats(denoise: Denoiser, codes: Tensor, labels: Tensor) -> Tensor:
    """(B, C): −log p(label | codes), exact.  codes: (B, N).  labels: (C, L) ids of whole captions."""
    return word_nats(denoise, codes, labels).sum(2)


def word_nats(denoise: Denoiser, codes: Tensor, labels: Tensor) -> Tensor:
    """(B, C, L): −log p(word | codes, words before it).

    Labels that begin alike share a row until they differ: of labels of one word an image takes a single row.
    """
    C, L = labels.shape
    unsaid = torch.ones(L, L, dtype=torch.bool).triu()  # word i on, when word i is predicted
    begun = torch.where(unsaid, denoise.mask_id, labels[:, None].cpu())  # (C, L, L)
    rows, which = torch.unique(begun.view(-1, L), dim=0, return_inverse=True)  # (U, L), (C·L,)
    rows = rows.to(codes.device)
    where = F.one_hot((rows != denoise.mask_id).sum(1), L).bool()  # (U, L), the next word
    nats = []
    for images in torch.split(codes, max(1, ROWS // len(rows))):
        given = images.repeat_interleave(len(rows), 0)
        each = (given, rows.repeat(len(images), 1), where.repeat(len(images), 1))
        parts = (torch.split(x, ROWS) for x in each)
        passes = (Conditioned(denoise, codes=c)(row, at) for c, row, at in zip(*parts, strict=True))
        said = torch.cat([logits.cpu().double() for logits in passes])  # (b·U, ids)
        log_p = said.log_softmax(1).view(len(images), len(rows), -1)  # (b, U, ids)
        nats.append(-log_p[:, which, labels.cpu().flatten()].view(-1, C, L))
    return torch.cat(nats)


def image_nats(
    prior: Prior, codes: Tensor, labels: Tensor, first: int, *, num_draws: int, seed: int = 0
) -> Tensor:
    """(B, C): −log p(codes | label) of images number ``first`` and on, a bound for absorbing priors.

    All labels of an image share masks, so that their differences have less variance.
    """
    likelihoods = (likelihood_of(Conditioned(prior, words=label)) for label in labels)
    scores = (one.score(codes, first, num_draws=num_draws, num_steps=None, seed=seed) for one in likelihoods)
    return torch.stack([score.nats for score in scores], dim=1)
