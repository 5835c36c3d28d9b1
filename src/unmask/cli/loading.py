"""A model for a command, with a word on what takes long."""

from typing import TYPE_CHECKING

from rich.console import Console

from unmask.onnx.config import Backend

if TYPE_CHECKING:
    from unmask.pipeline import Pipeline


def load_model(model: str, device: str = "auto", backend: Backend = "torch") -> "Pipeline":
    """The model; a graph that an ONNX back-end lacks is made meanwhile, once."""
    from unmask.pipeline import load

    waiting = "loading" if backend == "torch" else "loading; a new model's graph takes up to a minute, once"
    with Console(stderr=True).status(waiting):
        return load(model, device, backend)
