"""What a training at the paper's scale costs: counted, not run. The tables of recipes/README.md.

    python tools/estimate_cost.py

Operations and saved activations are counted on tensors without contents, from the presets as they are. Times
assume that a GPU reaches SHARE of its peak in such a training, which is the guess in them.
"""

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
        saved_bytes(copies) + saved_bytes(lambda: eye(made, images)) + saved_bytes(lambda: judge(made))
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


def main() -> None:
    """Print the table."""
    heads = ["stage", "steps", "10¹² operations a step", "state, GB", "activations in bfloat16, GB"]
    print(f"| {' | '.join([*heads, *(f'days, {gpu}' for gpu in PEAKS)])} |")
    print("|---" * (len(heads) + len(PEAKS)) + "|")
    for name in ("churches", "ffhq"):
        print(row(f"codec, {name}", codec_preset(name).loop.steps, codec_costs(name)))
    print(row("prior, all", prior_preset("churches").loop.steps, prior_costs("churches")))


if __name__ == "__main__":
    main()
