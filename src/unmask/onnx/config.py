"""Back-ends of a prior. Free of torch, so that ``--help`` is instant."""

from typing import Literal

Backend = Literal["torch", "compile", "onnx", "onnx-int8"]
"""torch: as trained, on any device. compile: the same by torch.compile. onnx: onnxruntime on the CPU.
onnx-int8: the same with weights and activations rounded to 8 bits."""
