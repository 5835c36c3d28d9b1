"""What a prior can be told. Free of torch, so that ``--help`` is instant."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from unmask.errors import ConfigError, require_at_least, require_share


@dataclass(frozen=True, kw_only=True)
class PriorConfig:
    """A Transformer over codes; 77M parameters at the paper's settings."""

    kind: Annotated[Literal["absorbing", "autoregressive"], arg(aliases=["--kind"])] = "absorbing"
    """absorbing: sees all known codes and predicts masked ones. autoregressive: each from those before it."""
    width: int = 512
    depth: int = 24
    heads: int = 8
    positions: Literal["learned", "rotary"] = "learned"
    """learned: a vector a position (the paper). rotary: a rotary embedding of row and column."""
    merge: int = 1
    """2: blocks before the last see 2×2 codes as one position, for a third of the work (beyond the paper).
    Not for autoregressive priors, which see single codes in any case."""
    qk_norm: bool = False
    """Normalise queries and keys (beyond the paper)."""
    init: Literal["torch", "gpt2"] = "torch"
    """gpt2: normal of 0.02, residual outputs scaled down by depth (beyond the paper)."""
    dropout: float = 0.0
    """Share of activations dropped in training (beyond the paper)."""

    def __post_init__(self) -> None:
        require_at_least(1, "prior", self, "width", "depth", "heads", "merge")
        if self.width % self.heads:
            raise ConfigError(f"prior.width={self.width} is not divisible by prior.heads={self.heads}")
        if self.positions == "rotary" and (self.width // self.heads) % 4:
            raise ConfigError(
                f"rotary positions want heads of a multiple of 4 channels, not {self.width // self.heads}"
            )
        require_share("prior", self, "dropout")
