"""A PatchGAN: it judges overlapping patches of reconstructions, not whole pictures (Isola et al., 2017)."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from unmask.codec.blocks import channels_last
from unmask.codec.config import LossConfig


class Discriminator(nn.Module):
    """(B, 3, H, W) images to (B, 1, h', w') logits, one a patch; positive says real."""

    def __init__(self, config: LossConfig, rng: torch.Generator) -> None:
        super().__init__()
        widths = [config.discriminator_width * 2 ** min(i, 3) for i in range(config.discriminator_layers + 1)]
        layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, stride=2, padding=1), nn.LeakyReLU(0.2)]
        for before, after in pairwise(widths):
            stride = 1 if len(layers) == 3 * config.discriminator_layers - 1 else 2
            conv = nn.Conv2d(before, after, 4, stride=stride, padding=1, bias=False)
            layers += [conv, nn.BatchNorm2d(after), nn.LeakyReLU(0.2)]
        layers.append(nn.Conv2d(widths[-1], 1, 4, padding=1))
        self.layers = nn.Sequential(*layers)
        self._initialise(rng)
        channels_last(self)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of every patch."""
        logits: Tensor = self.layers(images.contiguous(memory_format=torch.channels_last))
        return logits.float()

    def _initialise(self, rng: torch.Generator) -> None:
        """The narrow normal start of DCGAN, which PatchGANs keep."""
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, 0.0, 0.02, generator=rng)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
            elif isinstance(layer, nn.BatchNorm2d):
                nn.init.normal_(layer.weight, 1.0, 0.02, generator=rng)
