"""Arguments that several commands take, each said once. Free of torch, so that ``--help`` is instant."""

from typing import Annotated

from tyro.conf import Positional, arg

from unmask.devices import Device
from unmask.onnx.config import Backend

_SETS = "a folder, a .zip or .tar, an .npy, an LSUN lmdb, or the built-in 'emoji'"
_ELSEWHERE = "the built-in 'emoji', or user/name on the hub"

Model = Annotated[
    str,
    Positional,
    arg(metavar="MODEL", help=f"A model with a prior: a folder such as runs/prior/best, {_ELSEWHERE}."),
]
AnyModel = Annotated[
    str,
    Positional,
    arg(metavar="MODEL", help=f"A model: a folder such as runs/prior/best or runs/codec/best, {_ELSEWHERE}."),
]
Codec = Annotated[
    str,
    Positional,
    arg(
        metavar="CODEC",
        help=f"A model with the codec to use: a folder such as runs/codec/best, {_ELSEWHERE}.",
    ),
]
Data = Annotated[str, Positional, arg(metavar="DATA", help=f"Pictures: {_SETS}.")]
PictureOrData = Annotated[str, Positional, arg(metavar="DATA", help=f"Pictures: a file, {_SETS}.")]
TrainingData = Annotated[str, Positional, arg(metavar="DATA", help=f"What it was trained on: {_SETS}.")]
DataOrCodes = Annotated[
    str,
    Positional,
    arg(
        metavar="DATA_OR_CODES",
        help=f"Pictures, encoded once and remembered: {_SETS}. Or a folder of codes.",
    ),
]
DeviceOption = Annotated[Device, arg(help="Where to compute. auto: a GPU if there is one.")]
BackendOption = Annotated[
    Backend,
    arg(help="What computes the prior. onnx, onnx-int8: onnxruntime on the CPU (docs/models.md)."),
]
