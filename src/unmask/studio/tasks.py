"""A request becomes a task: what it brings is checked now, where its sender hears of it; the worker does the
rest."""

from collections.abc import Callable
from functools import partial

import torch
from PIL import Image
from torch import Tensor

from unmask.data.patches import Box
from unmask.data.pictures import encoded
from unmask.diffusion.fill import OnStep, Watch, counting
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError, DataError
from unmask.generation.editor import Editor
from unmask.generation.edits import Edit, beyond, selected, varied
from unmask.generation.sampler import Options
from unmask.pipeline import Pipeline
from unmask.studio.inspection import caption, reconstruct, score
from unmask.studio.jobs import Outcome, Reporter, Task
from unmask.studio.limits import MAX_CODES, MAX_UPLOAD_PIXELS
from unmask.studio.pictures import receive, thumbnail
from unmask.studio.schema import (
    Canvas,
    Caption,
    Drawing,
    Extend,
    Inpaint,
    Reconstruct,
    Request,
    Sample,
    Score,
    Vary,
)
from unmask.studio.schema import Edit as EditRequest

AT_A_LOOK = 4  # pictures that are decoded for one preview
Show = Callable[[Tensor], list[Image.Image]]
"""(B, N) codes, MASK where nothing is known yet, to pictures."""


def task_of(request: Request, model: Pipeline) -> Task:
    """The task of a request; an UnmaskError if it is known to be impossible."""
    match request:
        case Sample():
            return _sampling(request, model)
        case Canvas():
            return _canvas(request, model)
        case Inpaint() | Vary() | Extend():
            return _editing(request, model)
        case Reconstruct():
            return partial(reconstruct, model, _picture(request, model))
        case Caption():
            model.words.require().encode_prompt(request.words)
            model.sampler.check_captions()
            details = request.draws, request.seed, request.words
            return partial(caption, model, _picture(request, model), *details)
        case Score():
            return partial(score, model, _picture(request, model), request.draws, request.seed)


@torch.no_grad()
def warm_up(model: Pipeline) -> None:
    """Warm up: do what is only done at first use, before a user waits for it."""
    codes = torch.full((1, model.prior.num_positions), model.prior.mask_id)
    model.preview(codes)
    if not model.prior.causal:
        codes = codes.to(model.device)
        model.editor.denoisers[0](codes, torch.ones_like(codes, dtype=torch.bool))


def _sampling(request: Sample, model: Pipeline) -> Task:
    num_codes = request.count * model.prior.num_positions
    _check_codes(num_codes)
    for text in (request.prompt or "", request.negative):
        model.words.ids(text)
    how = _options(request, model)

    def run(report: Reporter) -> Outcome:
        watched = how | {"on_step": _reporting(report, model, num_codes, model.preview)}
        return _outcome(model.sample(request.count, request.prompt, first=request.first, **watched))

    return run


def _canvas(request: Canvas, model: Pipeline) -> Task:
    size = request.width, request.height
    h, w = grid = _grid(size, model)
    _editor(request, model)  # what it does not know is refused now
    how = _options(request, model)

    def show(codes: Tensor) -> list[Image.Image]:
        return [picture.crop((0, 0, *size)) for picture in model.preview(codes, grid)]

    def run(report: Reporter) -> Outcome:
        watched = how | {"on_step": _reporting(report, model, h * w, show)}
        return _outcome([model.canvas(size, request.prompt or "", **watched)])

    return run


def _editing(request: Inpaint | Vary | Extend, model: Pipeline) -> Task:
    edit = _edit_of(request, model)
    num_codes = request.count * edit.num_drawn

    def run(report: Reporter) -> Outcome:
        on_step = _reporting(report, model, num_codes, edit.preview)
        return _outcome(edit.draw(request.count, rank=request.rank, watch=Watch(on_step=on_step)))

    return run


def _edit_of(request: Inpaint | Vary | Extend, model: Pipeline) -> Edit:
    """The edit of an image, if a job may look at so many codes."""
    picture, margins = _picture(request, model), (0, 0, 0, 0)
    match request:
        case Inpaint(seam=seam, strength=strength, unlikely=unlikely):
            edit = partial(selected, mask=_selected(request), seam=seam, strength=strength, unlikely=unlikely)
        case Vary(strength=strength, unlikely=unlikely):
            edit = partial(varied, strength=strength, unlikely=unlikely)
        case Extend(seam=seam):
            margins = request.left, request.top, request.right, request.bottom
            edit = partial(beyond, margins=margins, seam=seam)
    left, top, right, bottom = margins
    _grid((left + picture.width + right, top + picture.height + bottom), model, request.count)
    return edit(_editor(request, model), picture)


def _editor(request: Drawing, model: Pipeline) -> Editor:
    return model.editor.to_draw(request.use, request.prompt or "", **_options(request, model))


def _options(request: Drawing, model: Pipeline) -> Options:
    return {"negative": request.negative, "seed": request.seed, "settings": settings_of(request, model)}


def settings_of(request: Drawing, model: Pipeline) -> Settings:
    """The options of a request, over what the model recommends."""
    return model.settings(request.use, request.settings, **request.changes)


def _picture(request: EditRequest | Reconstruct | Caption | Score, model: Pipeline) -> Image.Image:
    return receive(request.image, background=model.images.background)


def _selected(request: Inpaint) -> Image.Image | Box:
    if request.mask is not None and request.box is None:
        return receive(request.mask, background="black")
    if request.box is not None and request.mask is None:
        return request.box
    raise DataError("select the part to redraw, in one way: by a mask or by a box")


def _reporting(report: Reporter, model: Pipeline, num_codes: int, show: Show) -> OnStep:
    """A callback for every pass: reports how many of ``num_codes`` are known, and makes previews."""
    previews = Previews(show)
    return counting(
        report, model.prior.mask_id, lambda codes: report.show(lambda: previews(codes)), num_codes
    )


class Previews:
    """Small files with pictures of (B, N) codes, a few new ones a look, so that the first are soon there.

    Pictures take turns. What is as it was is not made again.
    """

    def __init__(self, show: Show) -> None:
        self._show, self._seen, self._made, self._next = show, torch.empty(0, 0), list[bytes](), 0

    def __call__(self, codes: Tensor) -> list[bytes]:
        """One file a picture, empty if it had no turn yet; the same object for one that was not made anew."""
        if codes.shape != self._seen.shape:
            self._seen, self._made = torch.full_like(codes, -1), [b""] * len(codes)
        changed = (codes != self._seen).any(1).nonzero().flatten().tolist()
        turn = sorted(changed, key=lambda number: (number < self._next, number))[:AT_A_LOOK]
        for number, picture in zip(turn, self._show(codes[turn]) if turn else [], strict=True):
            self._made[number], self._next = thumbnail(picture), number + 1
        self._seen[turn] = codes[turn]
        return list(self._made)


def _outcome(pictures: list[Image.Image]) -> Outcome:
    return Outcome(pictures=[encoded(picture) for picture in pictures])


def _grid(size: tuple[int, int], model: Pipeline, count: int = 1) -> tuple[int, int]:
    """Rows and columns of codes of pictures of (width, height) pixels, if a job may have so many."""
    (width, height), factor = size, model.codec.config.factor
    h, w = -(-height // factor), -(-width // factor)
    _check_codes(count * h * w)
    if width * height > MAX_UPLOAD_PIXELS:
        raise ConfigError(
            f"{width}×{height} pixels are too many for one image: {MAX_UPLOAD_PIXELS:,} at most"
        )
    return h, w


def _check_codes(num_codes: int) -> None:
    if num_codes > MAX_CODES:
        raise ConfigError(
            f"{num_codes:,} codes are too many for one job, which has {MAX_CODES:,} at most",
            hint="take fewer images at a time, or smaller ones",
        )
