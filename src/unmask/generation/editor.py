"""A model at work on images of any size, window by window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Unpack

import torch
from PIL import Image
from torch import Tensor

from unmask.data.provenance import Provenance, inscribed
from unmask.data.transforms import MAX_PIXELS, TOO_LARGE, to_pictures
from unmask.diffusion.canvas import Canvas
from unmask.diffusion.care import Work, plan_work
from unmask.diffusion.fill import Denoiser
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import Use
from unmask.errors import ConfigError
from unmask.generation.arguments import checked
from unmask.generation.prompts import has_text
from unmask.generation.sampler import Options, Request, Sampler, draws
from unmask.progress import rough_duration, say


@dataclass(frozen=True, kw_only=True)
class Editor:
    """Draws one request on grids of any size, through windows of the prior's."""

    encode: Callable[[Tensor], Tensor]
    """(B, 3, H, W) images to (B, h, w) codes, on any grid."""
    decode: Callable[[Tensor], Tensor]
    """(B, h, w) codes, on any grid, to (B, 3, H, W) images, grey where they are MASK."""
    sampler: Sampler
    factor: int
    """Pixels along the edge of a code."""
    background: str
    """The colour behind transparent pixels."""
    request: Request
    prompts: Sequence[str] = ("",)
    """What to draw; on a canvas along its longer side."""
    num_drawn: int | None = None
    """Codes of a window that are to be drawn, if not all."""

    def __post_init__(self) -> None:
        if self.sampler.prior.causal:
            raise ConfigError(
                "an autoregressive prior draws codes in one order only: it fills in no part of an image and "
                "no larger canvas",
                hint="train an absorbing one:  unmask train prior CODEC DATA --kind absorbing",
            )

    def to_draw(self, use: Use, prompt: str | Sequence[str] = "", **how: Unpack[Options]) -> "Editor":
        """This editor for another request; unknown words are refused."""
        prompts = [prompt] if isinstance(prompt, str) else [*prompt] or [""]
        editor = replace(self, request=self.sampler.request(use, **how), prompts=prompts)
        _ = editor.denoisers  # unknown words are refused now, not after an image was encoded
        return editor

    @draws
    @checked
    @torch.no_grad()
    def canvas(
        self, size: int | tuple[int, int], prompt: str | Sequence[str] = "", **how: Unpack[Options]
    ) -> Image.Image:
        """Sample an image of ``size`` in pixels, (width, height) or one edge, at least the training size.

        For each code, the predictions of all windows of the training size that contain it are averaged.
        Several prompts are placed along the longer side; each window is conditioned on the one at its place.
        """
        size = (size, size) if isinstance(size, int) else size
        editor, grid = self.to_draw("canvas", prompt, **how), self.grid(size)
        request, sampler = editor.request, editor.sampler
        work = plan_work(request.settings, torch.ones(grid, dtype=torch.bool), self.window)
        denoise = Canvas(editor.denoisers, self.window, grid, work.settings, seed=request.seed)
        if request.watch.progress:
            editor.announce(work, 1)
        with request.watch.of(denoise.mask_id) as on_step:
            codes = sample_codes(
                denoise,
                range(1),
                grid,
                work.settings,
                seed=request.seed,
                device=sampler.device,
                curve=sampler.curve,
                on_step=on_step,
            )
        picture = to_pictures(self.decode(codes.view(1, *grid)))[0].crop((0, 0, *size))
        return inscribed(picture, replace(editor.origin, task="canvas", size=size, settings=work.settings))

    def grid(self, size: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of codes of an image of (width, height) pixels; refused if it cannot be drawn."""
        (width, height), (h, w) = size, self.window
        rows, columns = -(-height // self.factor), -(-width // self.factor)
        if rows < h or columns < w:
            raise ConfigError(
                f"{width}×{height} pixels are too few: the model was trained on "
                f"{w * self.factor}×{h * self.factor}, and no window of that size fits"
            )
        if width * height > MAX_PIXELS:
            raise ConfigError(f"{width}×{height} pixels are {TOO_LARGE}")
        return rows, columns

    @property
    def window(self) -> tuple[int, int]:
        """(h, w): the grid that the prior was trained on."""
        return self.sampler.prior.grid

    @cached_property
    def denoisers(self) -> Sequence[Denoiser]:
        """Denoisers of a window, one for each prompt."""
        return self.sampler.denoisers(self.request, self.prompts, self.num_drawn)

    @property
    def origin(self) -> Provenance:
        """Provenance of what this request draws, without task and size."""
        prompt = self.prompts[0] if len(self.prompts) == 1 else tuple(self.prompts)
        return replace(self.sampler.origin(self.request), prompt=prompt or None)

    @property
    def by_context(self) -> bool:
        """Whether guidance of an edit exaggerates its surroundings; else the denoiser is guided itself."""
        guided_by_itself = self.request.guide is None and self.request.settings.guidance != 1
        return guided_by_itself and not has_text(self.prompts)

    def announce(self, work: Work, count: int, *, by_context: bool = False) -> None:
        """Announce how much work ``count`` versions are, timed with guidance where they have it."""
        seconds = work.passes * work.windows * count * self._seconds() * (2 if by_context else 1)
        guided = by_context or self.sampler.guides(self.request, has_text(self.prompts))
        twice = " × 2 for guidance" if guided else ""
        each = twice + (f" for each of {count} versions" if count > 1 else "")
        less = "" if work.settings.care == "fast" or work.windows == 1 else "; with care fast it takes less"
        say(f"drawing: at most {work}{each}, about {rough_duration(seconds)}{less}")

    def _seconds(self) -> float:
        """Measured seconds of a pass over a window with a fifth of its codes masked."""
        num_codes, denoise = self.window[0] * self.window[1], self.denoisers[0]
        wanted = (torch.arange(num_codes) % 5 == 0)[None].to(self.sampler.device)
        codes = torch.zeros_like(wanted, dtype=torch.int64).masked_fill(wanted, denoise.mask_id)
        denoise(codes, wanted)  # warm-up
        start = perf_counter()
        denoise(codes, wanted).cpu()
        return perf_counter() - start
