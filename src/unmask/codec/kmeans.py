"""Nearest rows and k-means: the geometry of codebooks."""

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 65_536  # rows whose distances are held at once


def nearest_rows(rows: Tensor, centres: Tensor) -> Tensor:
    """(n, E) rows to the (n,) index of the (K, E) centre closest to each.

    ‖r − c‖² = ‖r‖² − 2 r·c + ‖c‖², and the first term does not change which is smallest. Never in half
    precision, in which many distances would be equal.
    """
    half_norms = centres.square().sum(1) / 2
    # A graph is the same for any number of rows, so it cannot loop over chunks of them.
    parts = (rows,) if torch.compiler.is_compiling() else torch.split(rows, CHUNK)
    with torch.autocast(rows.device.type, enabled=False):
        return torch.cat([torch.addmm(half_norms, part, centres.T, alpha=-1).argmin(1) for part in parts])


def kmeans(rows: Tensor, centres: Tensor, rng: torch.Generator, num_rounds: int = 20) -> Tensor:
    """(n, E) rows and (K, E) first centres to (K, E) better ones, by Lloyd's rounds.

    A centre that is left without rows moves onto a random one.
    """
    for _ in range(num_rounds):
        owner = nearest_rows(rows, centres)
        counts = torch.bincount(owner, minlength=len(centres))
        sums = torch.zeros_like(centres).index_add_(0, owner, rows)
        centres = sums / counts.clamp(min=1)[:, None]
        empty = (counts == 0).nonzero().flatten()
        drawn = torch.randint(len(rows), (len(empty),), generator=rng, device=rng.device)
        centres[empty] = rows[drawn.to(rows.device)]
    return centres


def random_rows(rows: Tensor, count: int, rng: torch.Generator) -> Tensor:
    """(count, E) different ones of (n, E) rows, each as likely as any."""
    assert len(rows) >= count, f"{len(rows)} rows for {count} centres"
    order = torch.randperm(len(rows), generator=rng, device=rng.device).to(rows.device)
    return rows[order[:count]]


def spread_rows(rows: Tensor, count: int, rng: torch.Generator) -> Tensor:
    """(count, E) of (n, E) rows that lie far apart: k-means++ (Arthur and Vassilvitskii, 2007).

    One is drawn after the other, with probability ∝ the squared distance to the closest before it.
    """
    apart = torch.ones(len(rows), device=rows.device)
    chosen = []
    for number in range(count):
        chosen.append(_drawn(apart, 1, rng))
        far = (rows - rows[chosen[-1]]).square().sum(1)
        apart = torch.minimum(apart, far) if number else far
    return rows[torch.cat(chosen)]


def far_rows(rows: Tensor, centres: Tensor, count: int, rng: torch.Generator) -> Tensor:
    """(count, E) of (n, E) rows, drawn with probability ∝ ‖r − c‖², c the centre closest to a row r."""
    closest = F.embedding(nearest_rows(rows, centres), centres)
    return rows[_drawn((rows - closest).square().sum(1), count, rng)]


def _drawn(weights: Tensor, count: int, rng: torch.Generator) -> Tensor:
    """(count,) indices drawn with probability ∝ the (n,) weights, without synchronisation."""
    total = weights.cumsum(0)
    uniform = torch.rand(count, generator=rng, device=rng.device).to(weights.device)
    return torch.searchsorted(total, uniform * total[-1], right=True).clamp(max=len(weights) - 1)
