"""``unmask encode``: images to codes, once."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from unmask.cli.arguments import Codec, Data, DeviceOption
from unmask.cli.results import emit
from unmask.config import merge
from unmask.data.config import ImagesConfig
from unmask.devices import Precision
from unmask.training.resolve import images_of

HELP = """Encode a data set, both splits, into a folder of codes for training priors.

  unmask encode runs/codec/best photos/ --out photos.codes
  unmask train prior runs/codec/best photos.codes --out runs/prior

After a stop, run the same command again to continue. Codes carry the fingerprint of their codec; a training
with another codec refuses them."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    codec: Codec
    data: Data
    out: Path
    """Folder of the codes; by convention its name ends in .codes."""
    images: ImagesConfig = field(default_factory=ImagesConfig)
    """As in the training of the codec, unless given; the size is always the codec's. Mirrored and shifted
    images are encoded too."""
    device: DeviceOption = "auto"
    precision: Precision = "auto"
    """auto: bfloat16 where the device supports it, which changes one code in a hundred. 32: float32."""


def main(argv: list[str]) -> None:
    """Encode and say what came of it."""
    default = ImagesConfig(captions="auto")
    arguments = _parse(argv, default)
    arguments = _parse(argv, merge(default, images_of(arguments.codec)))  # only now is it known which
    from unmask.distributed import Processes
    from unmask.models import open_model
    from unmask.training.inputs import encode_data

    model, processes = open_model(arguments.codec), Processes(arguments.device)
    stamp = encode_data(
        model, arguments.data, arguments.images, processes, arguments.out, arguments.precision
    ).stamp
    rows, columns = stamp.grid
    num_views = stamp.shape[1]
    views = f", each in {num_views} views (crops, mirrored, moved)" if num_views > 1 else ""
    counts = {"train": stamp.num_train, "validation": stamp.num_validation, "grid": stamp.grid}
    emit(f"{stamp.num_train} images for training{views}, {stamp.num_validation} for validation", **counts)
    if stamp.captions:
        print("captions are beside the codes")
    emit(f"{rows}×{columns} codes each, of {stamp.codebook_size}, in {arguments.out}", folder=arguments.out)


def _parse(argv: list[str], images: ImagesConfig) -> Arguments:
    default = Arguments(codec=tyro.MISSING, data=tyro.MISSING, out=tyro.MISSING, images=images)
    return tyro.cli(Arguments, args=argv, default=default, prog="unmask encode", description=HELP)
