"""The codec at the paper's size: a training step, encoding and decoding, and the memory of tiled decoding.

The baseline is the same network written plainly: memory in the usual order and handed back when freed, swish
and attention spelt out, pixels repeated before they are convolved, codes looked up by one-hot products, and
L_rec, L_G and their sum differentiated one after the other for λ, all in float32. Training is timed in the
precision that Unmask takes by itself, and in float32.
"""

import multiprocessing
import resource
from contextlib import ExitStack
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measure import interleave, note, row
from unmask.codec.augment import augment
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.blocks import Attention, Residual, Up
from unmask.codec.config import CodecConfig, LossConfig
from unmask.codec.discriminator import Discriminator
from unmask.codec.losses import discriminator_loss, generator_loss
from unmask.codec.perceptual import Perceptual
from unmask.codec.tiles import TILE, decode_tiles
from unmask.config import CodecTraining
from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet
from unmask.devices import tuned_allocator
from unmask.rng import generator
from unmask.third_party import weights
from unmask.training.codec_task import CodecTask
from unmask.training.config import EngineConfig, OptimConfig
from unmask.training.engine import Engine, wants_bfloat16

SIZE = 256
LOSS = LossConfig(adversarial_start=0)
OURS = ("unmask", "unmask, float32")
WORK = (
    ("training step", 1, OURS, 9),
    ("training step", 4, OURS[:1], 5),  # the paper's batch, with which three do not fit into 24 GB
    ("encode", 1, OURS[:1], 9),
    ("decode", 1, OURS[:1], 9),
)
"""What, of how many pictures, who beside the plain one, how often."""
SETTLE = {"plain": 20, "unmask": 2, "unmask, float32": 2}
"""Times before any is counted: memory that is handed back is taken anew until the heap has grown round it."""


def main() -> None:
    speed()
    tiles()


def speed() -> None:
    """Each contestant has a fresh process, since how freed memory is kept is a matter of the process."""
    spawn = multiprocessing.get_context("spawn")
    for what, batch, names, repeats in WORK:
        contestants = {}
        with ExitStack() as pools:
            for name in ("plain", *names):
                pool = pools.enter_context(spawn.Pool(1, start, [name, batch]))
                contestants[name] = partial(pool.apply, work, [what])
                for _ in range(SETTLE[name]):
                    contestants[name]()
            timings = interleave(contestants, repeats)
        for name in names:
            mixed = (what, name) == ("training step", "unmask") and wants_bfloat16("auto", "cpu")
            config = {"codec": "paper, 63M", "batch": batch, "size_px": SIZE}
            config["precision"] = "bfloat16" if mixed else "float32"
            row(f"codec {what}", name, timings, baseline="plain", config=config)


def start(contestant: str, batch: int) -> None:
    """Set up a worker process."""
    global CONTESTANT
    kinds = {"plain": Plain, "unmask": Ours, "unmask, float32": partial(Ours, precision="32")}
    CONTESTANT = kinds[contestant](batch)


def work(what: str) -> None:
    getattr(CONTESTANT, what.replace(" ", "_"))()


class Ours:
    """Unmask as it is used."""

    def __init__(self, batch: int, precision: str = "auto") -> None:
        pictures = noise_set(SIZE)
        engine = Engine(EngineConfig(device="cpu", precision=precision))
        settings = CodecTraining(images=ImagesConfig(flip=False), loss=LOSS, optim=optim(batch))
        self.task = CodecTask(settings, engine, pictures, pictures, perceptual=perceptual(), about={})
        self.codec = Autoencoder(CodecConfig(), generator(0)).eval()
        self.images = torch.rand(batch, 3, SIZE, SIZE, generator=generator(1))
        self.codes = torch.randint(1024, (batch, 16, 16), generator=generator(2))
        self.memory = ExitStack()  # one that nobody holds is closed at once
        self.memory.enter_context(tuned_allocator())  # as training, encoding and measuring do

    def training_step(self) -> None:
        self.task.step(0)

    @torch.no_grad()
    def encode(self) -> None:
        self.codec.encode(self.images)

    @torch.no_grad()
    def decode(self) -> None:
        self.codec.decode(self.codes)


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
    edge = size_px // codec.config.factor
    codes = torch.randint(1024, (1, edge, edge), generator=generator(2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with torch.no_grad():
        decode_tiles(codec.decode, codes, codec.config.factor, tile=TILE if tiled else edge)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def optim(batch: int) -> OptimConfig:
    return OptimConfig(batch=batch, ema_every=10**9)


def noise_set(size: int) -> PixelSet:
    return PixelSet(["noise"], np.zeros(1, np.int64), lambda rows: noise(len(rows), size), ["noise"])


def noise(count: int, size: int = SIZE) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def perceptual() -> Perceptual:
    network = Perceptual("vgg")
    network.load_state_dict(weights.require("lpips-vgg"))
    return network


class Plain:
    """The same networks and one step of training, as the equations are usually typed in."""

    def __init__(self, batch: int) -> None:
        self.codec = Autoencoder(CodecConfig(), generator(0)).to(memory_format=torch.contiguous_format)
        self.codebook = self.codec.quantizer.codebook
        self.discriminator = Discriminator(LOSS, generator(0)).to(memory_format=torch.contiguous_format)
        self.perceptual = perceptual().to(memory_format=torch.contiguous_format)
        self.optimizer = torch.optim.Adam(self.codec.parameters(), lr=optim(batch).lr)
        self.discriminator_optimizer = torch.optim.Adam(self.discriminator.parameters(), lr=optim(batch).lr)
        self.images = torch.from_numpy(noise(batch)).permute(0, 3, 1, 2).float().div(255).contiguous()
        self.codes = torch.randint(1024, (batch * 256,), generator=generator(2))

    @torch.no_grad()
    def encode(self) -> None:
        self.nearest(run(self.codec.encoder, self.images))

    @torch.no_grad()
    def decode(self) -> None:
        run(self.codec.decoder, self.lookup(self.codes)).clamp(0, 1)

    def nearest(self, latents: Tensor) -> Tensor:
        rows = latents.permute(0, 2, 3, 1).reshape(-1, latents.shape[1])
        squares = rows.square().sum(1, keepdim=True) + self.codebook.square().sum(1)
        return (squares - 2 * rows @ self.codebook.T).argmin(1)

    def lookup(self, codes: Tensor) -> Tensor:
        chosen = F.one_hot(codes, len(self.codebook)).float() @ self.codebook
        return chosen.view(-1, 16, 16, chosen.shape[1]).permute(0, 3, 1, 2).contiguous()

    def distance(self, output: Tensor) -> Tensor:
        seen = [self.perceptual.features(images) for images in (self.images, output)]
        levels = zip(*seen, self.perceptual.heads, strict=True)
        return torch.stack([(a - b).square().mean((2, 3)) @ head for a, b, head in levels]).sum(0)

    def training_step(self) -> None:
        rng = generator(0)
        latents = run(self.codec.encoder, self.images)
        quantized = self.lookup(self.nearest(latents))
        quantizer_loss = F.mse_loss(quantized, latents.detach()) + 0.25 * F.mse_loss(
            latents, quantized.detach()
        )
        output = run(self.codec.decoder, latents + (quantized - latents).detach())
        rec = (self.images - output).abs().mean() + self.distance(output).mean()
        adversarial = generator_loss(self.discriminator.layers(augment(output, rng)), "hinge")
        last = self.codec.decoder[-1].weight
        (from_rec,) = torch.autograd.grad(rec, last, retain_graph=True)
        (from_adv,) = torch.autograd.grad(adversarial, last, retain_graph=True)
        weight = (from_rec.norm() / (from_adv.norm() + 1e-4)).clamp(max=1).detach()
        self.optimizer.zero_grad()
        (rec + weight * adversarial + quantizer_loss).backward()
        self.optimizer.step()
        real, fake = (self.discriminator.layers(augment(x, rng)) for x in (self.images, output.detach()))
        self.discriminator_optimizer.zero_grad()
        discriminator_loss(real, fake, "hinge").backward()
        self.discriminator_optimizer.step()


def run(layers: nn.Sequential, x: Tensor) -> Tensor:
    """The layers with swish, attention and up-sampling spelt out."""
    for layer in layers:
        if isinstance(layer, Residual):
            y = layer.conv1(swish(layer.norm1(x)))
            x = layer.shortcut(x) + layer.conv2(swish(layer.norm2(y)))
        elif isinstance(layer, Attention):
            q, k, v = layer.qkv(layer.norm(x)).flatten(2).chunk(3, dim=1)  # (B, C, N) each
            scores = torch.bmm(q.transpose(1, 2), k) * q.shape[1] ** -0.5
            x = x + layer.out(torch.bmm(v, scores.softmax(2).transpose(1, 2)).view(x.shape))
        elif isinstance(layer, Up):
            x = layer.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        else:
            x = layer(x)
    return x


def swish(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)
