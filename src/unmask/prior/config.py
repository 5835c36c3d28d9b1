"""Settings of a prior. Free of torch, so that ``--help`` is instant."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from unmask.errors import ConfigError, require_at_least, require_share


@dataclass(frozen=True, kw_only=True)
class PriorConfig:
    """A Transformer over codes. With the paper's settings it has 77M parameters."""

    kind: Annotated[Literal["absorbing", "autoregressive"], arg(aliases=["--kind"])] = "absorbing"
    """absorbing: predicts masked codes from all known ones. autoregressive: each code from previous ones."""
    width: int = 512
    """Channels of the residual stream."""
    depth: int = 24
    """Number of Transformer blocks."""
    heads: int = 8
    """Attention heads per block."""
    positions: Literal["learned", "rotary"] = "learned"
    """learned: learned embeddings (the paper). rotary: rotary embeddings of row and column."""
    merge: int = 1
    """2: all blocks but the last treat 2×2 codes as one position, for a third of the work (beyond the paper).
    Ignored by autoregressive priors."""
    qk_norm: bool = False
    """Normalise queries and keys (beyond the paper)."""
    init: Literal["torch", "gpt2"] = "torch"
    """gpt2: standard deviation 0.02, residual outputs scaled down by depth (beyond the paper)."""
    dropout: float = 0.0
    """Dropout rate (beyond the paper)."""

    def __post_init__(self) -> None:
        require_at_least(1, "prior", self, "width", "depth", "heads", "merge")
        if self.width % self.heads:
            raise ConfigError(f"prior.width={self.width} is not divisible by prior.heads={self.heads}")
        if self.positions == "rotary" and (self.width // self.heads) % 4:
            raise ConfigError(
                f"rotary positions want heads of a multiple of 4 channels, not {self.width // self.heads}"
            )
        require_share("prior", self, "dropout")
