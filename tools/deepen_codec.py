"""Make a codec of a quarter of the codes out of a trained one: one level more in the middle, all else kept.

    python tools/deepen_codec.py emoji runs/deeper --codebook-size 4096 --code-width 32
    unmask train codec emoji --init runs/deeper --codec.quantizer.kmeans-batches 64 --out runs/codec8

Both halves of the new codec have their deepest level twice. The second one starts as the first, as far as
shapes fit; the layers next to the codes and the codebook start anew; all else is there already.
"""

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro
from torch import Tensor
from tyro.conf import Positional

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig
from unmask.models import codec_from, open_model
from unmask.rng import generator
from unmask.storage import bundles
from unmask.storage.bundles import Bundle, Part

ADDED = 2  # layers on each side: the halving or doubling, and a block
MIDDLE = 3  # block, attention, block


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What to make of what."""

    model: Annotated[str, Positional]
    out: Annotated[Path, Positional]
    codebook_size: int = 4096
    code_width: int = 32
    seed: int = 0


def main() -> None:
    """Write the deeper codec, to be trained on."""
    arguments = tyro.cli(Arguments, description=__doc__)
    model = open_model(arguments.model)
    old = codec_from(model.codec)
    config = deeper(old.config, arguments.codebook_size, arguments.code_width)
    new = Autoencoder(config, generator(arguments.seed, "codec"))
    tensors, num_kept = transplanted(old, new)
    print(f"{num_kept:,} of {sum(tensor.numel() for tensor in tensors.values()):,} parameters are kept")
    part = Part(config=asdict(config), tensors=tensors)
    bundles.save(Bundle(codec=part, about={"image_size": model.about["image_size"]}), arguments.out)


def deeper(config: CodecConfig, codebook_size: int, code_width: int) -> CodecConfig:
    """The settings of a codec with the deepest level once more."""
    quantizer = replace(config.quantizer, codebook_size=codebook_size)
    multipliers = (*config.multipliers, config.multipliers[-1])
    return replace(config, multipliers=multipliers, code_width=code_width, quantizer=quantizer)


def transplanted(old: Autoencoder, new: Autoencoder) -> tuple[dict[str, Tensor], int]:
    """The tensors of ``new``, those that ``old`` has at the same place being its own; how many values."""
    kept, tensors = old.state_dict(), new.state_dict()
    first = {"encoder": len(old.encoder) - MIDDLE - 2, "decoder": 1 + MIDDLE}  # of the added layers
    num_kept = 0
    for name, tensor in tensors.items():
        source = _source(name, first)
        if source in kept and kept[source].shape == tensor.shape:
            tensors[name] = kept[source].float()
            num_kept += tensor.numel()
    return tensors, num_kept


def _source(name: str, first: dict[str, int]) -> str:
    """The tensor of the shallower codec from which one of the deeper starts, if it has that shape."""
    match = re.match(r"(encoder|decoder)\.(\d+)(.*)", name)
    if match is None:
        return name
    side, index, rest = match[1], int(match[2]), match[3]
    repeats = index >= first[side] + (ADDED if side == "decoder" else 0)
    return f"{side}.{index - ADDED if repeats else index}{rest}"


if __name__ == "__main__":
    main()
