"""The bound's estimator: spread mask counts and opposite masks, against one random time a pass.

Both estimate the same bound of the same pictures under the same trained prior with the same number of passes.
The ratio of their variances is how many times more passes the plain way takes for the same standard error.
"""

import math

import numpy as np
import torch
from torch import Tensor

from benchmarks.measure import note
from unmask.bundle import Part
from unmask.codes.store import Codes, Stamp
from unmask.diffusion.process import absorb, draw_times, loss
from unmask.likelihood import code_costs, score_codes
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine
from unmask.training.prior_task import PriorTask

EDGE, K, STEPS = 8, 16, 64
PASSES, REPEATS, PICTURES = 8, 100, 16


def main() -> None:
    codes = blobs()
    prior = trained(codes)
    pictures = codes.split("validation").read(range(PICTURES))
    ours = torch.stack([with_strata(prior, pictures, seed) for seed in range(REPEATS)])
    plain = torch.stack([with_random_times(prior, pictures, seed) for seed in range(REPEATS)])
    variance, plain_variance = ours.var(0).mean().item(), plain.var(0).mean().item()
    figures = {
        "contestant": "stratified counts, antithetic masks",
        "baseline": "one random time a pass",
        "ratio": round(plain_variance / variance, 2),
        "standard_error_bits": round(math.sqrt(variance), 4),
        "baseline_standard_error_bits": round(math.sqrt(plain_variance), 4),
        "mean_bits": round(ours.mean().item(), 4),
        "baseline_mean_bits": round(plain.mean().item(), 4),
    }
    config = {"grid": [EDGE, EDGE], "codes": K, "steps": STEPS, "passes": PASSES, "repeats": REPEATS}
    note("passes for the bound at equal standard error", figures, config=config)


def with_strata(prior: Transformer, pictures: Tensor, seed: int) -> Tensor:
    nats = score_codes(prior, pictures, 0, num_draws=PASSES, num_steps=STEPS, seed=seed).nats
    return nats / (prior.num_positions * math.log(2))


@torch.no_grad()
def with_random_times(prior: Transformer, pictures: Tensor, seed: int) -> Tensor:
    rng = generator(seed, "plain")
    estimates = []
    for _ in range(PASSES):
        t = draw_times(len(pictures), STEPS, stratified=False, rng=rng)
        masked = absorb(pictures, t, STEPS, prior.mask_id, rng=rng) == prior.mask_id
        costs = code_costs(prior, pictures, masked)
        estimates.append(loss("elbo", costs, masked, t, STEPS) / math.log(2))
    return torch.stack(estimates).mean(0)


def blobs() -> Codes:
    """Pictures of codes with long-range order: two flat regions and noise."""
    stamp = Stamp(
        codec="", pixels=("", ""), data="", image_size=EDGE, grid=(EDGE, EDGE), codebook_size=K, flips=False,
        num_train=4000, num_validation=PICTURES,
    )  # fmt: skip
    draws = np.random.default_rng(0)
    y, x = np.mgrid[0:EDGE, 0:EDGE]
    rows = np.empty((stamp.shape[0], 1, EDGE * EDGE), np.uint16)
    for row in rows:
        slope, offset = draws.normal(size=2), draws.normal()
        sides = np.where((x - 3.5) * slope[0] + (y - 3.5) * slope[1] > offset, *draws.integers(K, size=2))
        noisy = draws.random((EDGE, EDGE)) < 0.1
        row[0] = np.where(noisy, draws.integers(K, size=(EDGE, EDGE)), sides).flatten()
    return Codes(stamp, rows)


def trained(codes: Codes) -> Transformer:
    steps = 400
    task = PriorTask(
        PriorConfig(width=64, depth=3, heads=4, init="gpt2"),
        DiffusionConfig(steps=STEPS, stratified=True),
        OptimConfig(lr=2e-3, batch=64, warmup=20, ema_decay=0.9, ema_every=1),
        LoopConfig(steps=steps),
        Engine(EngineConfig(device="cpu")),
        codes,
        codec=Part({}, {}),
        decode=lambda codes: codes,
        about={},
    )
    for step in range(steps):
        task.step(step)
    return task._ema.module
