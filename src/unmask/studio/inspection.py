"""Inspection of an image: its reconstruction, its codes, and the bits of each."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from unmask.data.pictures import encoded, squares_of
from unmask.data.transforms import to_pictures, to_tensor
from unmask.data.vocabulary import words_of
from unmask.diffusion.classify import word_nats
from unmask.evaluation.distortion import psnr
from unmask.generation.sampler import BATCH
from unmask.pipeline import Pipeline
from unmask.prior.transformer import Transformer
from unmask.progress import Report
from unmask.studio.jobs import Outcome


@torch.no_grad()
def reconstruct(model: Pipeline, picture: Image.Image, report: Report) -> Outcome:
    """The picture's square as the model sees it, and its reconstruction; the codes row by row."""
    seen, images = _seen(model, picture)
    codes = model.codec.encode(images)
    report(1, 2)
    back = to_pictures(model.codec.decode(codes))[0]
    decibels = psnr(images.cpu(), to_tensor(np.stack([np.asarray(back)]))).item()
    figures = {"psnr_db": decibels if math.isfinite(decibels) else None, "codes": codes[0].tolist()}
    return Outcome(pictures=[encoded(seen), encoded(back)], figures=figures)


@torch.no_grad()
def score(model: Pipeline, picture: Image.Image, draws: int, seed: int, report: Report) -> Outcome:
    """The bits that the model needs for a picture, and the bits of each code, row by row."""
    seen, images = _seen(model, picture)
    codes = model.codec.encode(images)
    with _reporting(model.prior, 2 if model.prior.causal else 2 * draws, report):
        (bits_per_code,) = model.score([seen], draws=draws, seed=seed).bits
        nats = model.sampler.likelihood.code_nats(
            codes.flatten(1), 0, num_pairs=max(1, draws // 2), seed=seed
        )
    figures = {
        "bits_per_code": bits_per_code,
        "bits": bits_per_code * codes.numel(),
        "exact": model.prior.causal,
        "bits_by_code": (nats / math.log(2)).view(codes.shape[1:]).tolist(),
    }
    return Outcome(pictures=[encoded(seen)], figures=figures)


@torch.no_grad()
def caption(
    model: Pipeline, picture: Image.Image, draws: int, seed: int, text: str, report: Report
) -> Outcome:
    """Captions of a picture, and words of it, with the share of draws that each came up in.

    Of the words of a ``text``, how likely each is for the picture, given those before it.
    """
    batches = -(-draws // BATCH)
    with _reporting(model.prior, model.words.length * batches, report):
        (captions,) = model.caption([picture], draws=draws, seed=seed)
    words: Counter[str] = Counter()
    for found, share in captions.items():
        words.update(dict.fromkeys(found.split(), share))
    figures = {
        "captions": captions,
        "words": dict(words.most_common()),
        "said": _chances(model, picture, text),
    }
    return Outcome(pictures=[], figures=figures)


def _chances(model: Pipeline, picture: Image.Image, text: str) -> list[tuple[str, float]]:
    """p(word | picture, words before it) of each word of a text."""
    if not (words := words_of(text)):
        return []
    label = model.words.whole(text).to(model.device)
    (nats,) = word_nats(model.prior, model.encode([picture]).flatten(1), label[None])[0]
    return list(zip(words, (-nats).exp().tolist(), strict=False))  # what comes after is the end


@contextmanager
def _reporting(prior: Transformer, passes: int, report: Report) -> Iterator[None]:
    """Report after each pass of the prior within the block, of about so many."""
    numbers = count(1)
    hook = prior.register_forward_hook(lambda *_: report(min(next(numbers), passes), passes))
    try:
        yield
    finally:
        hook.remove()


def _seen(model: Pipeline, picture: Image.Image) -> tuple[Image.Image, Tensor]:
    """The centre of a picture at the model's size, and the same as a (1, 3, S, S) tensor."""
    (pixels,) = squares_of(picture, model.image_size)
    return Image.fromarray(pixels[0]), to_tensor(pixels).to(model.device)
