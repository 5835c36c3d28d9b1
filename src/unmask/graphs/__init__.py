"""Networks as ONNX graphs, for other programs and for faster passes on a CPU."""
