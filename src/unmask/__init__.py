"""Unmask: a VQ image codec and an absorbing-diffusion prior, trained on your own pictures."""

__version__ = "0.1.0"
