"""The sampling loop: reveals masked codes by a plan, each image at its own step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from unmask.devices import tuned_allocator
from unmask.diffusion.draws import Address, draw, has_non_finite, refuse_non_finite
from unmask.diffusion.rules import RULES, exchange
from unmask.diffusion.settings import Settings
from unmask.progress import Report, bar
from unmask.rng import gumbel, uniform

OnStep = Callable[[Tensor], None]
"""Called with the (B, N) codes after every pass, MASK where nothing is known yet."""
OnDraw = Callable[[Tensor, Address, Tensor], None]
"""Called with (n, K) logits, the address of each row, and the (n,) codes drawn from them."""


class Denoiser(Protocol):
    """The interface between network and sampler."""

    @property
    def mask_id(self) -> int:
        """The id that stands for a code not known, which is also K."""

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, N) codes with MASK and the (B, N) positions wanted to (where.sum(), K) logits, row-major."""


class Watch(NamedTuple):
    """Observers of the codes while they are drawn."""

    progress: bool = False
    """Whether a bar on stderr counts those that are known."""
    on_step: OnStep | None = None

    @contextmanager
    def of(self, mask_id: int) -> Iterator[OnStep | None]:
        """The callback for the codes after every pass, until the block ends."""
        if not self.progress:
            yield self.on_step
            return
        with bar("drawing", unit="codes") as report:
            yield counting(report, mask_id, self.on_step)


def counting(report: Report, mask_id: int, also: OnStep | None = None, total: int = 0) -> OnStep:
    """A callback for every pass that reports how many of the codes to draw are known.

    They are ``total`` or, unless given, as many as are seen masked at once.
    """

    def on_step(codes: Tensor) -> None:
        nonlocal total
        left = int((codes == mask_id).sum())
        total = max(total, left)
        report(total - left, total)
        if also:
            also(codes)

    return on_step


def fill(
    denoise: Denoiser,
    codes: Tensor,
    plan: Tensor,
    settings: Settings,
    *,
    seed: int,
    first: int = 0,
    batch: int = 16,
    on_step: OnStep | None = None,
    on_draw: OnDraw | None = None,
) -> Tensor:
    """Fill (B, N) codes, revealing each MASK at its step of the (B, N) plan; where that is 0 it stays.

    An image takes a pass only at steps that reveal something in it. Up to ``batch`` images share a pass, each
    at its own step, since the network has no time input; a finished one makes room for the next. Image i is
    number ``first + i`` of its request: that and the seed settle its draws. An order that is a rule looks at
    all masked positions and decides itself which to reveal; the plan says how many. Remasking takes codes
    back and reveals others instead. ``on_step`` sees the codes after every pass, and copies what it
    keeps; ``on_draw`` sees every draw, those that a rule or remasking discards too.
    """
    filling = _Filling(denoise, codes, plan, settings, seed, first, on_draw)
    waiting = filling.unknown.any(1).nonzero().flatten().tolist()[::-1]
    active: list[int] = []
    with tuned_allocator():  # activations of a pass are of the same sizes as those of the last
        while waiting or active:
            while waiting and len(active) < batch:
                active.append(waiting.pop())
            active = filling.advance(active)
            if on_step:
                on_step(filling.codes)
    return filling.codes


class _Filling:
    """The state of one call, (B, N) each, on the device of the codes: a pass waits for the device once."""

    def __init__(
        self,
        denoise: Denoiser,
        codes: Tensor,
        plan: Tensor,
        settings: Settings,
        seed: int,
        first: int,
        on_draw: OnDraw | None,
    ) -> None:
        self.codes, self.plan = codes.clone(), plan.to(codes.device, copy=True)
        self.unknown = (self.codes == denoise.mask_id) & (self.plan > 0)  # all else is the caller's and stays
        self.draws = torch.zeros_like(self.plan)  # how often a code was drawn
        self._denoise, self._on_draw = denoise, on_draw
        self._settings, self._rule = settings, RULES.get(settings.order)
        self._seed, self._first = seed, first

    @torch.no_grad()
    def advance(self, active: list[int]) -> list[int]:
        """Take some images through a pass, each to its own next step; the unfinished come back."""
        rows, mask_id = torch.tensor(active).to(self.codes.device), self._denoise.mask_id
        codes, steps = self.codes[rows], self.plan[rows]  # (A, N)
        masked = (codes == mask_id) & self.unknown[rows]
        due = masked & (steps == steps.masked_fill(~masked, 0).amax(1, keepdim=True))
        again = torch.zeros_like(due)
        if rescale := self._settings.remask:
            revealed, chance = self.unknown[rows] & ~masked, uniform(*self._pass("remask", rows, masked))
            again, early = exchange(
                revealed, masked & ~due, chance, rescale=rescale, cap=self._settings.remask_cap
            )
            steps, due = _swap(steps, again, early), due | early
        queried = masked if self._rule else due
        logits = self._denoise(codes, queried).float()
        drawn = self._draw(logits, rows, masked, queried)
        if self._rule:
            noise = gumbel(*self._pass("rule", rows, masked))
            due = self._rule(logits.log_softmax(1), drawn, masked, due.sum(1), noise, self._settings)
            steps = _deal(steps, due, masked & ~due | again)
        self.plan[rows] = steps
        after = codes.masked_scatter(queried, drawn).where(due, codes).masked_fill(again, mask_id)
        self.codes[rows] = after
        unfinished = ((after == mask_id) & self.unknown[rows]).any(1)
        *more, non_finite = torch.cat([unfinished, has_non_finite(logits)[None]]).tolist()
        refuse_non_finite(non_finite)
        return [image for image, stays in zip(active, more, strict=True) if stays]

    def _draw(self, logits: Tensor, rows: Tensor, masked: Tensor, queried: Tensor) -> Tensor:
        """(n, K) logits to the (n,) codes drawn at the positions queried."""
        row, position = queried.nonzero(as_tuple=True)
        address = self._first + rows[row], position, self.draws[rows[row], position]
        self.draws[rows] += queried
        left = masked.sum(1) / self.unknown[rows].sum(1)
        drawn = draw(logits, address, left[row], self._settings, seed=self._seed)
        if self._on_draw:
            self._on_draw(logits, address, drawn)
        return drawn

    def _pass(self, use: str, rows: Tensor, masked: Tensor) -> tuple[int, str, Tensor, Tensor, Tensor]:
        """The address of (A, N) draws; the number of masked codes distinguishes the passes of an image."""
        images, counts = self._first + rows[:, None], masked.sum(1, keepdim=True)
        return self._seed, use, images, counts, torch.arange(masked.shape[1], device=masked.device)


def _swap(steps: Tensor, these: Tensor, those: Tensor) -> Tensor:
    """Steps with those of some positions and of as many others exchanged, row by row and in order."""
    places = (2 - 2 * these.int() - those.int()).argsort(dim=1, stable=True)  # these, those, the rest
    place, count = torch.arange(steps.shape[1], device=steps.device), these.sum(1, keepdim=True)
    partner = torch.where(place < count, place + count, place - count).where(place < 2 * count, place)
    return steps.scatter(1, places, steps.gather(1, places).gather(1, partner))


def _deal(steps: Tensor, now: Tensor, later: Tensor) -> Tensor:
    """Steps with those of these positions dealt out anew: the first to ``now``, the others to ``later``."""
    dealt = now | later
    held = steps.masked_fill(~dealt, 0).sort(dim=1, descending=True).values
    places = (2 * now.int() + later.int()).argsort(dim=1, descending=True, stable=True)
    return torch.empty_like(steps).scatter(1, places, held).where(dealt, steps)
