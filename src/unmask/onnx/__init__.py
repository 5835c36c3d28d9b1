"""Networks as ONNX graphs, for other programs and for sampling by onnxruntime."""
