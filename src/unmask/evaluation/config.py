"""What can be measured, by name. Free of torch, so that ``--help`` is instant."""

from collections.abc import Mapping
from typing import Literal

Metric = Literal["fid", "kid", "prdc", "diversity"]
COLUMNS: Mapping[Metric, tuple[str, ...]] = {
    "fid": ("fid",),
    "kid": ("kid",),
    "prdc": ("precision", "recall", "density", "coverage"),
    "diversity": ("code_perplexity", "kind_perplexity"),
}
"""The columns of each metric in a table of results."""

What = Literal["samples", "reconstructions", "validation"]
"""What is compared with real images. validation: real ones themselves, with those of the training."""
Side = Literal["train", "validation", "all"]
"""Which of the real images."""
Space = Literal["lpips", "inception", "pixels"]
"""What near means. lpips: looks alike. inception: shows the like. pixels: root mean square, in [0, 1]."""
