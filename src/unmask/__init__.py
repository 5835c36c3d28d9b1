"""Unmask: a VQGAN codec and an absorbing-diffusion prior, trained on your own images."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Threads that wait for each other sleep instead of spinning; OpenMP reads this when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # docs/decisions/0030-threads-that-sleep.md

if TYPE_CHECKING:
    from unmask.data.folders import edit_folder
    from unmask.data.transforms import contact_sheet
    from unmask.diffusion.settings import Settings
    from unmask.errors import (
        BundleError,
        ConfigError,
        DataError,
        RunError,
        TrainingError,
        UnmaskError,
        WeightsError,
    )
    from unmask.evaluation.neighbours import nearest_pictures
    from unmask.evaluation.pixel_likelihood import bits_per_dimension, scale_head
    from unmask.generation.viewer import Scores
    from unmask.pipeline import Pipeline, load
    from unmask.samples import SampleFolder
    from unmask.sweeps.evaluate import evaluate
    from unmask.training.train import train_codec, train_prior

__version__ = "0.1.0"
__all__ = [
    "BundleError",
    "ConfigError",
    "DataError",
    "Pipeline",
    "RunError",
    "SampleFolder",
    "Scores",
    "Settings",
    "TrainingError",
    "UnmaskError",
    "WeightsError",
    "__version__",
    "bits_per_dimension",
    "contact_sheet",
    "edit_folder",
    "evaluate",
    "load",
    "nearest_pictures",
    "scale_head",
    "train_codec",
    "train_prior",
]

_PLACES = {
    "pipeline": ("Pipeline", "load"),
    "generation.viewer": ("Scores",),
    "diffusion.settings": ("Settings",),
    "data.transforms": ("contact_sheet",),
    "data.folders": ("edit_folder",),
    "samples": ("SampleFolder",),
    "sweeps.evaluate": ("evaluate",),
    "evaluation.neighbours": ("nearest_pictures",),
    "evaluation.pixel_likelihood": ("bits_per_dimension", "scale_head"),
    "training.train": ("train_codec", "train_prior"),
    "errors": tuple(name for name in __all__ if name.endswith("Error")),
}


def __getattr__(name: str) -> Any:
    """The public API, imported on first use: ``import unmask`` does not wait for torch."""
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"unmask.{place}"), name)
    raise AttributeError(f"module 'unmask' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public API too, for completion before any of it is imported."""
    return sorted({*globals(), *__all__})
