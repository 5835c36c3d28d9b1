"""The codec at the paper's size: a training step, encoding and decoding, and the memory of tiled decoding.

The baseline is the same network written plainly: memory in the usual order, codes looked up by one-hot
products, and L_rec, L_G and their sum differentiated one after the other for λ.
"""

import multiprocessing
import resource

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measure import interleave, note, row
from unmask import weights
from unmask.codec.augment import augment
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, LossConfig
from unmask.codec.discriminator import Discriminator
from unmask.codec.losses import discriminator_loss, generator_loss
from unmask.codec.perceptual import Perceptual
from unmask.images.pixels import PixelSet
from unmask.rng import generator
from unmask.training.codec_task import CodecTask
from unmask.training.config import EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine

SIZE = 256
LOSS = LossConfig(adversarial_start=0)
OPTIM = OptimConfig(batch=1, ema_every=10**9)


def main() -> None:
    training()
    coding()
    tiles()


def training() -> None:
    pictures = PixelSet(["noise"], np.zeros(1, np.int64), lambda rows: noise(len(rows)), ["noise"])
    task = CodecTask(
        CodecConfig(), LOSS, OPTIM, LoopConfig(), Engine(EngineConfig()), pictures, pictures,
        flip=False, perceptual=perceptual(), about={},
    )  # fmt: skip
    plain = PlainTraining()
    contestants = {"plain": plain.step, "unmask": lambda: task.step(0)}
    row(
        "codec training step",
        "unmask",
        interleave(contestants, repeats=5),
        baseline="plain",
        config={
            "codec": "paper, 63M",
            "batch": 1,
            "size_px": SIZE,
            "losses": "L1, LPIPS-VGG, hinge, λ, DiffAug",
        },
    )


def coding() -> None:
    ours, plain = Autoencoder(CodecConfig(), generator(0)).eval(), PlainCodec().eval()
    images = torch.rand(1, 3, SIZE, SIZE, generator=generator(1))
    with torch.no_grad():
        codes = ours.encode(images)
        encoders = {"plain": lambda: plain.encode(images), "unmask": lambda: ours.encode(images)}
        decoders = {"plain": lambda: plain.decode(codes), "unmask": lambda: ours.decode(codes)}
        for what, contestants in (("codec encode", encoders), ("codec decode", decoders)):
            timings = interleave(contestants, repeats=9)
            row(
                what,
                "unmask",
                timings,
                baseline="plain",
                config={"codec": "paper, 63M", "batch": 1, "size_px": SIZE},
            )


def tiles() -> None:
    """Peak memory beyond the weights, each in a process of its own, so that one does not hide another."""
    for size_px, tiled in ((1024, False), (1024, True), (4096, True)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(peak_of_decoding, (size_px, tiled))
        figures = {"peak_mb": round(peak / 1e6), "picture_mb": round(size_px**2 * 12 / 1e6)}
        config = {"size_px": size_px, "tiled": tiled, "codec": "paper, 63M"}
        note("codec decode peak memory", figures, config=config)


def peak_of_decoding(size_px: int, tiled: bool) -> int:
    codec = Autoencoder(CodecConfig(), generator(0)).eval()
    grid = size_px // codec.config.factor
    codes = torch.randint(1024, (1, grid, grid), generator=generator(2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with torch.no_grad():
        codec.decode(codes) if tiled else codec.pixels(codec.quantizer.lookup(codes))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def noise(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, SIZE, SIZE, 3), dtype=np.uint8)


def perceptual() -> Perceptual:
    network = Perceptual("vgg")
    network.load_state_dict(weights.require("lpips-vgg"))
    return network


class PlainCodec(nn.Module):
    """The paper's autoencoder without anything done for speed."""

    def __init__(self) -> None:
        super().__init__()
        codec = Autoencoder(CodecConfig(), generator(0)).to(memory_format=torch.contiguous_format)
        self.encoder, self.decoder, self.codebook = codec.encoder, codec.decoder, codec.quantizer.codebook

    def quantize(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        rows = latents.permute(0, 2, 3, 1).reshape(-1, latents.shape[1])
        distances = (
            rows.square().sum(1, keepdim=True) + self.codebook.square().sum(1) - 2 * rows @ self.codebook.T
        )
        return distances.argmin(1), rows

    def lookup(self, codes: Tensor, height: int) -> Tensor:
        chosen = F.one_hot(codes, len(self.codebook)).float() @ self.codebook
        return chosen.view(-1, height, height, chosen.shape[1]).permute(0, 3, 1, 2).contiguous()

    def encode(self, images: Tensor) -> Tensor:
        return self.quantize(self.encoder(images))[0]

    def decode(self, codes: Tensor) -> Tensor:
        return self.decoder(self.lookup(codes.flatten(), codes.shape[1])).clamp(0, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        latents = self.encoder(images)
        quantized = self.lookup(self.quantize(latents)[0], latents.shape[2])
        loss = F.mse_loss(quantized, latents.detach()) + 0.25 * F.mse_loss(latents, quantized.detach())
        return self.decoder(latents + (quantized - latents).detach()), loss


class PlainTraining:
    """One step as the equations are usually typed in."""

    def __init__(self) -> None:
        self.codec = PlainCodec()
        self.critic = Discriminator(LOSS, generator(0)).to(memory_format=torch.contiguous_format)
        self.perceptual = perceptual()
        self.optimizer = torch.optim.Adam(self.codec.parameters(), lr=OPTIM.lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=OPTIM.lr)
        self.images = torch.from_numpy(noise(1)).permute(0, 3, 1, 2).float().div(255).contiguous()

    def judge(self, images: Tensor, rng: torch.Generator) -> Tensor:
        return self.critic.layers(augment(images, rng))

    def step(self) -> None:
        rng = generator(0)
        output, quantizer_loss = self.codec(self.images)
        rec = (self.images - output).abs().mean() + self.perceptual(self.images, output).mean()
        adversarial = generator_loss(self.judge(output, rng), "hinge")
        last = self.codec.decoder[-1].weight
        (from_rec,) = torch.autograd.grad(rec, last, retain_graph=True)
        (from_adv,) = torch.autograd.grad(adversarial, last, retain_graph=True)
        weight = (from_rec.norm() / (from_adv.norm() + 1e-4)).clamp(max=1).detach()
        self.optimizer.zero_grad()
        (rec + weight * adversarial + quantizer_loss).backward()
        self.optimizer.step()
        critic_loss = discriminator_loss(
            self.judge(self.images, rng), self.judge(output.detach(), rng), "hinge"
        )
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
