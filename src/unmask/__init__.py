"""Unmask: a VQ image codec and an absorbing-diffusion prior, trained on your own pictures."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.pipeline import Pipeline, load

__version__ = "0.1.0"
__all__ = ["Pipeline", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """The public face, imported when it is first asked for: ``import unmask`` does not wait for torch."""
    if name in ("Pipeline", "load"):
        from unmask import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'unmask' has no attribute {name!r}")
