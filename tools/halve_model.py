"""A model with its weights rounded to float16, half the size.

python tools/halve_model.py runs/codec/best runs/codec-half

A codec is halved before its prior is trained, since rounding moves a few codes: the prior then learns the
codes of the very codec that it is shipped with. Halving the finished model leaves that codec as it is.
"""

import sys
from dataclasses import replace
from pathlib import Path

import torch

from unmask import bundle
from unmask.bundle import Part


def halved(part: Part) -> Part:
    """The network with its fractions in float16."""
    tensors = {
        name: tensor.half() if tensor.dtype == torch.float32 else tensor
        for name, tensor in part.tensors.items()
    }
    return Part(part.config, tensors)


def main(source: str, out: str) -> None:
    """Load, round, save."""
    model = bundle.load(Path(source))
    prior = halved(model.prior) if model.prior else None
    bundle.save(replace(model, codec=halved(model.codec), prior=prior), Path(out))


main(*sys.argv[1:])
