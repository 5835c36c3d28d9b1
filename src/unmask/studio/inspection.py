"""What a model makes of a picture: its reconstruction, its codes, and how surprising each of them is."""

import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from unmask.images.transforms import square, to_pictures, to_tensor
from unmask.likelihood import code_costs
from unmask.metrics.distortion import psnr
from unmask.pipeline import Pipeline
from unmask.prior.transformer import Transformer
from unmask.rng import generator
from unmask.studio.jobs import Outcome
from unmask.studio.pictures import png

HALVES = 8  # times that a picture's codes are parted into a half that is shown and one that is guessed


@torch.no_grad()
def reconstruct(model: Pipeline, picture: Image.Image) -> Outcome:
    """The picture's square as the model sees it, and its reconstruction; the codes row by row."""
    seen, images = _seen(model, picture)
    codes = model.codec.encode(images)
    back = to_pictures(model.codec.decode(codes))[0]
    decibels = psnr(images.cpu(), to_tensor(np.stack([np.asarray(back)]))).item()
    figures = {"psnr_db": decibels if math.isfinite(decibels) else None, "codes": codes[0].tolist()}
    return Outcome(pictures=[png(seen), png(back)], figures=figures)


@torch.no_grad()
def score(model: Pipeline, picture: Image.Image, draws: int, seed: int) -> Outcome:
    """The bits that the model needs for a picture, and the bits of each code, row by row."""
    seen, images = _seen(model, picture)
    codes = model.codec.encode(images)
    (bits_per_code,) = model.score([seen], draws=draws, seed=seed).bits
    figures = {
        "bits_per_code": bits_per_code,
        "bits": bits_per_code * codes.numel(),
        "exact": model.prior.causal,
        "surprise": surprise(model.prior, codes.flatten(1), seed).view(codes.shape[1:]).tolist(),
    }
    return Outcome(pictures=[png(seen)], figures=figures)


def surprise(prior: Transformer, codes: Tensor, seed: int) -> Tensor:
    """(N,) bits of each of (1, N) codes, given a random half of the others; the mean over several halves.

    Of an autoregressive prior: given all that come before it, which is exact.
    """
    if prior.causal:
        costs = code_costs(prior, codes, torch.ones_like(codes, dtype=torch.bool))
    else:
        rng, N = generator(seed, "surprise"), codes.shape[1]
        halves = [torch.randperm(N, generator=rng) < N // 2 for _ in range(HALVES)]
        masks = torch.stack([mask for half in halves for mask in (half, ~half)]).to(codes.device)
        costs = code_costs(prior, codes.expand(len(masks), -1), masks).sum(0, keepdim=True) / HALVES
    return (costs[0] / math.log(2)).cpu()


def _seen(model: Pipeline, picture: Image.Image) -> tuple[Image.Image, Tensor]:
    """The centre of a picture at the model's size, and the same as a (1, 3, S, S) tensor."""
    seen = square(picture, model.image_size)
    return seen, to_tensor(np.stack([np.asarray(seen)])).to(model.device)
