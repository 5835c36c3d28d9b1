"""Networks become ONNX graphs that take any batch.

encoder.onnx     images (B, 3, S, S) float32 in [0, 1]                    -> codes (B, h, w) int64
decoder.onnx     codes (B, h, w) int64                                    -> images (B, 3, S, S) float32
prior.onnx       codes (B, L + N) int64; places (B, Q) int64              -> logits (B, Q, E) float32
prior-int8.onnx  the same with weights and activations of 8 bits
prior.json       K, grid, image size, L and the words

In a row the L words of the caption come first, then the N codes, row by row, and places count from the first
word. Ids below K are codes, K is MASK, K + 1 ends a caption and is all that follows its end, and K + 2 + i is
word i of ``words``. Without captions L is 0 and E is K; else E is K + 2 + the number of words. Logits of ids
that cannot be at a place are −∞.
"""

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from unmask.codec.autoencoder import Autoencoder
from unmask.errors import ConfigError
from unmask.prior.transformer import Transformer
from unmask.storage.files import write_json

ENCODER, DECODER, PRIOR, PRIOR_INT8 = "encoder.onnx", "decoder.onnx", "prior.onnx", "prior-int8.onnx"
ABOUT = "prior.json"
GRAPHS = (ENCODER, DECODER, PRIOR, PRIOR_INT8)
OPSET = 18


class _Graph(nn.Module):
    """A network seen as one function of tensors."""

    def __init__(self, network: nn.Module, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.network, self._function = network, function
        self.eval()

    def forward(self, *inputs: Tensor) -> Tensor:
        """What the function makes of the inputs."""
        return self._function(*inputs)


def export_codec(codec: Autoencoder, size_px: int, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx for pictures of ``size_px`` pixels."""
    edge = codec.config.grid(size_px)
    images, codes = torch.zeros(2, 3, size_px, size_px), torch.zeros(2, edge, edge, dtype=torch.int64)
    _export(codec, codec.encode, {"images": images}, "codes", folder / ENCODER)
    _export(codec, codec.decode, {"codes": codes}, "images", folder / DECODER)


def export_prior(prior: Transformer, folder: Path) -> None:
    """Write prior.onnx."""
    codes = torch.zeros(2, prior.row_length, dtype=torch.int64)
    places = torch.zeros(2, 3, dtype=torch.int64)
    _export(prior, prior.at, {"codes": codes, "places": places}, "logits", folder / PRIOR)


def describe_prior(prior: Transformer, words: Sequence[str], size_px: int, folder: Path) -> None:
    """Write prior.json: what a program needs to know of rows, besides the graph."""
    about = {
        "codebook_size": prior.mask_id,
        "mask_id": prior.mask_id,
        "grid": list(prior.grid),
        "image_size": size_px,
        "caption_length": prior.caption_length,
    }
    ids = {"end_id": prior.mask_id + 1, "first_word_id": prior.mask_id + 2} if words else {}
    write_json(folder / ABOUT, about | ids | {"words": list(words)})


def round_prior(folder: Path) -> None:
    """Write prior-int8.onnx beside prior.onnx: 8 bits for weights and for what they are multiplied with."""
    require_packages()
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as temporary, _quiet():
        prepared = Path(temporary) / PRIOR
        quant_pre_process(folder / PRIOR, prepared, skip_symbolic_shape=True)
        quantize_dynamic(
            prepared,
            folder / PRIOR_INT8,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,  # 7 bits of 8: sums of products fit 16 bits on processors without VNNI
            weight_type=QuantType.QInt8,
        )


def require_packages() -> None:
    """Fail early if a package is missing, and say how to get it."""
    if missing := [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]:
        raise ConfigError(f"ONNX wants the packages {', '.join(missing)}", hint="pip install 'unmask[onnx]'")


def _export(
    network: nn.Module, function: Callable[..., Tensor], inputs: dict[str, Tensor], output: str, path: Path
) -> None:
    """Write one graph, for any batch size and any number of places."""
    require_packages()
    device = next(network.parameters()).device
    batch, places = torch.export.Dim("batch"), torch.export.Dim("places")
    axes = tuple({0: batch, 1: places} if name == "places" else {0: batch} for name in inputs)
    with _quiet():
        program = torch.onnx.export(
            _Graph(network, function),
            tuple(tensor.to(device) for tensor in inputs.values()),
            input_names=list(inputs),
            output_names=[output],
            dynamic_shapes=(axes,),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
        assert program is not None, "with dynamo=True there is one"
        program.save(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporters' warnings about their internals."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
