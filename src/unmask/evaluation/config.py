"""Names of metrics. Free of torch, so that ``--help`` is instant."""

from collections.abc import Collection, Mapping, Sequence
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
METRICS = tuple(COLUMNS)
OF_FEATURES: tuple[Metric, ...] = ("fid", "kid", "prdc")
"""Those for which features of the images are enough."""


def metrics_named(words: str, offered: Collection[Metric] = METRICS) -> list[Metric]:
    """The metrics in a list such as ``fid,kid``, each once; all of them ``offered``."""
    names = list(dict.fromkeys(word.strip() for word in words.split(",")))
    check_metrics(names, offered)
    return cast(list[Metric], names)


def check_metrics(names: Sequence[str], offered: Collection[Metric] = METRICS) -> None:
    """Refuse what is no metric that is offered."""
    if unknown := [name for name in names if name not in offered]:
        raise ConfigError(
            f"there is no metric {unknown[0]!r}", hint=f"such as:  --metrics {','.join(offered)}"
        )


What = Literal["samples", "reconstructions", "validation"]
"""What is compared with real images. validation: validation images, with training images."""
Side = Literal["train", "validation", "all"]
"""Which of the real images."""
Space = Literal["lpips", "inception", "pixels"]
"""A distance. lpips: appearance. inception: subject. pixels: root mean square, in [0, 1]."""
Evidence = Literal["label", "picture"]
"""How an image is classified. label: p(label | image). picture: p(image | label)."""
