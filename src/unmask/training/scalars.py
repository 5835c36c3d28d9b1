"""Figures of training: scalars that stay on the device until someone reads them."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


def averaged(passes: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each figure over the passes of one step."""
    return {name: torch.stack([figures[name].detach() for figures in passes]).mean() for name in passes[0]}
