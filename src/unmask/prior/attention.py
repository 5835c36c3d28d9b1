"""Multi-head attention that can be computed at some positions only."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

BFLOAT16_CPU = ("cpu", torch.bfloat16)


class Attention(nn.Module):
    """Self-attention over N positions, each a row of D channels."""

    def __init__(self, width: int, heads: int, qk_norm: bool) -> None:
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        head_width = width // heads
        self.q_norm = nn.RMSNorm(head_width, eps=1e-6) if qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(head_width, eps=1e-6) if qk_norm else nn.Identity()

    def queries(self, x: Tensor, angles: Tensor | None) -> Tensor:
        """(B, Q, D) to queries (B, M, Q, d); ``angles`` are rotary, (Q, d/2) or (B, 1, Q, d/2)."""
        q = rearrange(self.q(x), "B Q (M d) -> B M Q d", M=self.heads)
        return rotate(self.q_norm(q), angles)

    def keys_values(self, x: Tensor, angles: Tensor | None) -> tuple[Tensor, Tensor]:
        """(B, N, D) to keys and values, (B, M, N, d) each; ``angles`` are rotary, (N, d/2)."""
        k, v = rearrange(self.kv(x), "B N (two M d) -> two B M N d", two=2, M=self.heads)
        return rotate(self.k_norm(k), angles), v

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """(B, M, Q, d) queries over the given keys and values to (B, Q, D).

        visible: bool, which keys a query may see, broadcast to (B, M, Q, N); None sees all, or with
        ``causal`` all up to its own place.
        """
        if visible is None and not causal and q.requires_grad and (q.device.type, q.dtype) == BFLOAT16_CPU:
            # Faster there than the fused form, with its gradients; in float32 it would be slower.
            weights = (q / math.sqrt(q.shape[-1]) @ k.transpose(-1, -2)).softmax(-1)
            y = weights.to(v.dtype) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, is_causal=causal)
        z: Tensor = self.out(rearrange(y, "B M Q d -> B Q (M d)"))
        return z


def rotate(x: Tensor, angles: Tensor | None) -> Tensor:
    """Rotary embedding: pairs of channels of (…, n, d) turned by the angles (…, n, d/2), or not at all."""
    if angles is None:
        return x
    pairs = rearrange(x.float(), "... (d two) -> ... d two", two=2)
    if torch.compiler.is_compiling():  # ONNX has no complex numbers
        (a, b), cos, sin = pairs.unbind(-1), angles.cos(), angles.sin()
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    else:  # one multiplication instead of four
        turn = torch.polar(torch.ones_like(angles), angles)
        turned = torch.view_as_real(torch.view_as_complex(pairs) * turn)
    return turned.flatten(-2).to(x.dtype)


def rotary_angles(grid: tuple[int, int], head_width: int, num_words: int = 0) -> Tensor:
    """(L + N, d/2) angles: half of a head's pairs turn with the row, half with the column, none of words."""
    h, w = grid
    speeds = 100.0 ** -(torch.arange(head_width // 4) / (head_width // 4))  # (d/4,), radians a cell
    rows = torch.arange(h)[:, None, None] * speeds
    columns = torch.arange(w)[None, :, None] * speeds
    both = torch.cat([rows.expand(h, w, -1), columns.expand(h, w, -1)], dim=-1)
    return F.pad(rearrange(both, "h w d -> (h w) d"), (0, 0, num_words, 0))
