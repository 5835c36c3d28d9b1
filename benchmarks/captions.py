"""What captions and guidance cost: a pass of a prior with captions, and a guided sample.

The prior of the preset ``emoji``, with the words and caption lengths of the built-in set. Seconds are of CPU
time: ratios of passes so short drown in what else a machine does. They are below 1 here, since both take
longer than their baselines: 0.91 is 1.1 times as long, 0.48 is 2.1 times. Both are measured in float32, and
in bfloat16, the default of processors that have it.
"""

import time
from collections.abc import Callable

import torch

from benchmarks.measure import interleave, row
from unmask.devices import tuned_allocator
from unmask.diffusion.fill import Denoiser
from unmask.diffusion.guidance import Guided, with_words
from unmask.diffusion.precision import InBfloat16
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import Settings
from unmask.presets import prior_preset
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import NO_TEXT, Text, Transformer
from unmask.rng import generator

K, GRID, CAPTIONS = 512, (16, 16), Text(length=16, num_words=1665)
EMOJI = prior_preset("emoji").prior
N = GRID[0] * GRID[1]
WANTED = 16  # positions asked for in each image


PRECISIONS: dict[str, Callable[[Denoiser], Denoiser]] = {
    "float32": lambda prior: prior,
    "bfloat16": InBfloat16,
}


def main() -> None:
    for precision in PRECISIONS:
        compare(precision)


def compare(
    precision: str, prior: PriorConfig = EMOJI, batch: int = 8, steps: int = 4, repeats: int = 7
) -> None:
    plain, captioned = (PRECISIONS[precision](network(prior, text)) for text in (NO_TEXT, CAPTIONS))
    words = torch.full((batch, CAPTIONS.length), K + 2)
    config = {"prior": f"{prior.depth} layers of {prior.width}", "positions": N, "batch": batch}
    config |= {"words": CAPTIONS.length, "seconds": "of CPU time", "precision": precision}

    codes = torch.randint(K, (batch, N), generator=generator(0, "codes"))
    codes[:, ::2] = K
    where = torch.zeros(codes.shape, dtype=torch.bool)
    where[:, : 2 * WANTED : 2] = True
    rows, asked = torch.cat([words, codes], dim=1), torch.nn.functional.pad(where, (CAPTIONS.length, 0))
    passes = {"with captions": lambda: captioned(rows, asked), "without": lambda: plain(codes, where)}
    with tuned_allocator():  # as ``fill`` does
        timings = interleave(passes, repeats, time.process_time)
    row("a pass of the prior", "with captions", timings, baseline="without", config=config)

    untold = with_words(torch.full((CAPTIONS.length,), K))
    guided = Guided(captioned, 3.0, blank=untold, num_words=CAPTIONS.length)

    def sample(denoise: Denoiser) -> object:
        settings, device = Settings(steps=steps), torch.device("cpu")
        return sample_codes(denoise, range(batch), GRID, settings, seed=0, device=device, words=words)

    samples = {"guided": lambda: sample(guided), "unguided": lambda: sample(captioned)}
    timings = interleave(samples, repeats, time.process_time)
    row("a guided sample", "guided", timings, baseline="unguided", config=config | {"steps": steps})


def network(prior: PriorConfig, text: Text) -> Transformer:
    return Transformer(prior, K, GRID, generator(0, "prior"), text).eval().requires_grad_(False)
