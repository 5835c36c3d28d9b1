"""Metrics of training: scalars that stay on the device until someone reads them."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


def averaged(passes: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each metric over the passes of one step."""
    return {name: torch.stack([metrics[name].detach() for metrics in passes]).mean() for name in passes[0]}
