"""Coarse positions for a prior's inner blocks: m×m codes as one vector, and back."""

from einops import rearrange
from torch import Tensor, cat, nn

from unmask.errors import ConfigError
from unmask.prior.attention import rotary_angles
from unmask.prior.config import PriorConfig


class Patches(nn.Module):
    """Rows of L words and h×w codes to rows of L words and h/m × w/m patches, and back.

    The codes of a patch side by side become one vector by a linear map; on the way back another makes a
    vector for each of its codes, which is added to what came in. For m = 1 nothing is done.
    """

    angles: Tensor | None

    def __init__(self, config: PriorConfig, grid: tuple[int, int], caption_length: int) -> None:
        super().__init__()
        self.side, self.length = 1 if config.kind == "autoregressive" else config.merge, caption_length
        if grid[0] % self.side or grid[1] % self.side:
            raise ConfigError(
                f"{grid[0]}×{grid[1]} codes do not divide into patches of {self.side}×{self.side}",
                hint="--prior.merge 1",
            )
        self.grid = grid[0] // self.side, grid[1] // self.side
        rotary, head_width = config.positions == "rotary", config.width // config.heads
        angles = rotary_angles(self.grid, head_width, caption_length) if rotary else None
        self.register_buffer("angles", angles, persistent=False)
        if self.side > 1:
            codes = self.side**2
            self.merged = nn.Linear(codes * config.width, config.width)
            self.split = nn.Linear(config.width, codes * config.width)

    def merge(self, x: Tensor) -> Tensor:
        """(B, L + N, D) to (B, L + N / m², D)."""
        if self.side == 1:
            return x
        words, codes = x[:, : self.length], x[:, self.length :]
        patches = rearrange(codes, "B (h p w q) D -> B (h w) (p q D)", **self._sides)
        return cat([words, self.merged(patches)], dim=1)

    def spread(self, y: Tensor, x: Tensor) -> Tensor:
        """(B, L + N / m², D) to (B, L + N, D), added to what was merged."""
        if self.side == 1:
            return y
        words, patches = y[:, : self.length], y[:, self.length :]
        codes = rearrange(self.split(patches), "B (h w) (p q D) -> B (h p w q) D", **self._sides)
        return x + cat([words, codes], dim=1)

    @property
    def _sides(self) -> dict[str, int]:
        return {"h": self.grid[0], "w": self.grid[1], "p": self.side, "q": self.side}
