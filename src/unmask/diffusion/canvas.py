"""Grids larger than the trained one: a denoiser for a whole canvas, made of one for windows.

The paper, "Generating High-Resolution Images": what a code of the canvas could be is the mean of what the
windows that contain it say, p(z_i | canvas) = (1/Z) Σ_j p(z_i | window_j).

Letters: canvases are (B, a, b) codes, windows (h, w); a window is known by its place, the (row, column) of
its first code, and there are (R, C) = (a − h + 1, b − w + 1) of them.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from unmask.diffusion.fill import Denoiser
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError
from unmask.rng import generator

BATCH = 16  # windows in one pass


class Canvas:
    """A denoiser for (a, b) grids: the mean of one for (h, w) windows over all that hold a position.

    Only windows that hold a wanted position are evaluated, and equal ones once; both are exact. The mean is
    approximated when windows stand ``stride`` codes apart, the last ones flush with the edge, and when only
    ``windows`` of them are asked, drawn anew in every pass, and what it takes to cover each wanted position.
    Beyond codes and logits, memory holds ``batch`` windows at a time, however large the canvas.

    Of several denoisers, such as one for each prompt, a window asks the one at its place: they stand in a row
    along the longer side, each for as much of it.
    """

    causal, caption_length = False, 0  # of priors, which are scored as well

    def __init__(
        self,
        denoise: Denoiser | Sequence[Denoiser],
        window: tuple[int, int],
        grid: tuple[int, int],
        settings: Settings,
        *,
        seed: int = 0,
        batch: int = BATCH,
    ) -> None:
        assert all(a >= h for a, h in zip(grid, window, strict=True)), f"no window {window} fits {grid}"
        if (stride := settings.stride) > min(window):
            raise ConfigError(f"stride {stride} is not in 1..{min(window)}; beyond it, windows leave gaps")
        self.window, self.grid, self.batch = window, grid, batch
        self._denoisers = denoise if isinstance(denoise, Sequence) else [denoise]
        self.mask_id = self._denoisers[0].mask_id
        self._asked = along(grid, window, len(self._denoisers))
        self._windows, self._seed = settings.windows, seed
        self._lattice = lattice(grid, window, stride)

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, a·b) codes with MASK and the (B, a·b) positions wanted to (where.sum(), K) logits, row-major.

        They are logarithms of mean probabilities: a temperature applies to the mixture. All but the windows'
        own denoiser runs on the CPU, since not every device has float64.
        """
        canvas, wanted = (rearrange(x.cpu(), "B (a b) -> B a b", a=self.grid[0]) for x in (codes, where))
        chosen = self._choose(wanted)  # (B, R, C)
        names = window_names(canvas, self.window)
        views = Views(*(self._view(x) for x in (canvas, wanted, _number(wanted))))
        total = torch.zeros(int(wanted.sum()), self.mask_id, dtype=torch.float64)
        for number in torch.unique(self._asked[chosen.any(0)]).tolist():  # a score may ask none
            now = chosen & (self._asked == number)
            repeats = torch.unique(names[now], return_counts=True)[1]  # of each different window, by name
            order = names[now].argsort(stable=True)  # equal ones adjoin
            places = now.nonzero()[order]  # (n, 3) image, row, column
            for times in torch.split(repeats, self.batch):
                these, places = places.tensor_split([int(times.sum())])
                self._add(total, self._denoisers[number], views, these, times, codes.device)
        votes = F.avg_pool2d(self._widen(chosen.double(), 0), self.window, 1, divisor_override=1)
        logits = (total / votes[wanted][:, None]).log()
        return logits if codes.is_cpu else logits.float().to(codes.device)

    def _choose(self, wanted: Tensor) -> Tensor:
        """(B, R, C) bool: the windows to ask, all of which hold a wanted position."""
        holding = (F.max_pool2d(wanted.float(), self.window, 1) > 0) & self._lattice
        if self._windows is None:
            return holding
        return torch.stack(list(map(partial(self._sample, self._windows), holding, wanted)))

    def _sample(self, count: int, holding: Tensor, wanted: Tensor) -> Tensor:
        """(R, C) bool: the first windows of a random order, and of each position that has none the first.

        The order follows from what is wanted, whatever batch an image is in, and whether its surroundings are
        masked for guidance.
        """
        rng = generator(self._seed, "windows", wanted.numpy().tobytes().hex())
        order = torch.randperm(holding.numel(), generator=rng).view(holding.shape).double()
        order = order.masked_fill(~holding, math.inf)
        last = order.flatten().kthvalue(min(count, order.numel())).values
        first_of = -F.max_pool2d(self._widen(-order[None], -math.inf), self.window, 1)[0]  # (a, b)
        return holding & ((order <= last) | torch.isin(order, first_of[wanted]))

    def _add(
        self,
        total: Tensor,
        denoise: Denoiser,
        views: "Views",
        places: Tensor,
        times: Tensor,
        device: torch.device,
    ) -> None:
        """Evaluate different windows, each found at ``times`` of the places, and add up what they say."""
        which = torch.arange(len(times)).repeat_interleave(times)
        pieces = list(zip(*(torch.split(x, self.batch) for x in (places, which)), strict=True))
        calls = torch.zeros(len(times), *self.window, dtype=torch.int32)
        for at, window in pieces:
            calls.index_add_(0, window, views.wanted[at.unbind(1)].int())
        asked, first = calls > 0, places[times.cumsum(0) - times]
        windows = views.codes[first.unbind(1)]
        logits = denoise(windows.flatten(1).to(device), asked.flatten(1).to(device))
        p, row = logits.cpu().double().softmax(1), _number(asked)
        for at, window in pieces:
            wanted = views.wanted[at.unbind(1)]  # (n, h, w)
            total.index_add_(0, views.row[at.unbind(1)][wanted], p[row[window][wanted]])

    def _view(self, x: Tensor) -> Tensor:
        """(B, a, b) to all of its windows, (B, R, C, h, w), without a copy."""
        return x.unfold(1, self.window[0], 1).unfold(2, self.window[1], 1)

    def _widen(self, x: Tensor, value: float) -> Tensor:
        """(B, R, C) of windows with a margin: pooled, it is (B, a, b) over those that hold a position."""
        h, w = self.window
        return F.pad(x, (w - 1, w - 1, h - 1, h - 1), value=value)


class Views(NamedTuple):
    """Every window of some canvases: (B, R, C, h, w), none of them written out."""

    codes: Tensor
    wanted: Tensor  # bool
    row: Tensor  # of the result, where wanted


def along(grid: tuple[int, int], window: tuple[int, int], count: int) -> Tensor:
    """(R, C) numbers: in which of ``count`` equal parts of the longer side the middle of each window is."""
    axis = int(grid[1] >= grid[0])
    starts = torch.arange(grid[axis] - window[axis] + 1)
    parts = (2 * starts + window[axis]) * count // (2 * grid[axis])
    other = grid[1 - axis] - window[1 - axis] + 1
    return parts.expand(other, -1) if axis else parts[:, None].expand(-1, other)


def window_names(codes: Tensor, window: tuple[int, int]) -> Tensor:
    """(B, a, b) codes to (B, R, C) integers that are equal exactly where windows are equal.

    A run is named by the names of two shorter runs that cover it, down to single codes: log₂(h) + log₂(w)
    rounds for all windows together, none of which is written out.
    """
    names = codes
    for axis, length in zip((1, 2), window, strict=True):
        covered = 1
        while covered < length:
            step = min(covered, length - covered)
            size = names.shape[axis] - step
            pairs = names.narrow(axis, 0, size) * (names.max() + 1) + names.narrow(axis, step, size)
            names = torch.unique(pairs, return_inverse=True)[1]
            covered += step
    return names


def lattice(grid: Sequence[int], window: tuple[int, int], stride: int) -> Tensor:
    """(R, C) bool: where windows begin, ``stride`` codes apart."""
    return torch.outer(*(_starts(a, h, stride) for a, h in zip(grid, window, strict=True)))


def _starts(length: int, window: int, stride: int) -> Tensor:
    """(length − window + 1,) bool: where windows begin along an axis; the last one is flush with the end."""
    starts = torch.arange(length - window + 1)
    return (starts % stride == 0) | (starts == length - window)


def _number(where: Tensor) -> Tensor:
    """Integers that count the true entries, row-major."""
    return (where.flatten().cumsum(0) - 1).view(where.shape)
