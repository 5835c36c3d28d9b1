"""What ``--prior.merge 2`` saves: a pass of a prior in sampling, and forward and backward of its training.

The prior of the preset ``emoji``, half of the codes masked, in the precision that the processor is best at.
Seconds are of CPU time.
"""

import time
from dataclasses import replace

import torch
import torch.nn.functional as F

from benchmarks.measure import interleave, row
from unmask.devices import wants_bfloat16
from unmask.presets import prior_preset
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator

K, GRID = 512, (16, 16)
EMOJI = prior_preset("emoji").prior


def main(prior: PriorConfig = EMOJI, batch: int = 16, repeats: int = 7) -> None:
    networks = {
        name: Transformer(replace(prior, merge=side), K, GRID, generator(0, "prior"))
        for name, side in (("2×2 codes as one", 2), ("each code", 1))
    }
    codes = torch.randint(K, (batch, GRID[0] * GRID[1]), generator=generator(0, "codes"))
    masked = torch.rand(codes.shape, generator=generator(0, "masked")) < 0.5
    seen, rng = codes.masked_fill(masked, K), generator(0, "dropout")

    def step(network: Transformer) -> None:
        F.cross_entropy(network(seen, masked, rng), codes[masked]).backward()

    config = {"prior": f"{prior.depth} layers of {prior.width}", "batch": batch, "seconds": "of CPU time"}
    with torch.autocast("cpu", torch.bfloat16, enabled=wants_bfloat16("auto", "cpu")):
        with torch.no_grad():
            passes = {name: lambda n=network: n(seen, masked) for name, network in networks.items()}
            timings = interleave(passes, repeats, time.process_time)
        row("a pass of the prior", "2×2 codes as one", timings, baseline="each code", config=config)
        steps = {name: lambda n=network: step(n) for name, network in networks.items()}
        timings = interleave(steps, repeats, time.process_time)
    row("forward and backward of the prior", "2×2 codes as one", timings, baseline="each code", config=config)
