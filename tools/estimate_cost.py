"""What a training at the paper's scale costs: counted, not run.

    python tools/estimate_cost.py             the tables of recipes/README.md
    python tools/estimate_cost.py bedrooms    those of docs/scaling.md

Operations and saved activations are counted on tensors without contents, from the presets as they are. Times
assume that a GPU reaches SHARE of its peak in such a training, which is the guess in them.
"""

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.discriminator import Discriminator
from unmask.codec.perceptual import Perceptual
from unmask.presets import codec_preset, prior_preset
from unmask.prior.transformer import Transformer
from unmask.rng import generator

PEAKS = {"RTX 4090": 165e12, "A100": 312e12}  # bfloat16, dense, as their maker says
SHARE = 0.25
GPUS = 8  # of a node
LINKS = {1: 200e9, 4: 20e9}  # bytes a second in a ring by number of nodes: NVLink, or 200 Gbit/s a GPU
BEDROOMS = 3_033_042  # pictures
STATE_BYTES = 4 * 5  # of a weight in float32: itself, its gradient, Adam's two moments, the running average


def flops(run: Callable[[], object]) -> int:
    """Operations of a forward pass."""
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        run()
    return counter.get_total_flops()


def saved_bytes(run: Callable[[], object]) -> int:
    """Bytes that a forward pass keeps for the backward pass, weights left out, each tensor once."""
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter):
            kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return sum(tensor.numel() * tensor.element_size() for tensor in kept.values())


def weights(*modules: nn.Module) -> int:
    """Numbers that are trained."""
    return sum(weight.numel() for module in modules for weight in module.parameters())


def codec_costs(name: str) -> tuple[float, float, float]:
    """Of a preset: operations a step, bytes of the state, bytes of activations."""
    settings, rng = codec_preset(name), generator(0, "weights")
    codec = Autoencoder(settings.codec, rng).to("meta")
    judge, eye = Discriminator(settings.loss, rng).to("meta"), Perceptual("vgg").to("meta")
    edge = settings.images.size
    images = torch.zeros(settings.optim.batch, 3, edge, edge, device="meta")

    def copies() -> Tensor:
        latents = codec.encoder(images)
        return codec.decoder(latents)

    made = torch.zeros_like(images, requires_grad=True)
    # A backward pass costs two forward passes, or one where only inputs have gradients. The loss network
    # looks at pictures and at copies, whose gradient it passes back; the discriminator judges the copies in
    # the same way, and then learns from pictures and from copies.
    step = 3 * flops(copies) + 3 * flops(lambda: eye.features(images)) + 8 * flops(lambda: judge(images))
    activations = (
        saved_bytes(copies) + saved_bytes(lambda: eye.features(made)) + saved_bytes(lambda: judge(made))
    )
    return step, STATE_BYTES * weights(codec, judge) + 4 * weights(eye), activations


def prior_costs(name: str) -> tuple[float, float, float]:
    """The same of a prior's preset, on 16×16 codes of 1024."""
    settings = prior_preset(name)
    prior = Transformer(settings.prior, 1024, (16, 16), generator(0, "weights")).to("meta")
    codes = torch.zeros(settings.optim.batch, 256, dtype=torch.long, device="meta")

    places = torch.arange(256, device="meta").expand_as(codes)

    def logits() -> Tensor:
        return prior.at(codes, places)

    return 3 * flops(logits), STATE_BYTES * weights(prior), saved_bytes(logits)


def row(label: str, steps: int, costs: tuple[float, float, float]) -> str:
    """A line of the table."""
    step, state, activations = costs
    days = [f"{steps * step / (SHARE * peak) / 86400:.1f}" for peak in PEAKS.values()]
    cells = [
        label,
        f"{steps:,}",
        f"{step / 1e12:.1f}",
        f"{state / 1e9:.1f}",
        f"{activations / 2e9:.1f}",
        *days,
    ]
    return f"| {' | '.join(cells)} |"


def shared_row(label: str, steps: int, costs: tuple[float, float, float], nodes: int) -> str:
    """A line on eight GPUs of each of some nodes: as many pictures as on one, a batch on each."""
    step, state, activations = costs
    gpus = GPUS * nodes
    sent = 2 * (gpus - 1) / gpus * state / 5  # a ring sums gradients, a fifth of the state, and hands them on
    compute, reduce = step / (SHARE * PEAKS["A100"]), sent / LINKS[nodes]
    days = [steps / gpus * seconds / 86400 for seconds in (max(compute, reduce), compute + reduce)]
    cells = [label, f"{nodes} × {GPUS}", f"{steps // gpus:,}", f"{(state + activations / 2) / 1e9:.1f}"]
    cells += [f"{sent / 1e9:.2f}", f"{compute * 1e3:.0f}", f"{reduce * 1e3:.0f}"]
    return f"| {' | '.join(cells)} | {24 * days[0]:.1f} to {24 * days[1]:.1f} |"


def main_shared() -> None:
    """Print the table of LSUN Bedroom on several GPUs."""
    heads = ["stage", "GPUs", "steps", "GB a GPU", "GB sent a step", "ms to compute", "ms to send", "hours"]
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    stages = {
        "codec": (codec_preset("bedrooms").loop.steps, codec_costs("bedrooms")),
        "prior": (prior_preset("bedrooms").loop.steps, prior_costs("bedrooms")),
    }
    for label, (steps, costs) in stages.items():
        for nodes in LINKS:
            print(shared_row(label, steps, costs, nodes))
    codec = Autoencoder(codec_preset("bedrooms").codec, generator(0, "weights")).to("meta")
    one = flops(lambda: codec.encoder(torch.zeros(1, 3, 256, 256, device="meta")))
    minutes = [2 * BEDROOMS * one / (GPUS * nodes * SHARE * PEAKS["A100"]) / 60 for nodes in LINKS]
    print(f"\nto encode an image: {one / 1e12:.2f} · 10¹² operations; all and their mirror images: ", end="")
    print(", ".join(f"{m:.0f} minutes on {n} × {GPUS}" for m, n in zip(minutes, LINKS, strict=True)))


def main() -> None:
    """Print the table."""
    heads = ["stage", "steps", "10¹² operations a step", "state, GB", "activations in bfloat16, GB"]
    print(f"| {' | '.join([*heads, *(f'days, {gpu}' for gpu in PEAKS)])} |")
    print("|---" * (len(heads) + len(PEAKS)) + "|")
    for name in ("churches", "ffhq"):
        print(row(f"codec, {name}", codec_preset(name).loop.steps, codec_costs(name)))
    print(row("prior, all", prior_preset("churches").loop.steps, prior_costs("churches")))


if __name__ == "__main__":
    main_shared() if sys.argv[1:] == ["bedrooms"] else main()
