"""Sampling at the paper's size, against the paper's loop taken literally.

The baseline makes a pass at every step, over all positions, for all windows, and remembers nothing. Weights
are random: time does not depend on them. Long chains are measured on a slice, the same steps for both, in
which as many steps reveal something as on average. The last comparisons are
with the autoregressive prior, and with the denoising network of a DDPM for pictures of the same size.
"""

import itertools
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.measure import Timing, interleave, row
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig
from unmask.diffusion.autoregressive import autoregress
from unmask.diffusion.canvas import Canvas
from unmask.diffusion.fill import Denoiser, fill
from unmask.diffusion.precision import InBfloat16
from unmask.diffusion.schedule import even_plan
from unmask.diffusion.settings import Settings
from unmask.onnx.denoiser import GraphDenoiser
from unmask.onnx.export import PRIOR_INT8, export_prior, round_prior
from unmask.pipeline import load
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.reproduce.ddpm import diffusers
from unmask.rng import generator

K, GRID, STEPS = 1024, (16, 16), 256
WIDE = (16, 48)  # codes of a 768×256 picture
SLICE = 24  # steps measured of a chain
PAPER = {"prior": "paper, 77M", "steps": STEPS}


def main() -> None:
    prior = Transformer(PriorConfig(init="gpt2"), K, GRID, generator(0)).eval()
    built_in()
    for count, repeats in ((1, 5), (8, 3)):
        chain(prior, count, repeats)
    wide(prior)
    autoregressive = Transformer(
        PriorConfig(kind="autoregressive", init="gpt2"), K, GRID, generator(0)
    ).eval()
    for count in (1, 8):
        code_after_code(autoregressive, count)
    other_models(prior, autoregressive)


def built_in(count: int = 16, steps: int = 64, repeats: int = 3) -> None:
    """Pictures of the built-in model from the request to pixels; float32 was the default once."""
    models = {
        "float32": load("emoji", "cpu", precision="32"),
        "bfloat16": load("emoji", "cpu", precision="bf16"),
        "int8": load("emoji", "cpu", "onnx-int8"),
    }
    contestants = {
        name: partial(model.sample, count, settings="paper", steps=steps) for name, model in models.items()
    }
    timings = interleave(contestants, repeats)
    config = {"model": "emoji", "pictures": count, "steps": steps}
    for name in ("bfloat16", "int8"):
        row(f"sample {count}, {steps} steps", name, timings, baseline="float32", config=config)


def in_int8(prior: Transformer) -> GraphDenoiser:
    """The prior as onnxruntime computes it, rounded to 8 bits."""
    with tempfile.TemporaryDirectory() as folder:
        export_prior(prior, Path(folder))
        round_prior(Path(folder))
        return GraphDenoiser(Path(folder, PRIOR_INT8), K)


def chain(prior: Transformer, count: int, repeats: int) -> None:
    """The first steps of the chain of 256, for one picture or for eight: exact, in bfloat16, in 8 bits."""
    plan = typical_plan(count)
    due = plan > STEPS - SLICE
    codes = torch.where(due, K, torch.randint(K, plan.shape, generator=generator(1)))
    denoisers: dict[str, Denoiser] = {
        "unmask": prior,
        "unmask, bfloat16": InBfloat16(prior),
        "unmask, int8": in_int8(prior),
    }
    contestants = {"literal": lambda: literal_chain(prior, codes, plan)} | {
        name: partial(fill, denoise, codes, plan, Settings(), seed=0, batch=count)
        for name, denoise in denoisers.items()
    }
    timings = interleave(contestants, repeats)
    config = PAPER | {"pictures": count, "steps_measured": SLICE}
    for name in denoisers:
        row(f"sample {count}, 256 steps", name, timings, baseline="literal", config=config)


def typical_plan(count: int) -> Tensor:
    """The plan of the first seed whose measured steps take as many passes as such steps do on average."""
    wanted = round(count * SLICE * (1 - (1 - 1 / STEPS) ** 256))
    for seed in itertools.count():
        plan = even_plan(range(count), 256, STEPS, seed=seed)
        if sum(len(steps[steps > STEPS - SLICE].unique()) for steps in plan) == wanted:
            return plan
    raise AssertionError("some seed has it")


def wide(prior: Transformer) -> None:
    """A canvas of 768×256 pixels, one code a step, in random order.

    How many windows hold a code depends on its column, 11 in the mean; the six codes measured are spread over
    the columns so that theirs is the same.
    """
    N, measured = WIDE[0] * WIDE[1], 6
    order = torch.randperm(N, generator=generator(2))
    columns = torch.arange(4, WIDE[1], WIDE[1] // measured)
    due = torch.randint(WIDE[0], (measured,), generator=generator(7)) * WIDE[1] + columns
    order = torch.cat([order[~torch.isin(order, due)], due])
    plan = (order.argsort() + 1)[None]
    codes = torch.where(plan > N - measured, K, torch.randint(K, (1, N), generator=generator(3)))
    exact, one_window = (Canvas(prior, GRID, WIDE, Settings(windows=count)) for count in (None, 1))
    contestants = {
        "literal": lambda: literal_canvas(prior, codes, plan, measured),
        "exact": lambda: fill(exact, codes, plan, Settings(), seed=0),
        "one random window": lambda: fill(one_window, codes, plan, Settings(), seed=0),
    }
    timings = interleave(contestants, repeats=3)
    config = {"prior": "paper, 77M", "codes": list(WIDE), "steps": N, "steps_measured": measured}
    for name in ("exact", "one random window"):
        row("canvas 768×256, one code a step", name, timings, baseline="literal", config=config)


def code_after_code(autoregressive: Transformer, count: int) -> None:
    """256 codes of the autoregressive prior; the literal way is timed at 8 of the 256 positions."""
    codes = torch.randint(K, (count, 256), generator=generator(4))
    places = range(16, 256, 32)
    contestants = {
        "literal": lambda: [literal_next(autoregressive, codes, place) for place in places],
        "unmask": lambda: autoregress(autoregressive, range(count), Settings(), seed=0, batch=count),
    }
    timings = interleave(contestants, repeats=11)
    timings["literal"] = times(timings["literal"], 256 / len(places))
    config = {"prior": "paper, 77M, causal", "pictures": count, "positions_measured_of_literal": len(places)}
    row(f"sample {count} autoregressively", "unmask", timings, baseline="literal", config=config)


def other_models(prior: Transformer, autoregressive: Transformer) -> None:
    """A picture of 256×256 pixels, decoding included, against the autoregressive prior and against a DDPM.

    Of the DDPM's thousand steps two are timed.
    """
    codec = Autoencoder(CodecConfig(), generator(0)).eval()
    codes = torch.randint(K, (1, *GRID), generator=generator(5))
    short = even_plan(range(1), 256, SLICE, seed=0)
    long = even_plan(range(1), 256, STEPS, seed=0)
    due = torch.where(long > STEPS - SLICE, K, codes.flatten(1))
    contestants = {
        "ddpm": partial(denoise, church_ddpm(), torch.randn(1, 3, 256, 256, generator=generator(6)), steps=2),
        "autoregressive": lambda: autoregress(autoregressive, range(1), Settings(), seed=0),
        f"{SLICE} steps": lambda: fill(prior, torch.full((1, 256), K), short, Settings(), seed=0),
        f"{SLICE} steps of {STEPS}": lambda: fill(prior, due, long, Settings(), seed=0),
        "decode": lambda: decode(codec, codes),
    }
    timings = interleave(contestants, repeats=3)
    chains = {
        "ddpm": times(timings["ddpm"], 1000 / 2),
        "autoregressive": plus(timings["autoregressive"], timings["decode"]),
        "unmask, 256 steps": plus(
            times(timings[f"{SLICE} steps of {STEPS}"], STEPS / SLICE), timings["decode"]
        ),
        "unmask, 50 steps": plus(times(timings[f"{SLICE} steps"], 50 / SLICE), timings["decode"]),
    }
    config = {"prior": "paper, 77M", "ddpm": "UNet2DModel, 114M, 1000 steps", "size_px": 256}
    for name in ("unmask, 256 steps", "unmask, 50 steps"):
        for baseline in ("ddpm", "autoregressive"):
            row("one picture of 256×256", name, chains, baseline=baseline, config=config)


def church_ddpm() -> nn.Module:
    """The network of Ho et al. (2020) for pictures of 256×256, from ``diffusers``."""
    return (
        diffusers()
        .UNet2DModel(
            sample_size=256,
            block_out_channels=(128, 128, 256, 256, 512, 512),
            down_block_types=("DownBlock2D",) * 4 + ("AttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "AttnUpBlock2D") + ("UpBlock2D",) * 4,
        )
        .eval()
    )


@torch.no_grad()
def denoise(network: nn.Module, x: Tensor, steps: int) -> None:
    for step in range(steps):
        x = x - 0.01 * network(x, 999 - step).sample


@torch.no_grad()
def decode(codec: Autoencoder, codes: Tensor) -> None:
    codec.decode(codes)


def times(timing: Timing, factor: float) -> Timing:
    """What the whole would have taken, from a slice."""
    return Timing(tuple(factor * seconds for seconds in timing.seconds))


def plus(one: Timing, other: Timing) -> Timing:
    return Timing(tuple(a + b for a, b in zip(one.seconds, other.seconds, strict=True)))


@torch.no_grad()
def literal_chain(prior: Callable[[Tensor, Tensor], Tensor], codes: Tensor, plan: Tensor) -> None:
    """Every step a pass over everything, whether it reveals something or not."""
    everywhere = torch.ones_like(codes, dtype=torch.bool)
    codes, rng = codes.clone(), generator(0)
    for step in range(STEPS, STEPS - SLICE, -1):
        logits = prior(codes, everywhere)
        drawn = torch.multinomial(logits.softmax(1), 1, generator=rng).view(codes.shape)
        codes = torch.where(plan == step, drawn, codes)


@torch.no_grad()
def literal_canvas(prior: Transformer, codes: Tensor, plan: Tensor, measured: int) -> None:
    """Every window at every step, all its positions, added up and drawn from."""
    (h, w), (rows, columns) = GRID, WIDE
    everywhere = torch.ones(1, h * w, dtype=torch.bool)
    codes, rng = codes.clone().view(rows, columns), generator(0)
    for step in range(rows * columns, rows * columns - measured, -1):
        total = torch.zeros(rows, columns, K)
        for left in range(columns - w + 1):
            window = codes[:, left : left + w].reshape(1, -1)
            total[:, left : left + w] += prior(window, everywhere).softmax(1).view(h, w, K)
        drawn = torch.multinomial(total.view(-1, K), 1, generator=rng).view(rows, columns)
        codes = torch.where(plan.view(rows, columns) == step, drawn, codes)


@torch.no_grad()
def literal_next(prior: Transformer, codes: Tensor, place: int) -> Tensor:
    """The logits of the next code from all codes before it, computed again."""
    x = (
        torch.cat([prior._start(len(codes)), prior.tokens(codes[:, :place])], dim=1)
        + prior.positions[: place + 1]
    )
    for block in prior._blocks:
        x = prior._whole(block, x, None)
    return prior.head(prior.norm(x[:, -1]))
