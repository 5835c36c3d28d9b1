"""``unmask encode``: pictures to codes, once."""

from dataclasses import dataclass, field
from pathlib import Path

import tyro

from unmask.cli.arguments import Codec, Data, DeviceOption
from unmask.cli.results import tell
from unmask.config import merge
from unmask.data.config import ImagesConfig
from unmask.devices import Precision
from unmask.training.resolve import images_of

HELP = """Encode a set of pictures, both splits, into a folder of codes for training priors.

  unmask encode runs/codec/best photos/ --out photos.codes

After a stop, run the same command again to continue. Codes are stamped with the codec that made them, and a
prior on another codec refuses them."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    codec: Codec
    data: Data
    out: Path
    """Folder of the codes, best named with .codes at its end."""
    images: ImagesConfig = field(default_factory=ImagesConfig)
    """As for the codec, unless said otherwise; the size is always its own. Mirrored and moved pictures are
    encoded too."""
    device: DeviceOption = "auto"
    precision: Precision = "auto"
    """auto: bfloat16 where the device has it, in which one code in a hundred is another. 32: float32."""


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
    tell(f"{stamp.num_train} pictures for training{views}, {stamp.num_validation} for validation", **counts)
    if stamp.captions:
        print("captions are beside the codes")
    tell(f"{rows}×{columns} codes each, of {stamp.codebook_size}, in {arguments.out}", folder=arguments.out)


def _parse(argv: list[str], images: ImagesConfig) -> Arguments:
    default = Arguments(codec=tyro.MISSING, data=tyro.MISSING, out=tyro.MISSING, images=images)
    return tyro.cli(Arguments, args=argv, default=default, prog="unmask encode", description=HELP)
