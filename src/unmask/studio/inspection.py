"""What a model makes of a picture: its reconstruction, its codes, and how surprising each of them is."""

import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from unmask.images.transforms import square, to_pictures, to_tensor
from unmask.metrics.distortion import psnr
from unmask.pipeline import Pipeline
from unmask.studio.jobs import Outcome
from unmask.studio.pictures import png
from unmask.surprise import code_nats


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
    nats = code_nats(model.prior, codes.flatten(1), 0, num_draws=draws, seed=seed)
    figures = {
        "bits_per_code": bits_per_code,
        "bits": bits_per_code * codes.numel(),
        "exact": model.prior.causal,
        "surprise": (nats / math.log(2)).view(codes.shape[1:]).tolist(),
    }
    return Outcome(pictures=[png(seen)], figures=figures)


def _seen(model: Pipeline, picture: Image.Image) -> tuple[Image.Image, Tensor]:
    """The centre of a picture at the model's size, and the same as a (1, 3, S, S) tensor."""
    seen = square(picture, model.image_size)
    return seen, to_tensor(np.stack([np.asarray(seen)])).to(model.device)
