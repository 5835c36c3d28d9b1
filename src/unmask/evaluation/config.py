"""Names of metrics. Free of torch, so that ``--help`` is instant."""

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from unmask.errors import ConfigError

Metric = Literal["fid", "kid", "prdc", "diversity"]
COLUMNS: Mapping[Metric, tuple[str, ...]] = {
    "fid": ("fid",),
    "kid": ("kid",),
    "prdc": ("precision", "recall", "density", "coverage"),
    "diversity": ("code_perplexity", "kind_perplexity"),
}
"""The columns of each metric in a table of results."""


def metrics_named(words: str) -> list[Metric]:
    """The metrics in a list such as ``fid,kid``, each once."""
    names = list(dict.fromkeys(word.strip() for word in words.split(",")))
    check_metrics(names)
    return cast(list[Metric], names)


def check_metrics(names: Sequence[str]) -> None:
    """Refuse what is no metric."""
    if unknown := [name for name in names if name not in COLUMNS]:
        raise ConfigError(
            f"there is no metric {unknown[0]!r}", hint=f"such as:  --metrics {','.join(COLUMNS)}"
        )


What = Literal["samples", "reconstructions", "validation"]
"""What is compared with real images. validation: validation images, with training images."""
Side = Literal["train", "validation", "all"]
"""Which of the real images."""
Space = Literal["lpips", "inception", "pixels"]
"""A distance. lpips: appearance. inception: subject. pixels: root mean square, in [0, 1]."""
Evidence = Literal["label", "picture"]
"""How an image is classified. label: p(label | image). picture: p(image | label)."""
