"""What a plan costs: the bound of the chain of S passes, for every schedule, on the built-in prior.

Codes that are revealed in one pass do not see each other, so few passes cost bits. A plan that leaves
n_1 > n_2 > … codes masked has the bound Σ (n_k − n_{k+1})·h(n_k), and the paper's random counts have that of
its S-step chain. ``optimal`` plans with the curve h that the bundle brings; all are then measured with
another one, of fresh masks of the held-out pictures.
"""

import math
import sys

import numpy as np
import torch
from einops import rearrange
from torch import Tensor

from benchmarks.measure import note
from unmask.data.transforms import to_tensor
from unmask.diffusion.likelihood import bits_by_picture, cost_curve, join, likelihood_of
from unmask.diffusion.process import bound_from_curve
from unmask.diffusion.schedule import SHAPES, costs_by_count, optimal_counts, shaped_counts
from unmask.evaluation.estimate import mean_of
from unmask.pipeline import load

MODEL, DATA = "emoji", "emoji-3d"
PASSES = (8, 16, 32, 64, 128, 256)
DRAWS, FRESH, BATCH = 64, 1, 32


def main() -> None:
    model = load(MODEL, "cpu")
    N, likelihood = model.prior.num_positions, likelihood_of(model.prior)
    pixels = model.open(DATA, "validation")
    scores = []
    for first in range(0, len(pixels), BATCH):
        rows = range(first, min(first + BATCH, len(pixels)))
        with torch.no_grad():
            codes = rearrange(model.codec.encode(to_tensor(pixels.read(rows))), "B h w -> B (h w)")
        scores.append(likelihood.score(codes, first, num_draws=DRAWS, num_steps=None, seed=FRESH))
        print(f"{rows.stop} of {len(pixels)} pictures", file=sys.stderr)
    score = join(scores)
    curve = cost_curve(score, N)
    fresh = torch.from_numpy(np.interp(np.arange(1, N + 1) / N, curve["ratio"], curve["nats"]))
    planned = costs_by_count(model.about["curve"], N)
    config = {"model": MODEL, "fingerprint": model.fingerprint, "pictures": len(pixels), "draws": DRAWS}
    for passes in PASSES:
        counts = {name: shaped_counts(shape, N, passes) for name, shape in SHAPES.items()}
        counts["optimal"] = optimal_counts(planned, passes)
        bits = {name: in_bits(bound(count, fresh), N) for name, count in counts.items()}
        bits["even"] = in_bits(bound_from_curve(fresh, passes), N)
        note("bits per code by schedule", {"passes": passes, **bits}, config=config)
    mean, error = mean_of(bits_by_picture(score, N))
    note("bits per code, one code a pass", {"bits": mean, "standard_error": error}, config=config)


def bound(counts: Tensor, costs: Tensor) -> Tensor:
    """Σ (n_k − n_{k+1})·h(n_k) in nats, from the positions that each pass reveals and h(1), …, h(N)."""
    masked = counts.flip(0).cumsum(0).flip(0)
    return (counts * costs[masked - 1]).sum()


def in_bits(nats: Tensor, num_codes: int) -> float:
    return round(nats.item() / (num_codes * math.log(2)), 4)
