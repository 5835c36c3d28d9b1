"""Foreign files with random numbers in them, and what their networks compute by the layouts' definitions."""

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from unmask.rng import generator

Shapes = dict[str, tuple[int, ...]]


def layer(name: str, *shape: int) -> Shapes:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def residual(name: str, cin: int, cout: int, shortcut: str, *, always: bool) -> Shapes:
    shapes = layer(f"{name}.norm1", cin) | layer(f"{name}.conv1", cout, cin, 3, 3)
    shapes |= layer(f"{name}.norm2", cout) | layer(f"{name}.conv2", cout, cout, 3, 3)
    return shapes | (layer(f"{name}.{shortcut}", cout, cin, 1, 1) if always or cin != cout else {})


def attention(name: str, c: int) -> Shapes:
    parts = [layer(f"{name}.{part}", c, c, 1, 1) for part in ("q", "k", "v", "proj_out")]
    return layer(f"{name}.norm", c) | parts[0] | parts[1] | parts[2] | parts[3]


def transformer(prefix: str, *, tokens: int, codes: int, positions: int, width: int, depth: int) -> Shapes:
    shapes: Shapes = {
        f"{prefix}tok_emb.weight": (tokens, width),
        f"{prefix}pos_emb": (1, positions, width),
        f"{prefix}head.weight": (codes, width),
    }
    for block in (f"{prefix}blocks.{number}" for number in range(depth)):
        for part in ("key", "query", "value", "proj"):
            shapes |= layer(f"{block}.attn.{part}", width, width)
        shapes |= layer(f"{block}.ln1", width) | layer(f"{block}.ln2", width)
        shapes |= layer(f"{block}.mlp.0", 4 * width, width) | layer(f"{block}.mlp.2", width, 4 * width)
    return shapes | layer(f"{prefix}ln_f", width)


def randomly(shapes: Shapes, seed: int = 0) -> dict[str, Tensor]:
    """Numbers of the size that training leaves: activations neither vanish nor explode."""
    rng = generator(seed, "foreign")
    drawn = {}
    for name, shape in shapes.items():
        values = torch.randn(shape, generator=rng)
        fan_in = max(1, torch.Size(shape[1:]).numel())
        drawn[name] = values / fan_in**0.5 if len(shape) > 1 else 0.1 * values + name.endswith("weight")
    return drawn


SOLE = (
    "quantize.embedding.weight",
    "quantize.embed.weight",
    "head.weight",
    "pos_emb",
)  # who else says K or N?


def broken(
    state: Mapping[str, Tensor], names: Sequence[str]
) -> Iterator[tuple[list[str], dict[str, Tensor]]]:
    """The state with each of the named tensors missing, then misshapen: some at a time, far apart."""
    together = [name for name in names if not name.endswith(SOLE)]
    apart = -(-len(together) // 8)
    groups = [together[start::apart] for start in range(apart)]
    for group in groups + [[name] for name in names if name.endswith(SOLE)]:
        yield group, {name: tensor for name, tensor in state.items() if name not in group}
        yield (
            group,
            dict(state) | {name: torch.cat([state[name], state[name][..., :1]], -1) for name in group},
        )


class Network:
    """What tensors under foreign names compute, in float64: rounding has no part in a comparison."""

    def __init__(self, state: Mapping[str, Tensor], shortcut: str = "") -> None:
        self.state = {name: tensor.double() for name, tensor in state.items()}
        self.shortcut = shortcut

    def conv(self, x: Tensor, name: str, stride: int = 1) -> Tensor:
        weight = self.state[f"{name}.weight"]
        padding = weight.shape[-1] // 2 if stride == 1 else 0
        return F.conv2d(x, weight, self.state[f"{name}.bias"], stride=stride, padding=padding)

    def norm(self, x: Tensor, name: str) -> Tensor:
        """32 groups, epsilon 1e-6, written out."""
        B, C, H, W = x.shape
        groups = x.reshape(B, 32, -1)
        mean, var = groups.mean(2, keepdim=True), groups.var(2, unbiased=False, keepdim=True)
        y = ((groups - mean) / (var + 1e-6).sqrt()).reshape(B, C, H, W)
        weight, bias = self.state[f"{name}.weight"], self.state[f"{name}.bias"]
        return y * weight[:, None, None] + bias[:, None, None]

    def residual(self, x: Tensor, name: str) -> Tensor:
        y = self.conv(swish(self.norm(x, f"{name}.norm1")), f"{name}.conv1")
        y = self.conv(swish(self.norm(y, f"{name}.norm2")), f"{name}.conv2")
        return (x if y.shape == x.shape else self.conv(x, f"{name}.{self.shortcut}")) + y

    def attention(self, x: Tensor, name: str) -> Tensor:
        B, C, H, W = x.shape
        normed = self.norm(x, f"{name}.norm")
        q, k, v = (self.conv(normed, f"{name}.{part}").reshape(B, C, H * W) for part in "qkv")
        weights = (torch.einsum("bcq,bck->bqk", q, k) * C**-0.5).softmax(2)
        y = torch.einsum("bqk,bck->bcq", weights, v).reshape(B, C, H, W)
        return x + self.conv(y, f"{name}.proj_out")

    def down(self, x: Tensor, name: str) -> Tensor:
        return self.conv(F.pad(x, (0, 1, 0, 1)), name, stride=2)

    def up(self, x: Tensor, name: str) -> Tensor:
        return self.conv(x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3), name)

    def nearest(self, latents: Tensor, name: str) -> Tensor:
        distances = torch.cdist(latents.flatten(2).mT, self.state[name][None])
        return distances.argmin(2).unflatten(1, latents.shape[2:])

    def linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self.state[f"{name}.weight"].T + self.state[f"{name}.bias"]

    def layer_norm(self, x: Tensor, name: str) -> Tensor:
        y = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        return y * self.state[f"{name}.weight"] + self.state[f"{name}.bias"]

    def transformer(self, x: Tensor, prefix: str, heads: int, *, causal: bool) -> Tensor:
        """(B, n, D) embedded codes to (B, n, K) logits."""
        x = x + self.state[f"{prefix}pos_emb"][:, : x.shape[1]]
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1).bool() & causal
        depth = 1 + max(
            int(name.split("blocks.")[1].split(".")[0]) for name in self.state if "blocks." in name
        )
        for block in (f"{prefix}blocks.{number}" for number in range(depth)):
            normed = self.layer_norm(x, f"{block}.ln1")
            q, k, v = (
                self.linear(normed, f"{block}.attn.{part}").unflatten(2, (heads, -1)).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(3)
            x = x + self.linear((weights @ v).transpose(1, 2).flatten(2), f"{block}.attn.proj")
            y = self.linear(self.layer_norm(x, f"{block}.ln2"), f"{block}.mlp.0")
            x = x + self.linear(y * 0.5 * (1 + torch.erf(y / 2**0.5)), f"{block}.mlp.2")
        return self.layer_norm(x, f"{prefix}ln_f") @ self.state[f"{prefix}head.weight"].T


def swish(x: Tensor) -> Tensor:
    return x * x.sigmoid()


@pytest.fixture(scope="session")
def foreign() -> SimpleNamespace:
    """The pieces of foreign files and networks."""
    functions = (layer, residual, attention, transformer, randomly, broken, swish)
    return SimpleNamespace(Network=Network, **{function.__name__: function for function in functions})
