"""Nearest rows and k-means: the geometry of codebooks."""

import torch
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


def kmeans(rows: Tensor, num_centres: int, rng: torch.Generator, num_rounds: int = 20) -> Tensor:
    """(n, E) rows to (num_centres, E) centres by Lloyd's rounds; an empty centre moves onto a random row."""
    assert len(rows) >= num_centres, f"{len(rows)} latents for {num_centres} codes"
    order = torch.randperm(len(rows), generator=rng, device=rng.device).to(rows.device)
    centres = rows[order[:num_centres]].clone()
    for _ in range(num_rounds):
        owner = nearest_rows(rows, centres)
        counts = torch.bincount(owner, minlength=num_centres)
        sums = torch.zeros_like(centres).index_add_(0, owner, rows)
        centres = sums / counts.clamp(min=1)[:, None]
        empty = (counts == 0).nonzero().flatten()
        drawn = torch.randint(len(rows), (len(empty),), generator=rng, device=rng.device)
        centres[empty] = rows[drawn.to(rows.device)]
    return centres
