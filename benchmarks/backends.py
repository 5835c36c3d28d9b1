"""A pass of the prior on each back-end of ``--backend``, at the paper's size: torch, onnxruntime, 8 bits."""

import tempfile
from importlib.metadata import version
from pathlib import Path

import torch

from benchmarks.measure import interleave, row
from unmask.diffusion.fill import Denoiser
from unmask.onnx.denoiser import GraphDenoiser
from unmask.onnx.export import PRIOR, PRIOR_INT8, export_prior, round_prior
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator

K, GRID = 1024, (16, 16)
PAPER = PriorConfig()
WANTED = 2  # positions asked for in each image: about what a step of the paper's chain reveals


def main(prior: PriorConfig = PAPER, batches: tuple[int, ...] = (1, 8), repeats: int = 9) -> None:
    network = Transformer(prior, K, GRID, generator(0, "prior")).eval().requires_grad_(False)
    with tempfile.TemporaryDirectory() as temporary:
        export_prior(network, Path(temporary))
        round_prior(Path(temporary))
        denoisers: dict[str, Denoiser] = {
            "torch": network,
            "onnx": GraphDenoiser(Path(temporary, PRIOR), K),
            "onnx-int8": GraphDenoiser(Path(temporary, PRIOR_INT8), K),
        }
        for batch in batches:
            time_passes(denoisers, prior, batch, repeats)


def time_passes(denoisers: dict[str, Denoiser], prior: PriorConfig, batch: int, repeats: int) -> None:
    codes = torch.randint(K, (batch, GRID[0] * GRID[1]), generator=generator(0, "codes"))
    codes[:, ::2] = K
    where = torch.zeros(codes.shape, dtype=torch.bool)
    where[:, : 2 * WANTED : 2] = True
    passes = {name: lambda denoise=denoise: denoise(codes, where) for name, denoise in denoisers.items()}
    timings = interleave(passes, repeats)
    config = {"prior": f"{prior.depth} layers of {prior.width}", "positions": codes.shape[1], "batch": batch}
    config |= {"onnxruntime": version("onnxruntime")}
    for name in ("onnx", "onnx-int8"):
        row("a pass of the prior", name, timings, baseline="torch", config=config)
