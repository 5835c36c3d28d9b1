"""A request becomes a task: what it brings is checked now, where its sender hears of it; the worker does the
rest."""

from collections.abc import Callable

import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.data.patches import Box, Sides
from unmask.data.pictures import encoded
from unmask.diffusion.fill import OnStep
from unmask.errors import ConfigError, DataError
from unmask.pipeline import Pipeline
from unmask.studio.inspection import reconstruct, score
from unmask.studio.jobs import Outcome, Report, Task
from unmask.studio.limits import MAX_CODES, MAX_UPLOAD_PIXELS
from unmask.studio.pictures import receive, thumbnail
from unmask.studio.schema import Canvas, Edit, Extend, Inpaint, Reconstruct, Request, Sample, Score

Show = Callable[[Tensor], list[Image.Image]]
"""(B, N) codes, MASK where nothing is known yet, to pictures."""


def task_of(request: Request, model: Pipeline) -> Task:
    """What the worker is to do for a request; an UnmaskError if that is known to be impossible."""
    match request:
        case Sample():
            return _sampling(request, model)
        case Canvas():
            return _canvas(request, model)
        case Inpaint():
            return _inpainting(request, model)
        case Extend():
            return _extending(request, model)
        case Reconstruct():
            picture = receive(request.image, background=model.images.background)
            return lambda report: reconstruct(model, picture, report)
        case Score():
            picture = receive(request.image, background=model.images.background)
            return lambda report: score(model, picture, request.draws, request.seed, report)


@torch.no_grad()
def warm_up(model: Pipeline) -> None:
    """Have done what is only done at first use, before anybody waits for it."""
    codes = torch.full((1, model.prior.num_positions), model.prior.mask_id)
    model.preview(codes)
    if not model.prior.causal:
        model.denoiser(codes.to(model.device), torch.ones_like(codes, dtype=torch.bool).to(model.device))


def _sampling(request: Sample, model: Pipeline) -> Task:
    num_codes = request.count * model.prior.num_positions
    _check_codes(num_codes)

    def run(report: Report) -> Outcome:
        on_step = _reporting(report, model, num_codes, model.preview)
        return _outcome(model.sample(**request.model_dump(), on_step=on_step))

    return run


def _canvas(request: Canvas, model: Pipeline) -> Task:
    size = request.width, request.height
    h, w = grid = _grid(size, model)

    def show(codes: Tensor) -> list[Image.Image]:
        return [picture.crop((0, 0, *size)) for picture in model.preview(codes, grid)]

    def run(report: Report) -> Outcome:
        settings = request.model_dump(exclude={"width", "height"})
        on_step = _reporting(report, model, h * w, show)
        return _outcome([model.canvas(size, **settings, on_step=on_step)])

    return run


def _inpainting(request: Inpaint, model: Pipeline) -> Task:
    picture, mask = receive(request.image, background=model.images.background), _selected(request)
    _grid(picture.size, model, request.count)
    return _redrawing(request, model, picture, mask, (0, 0, *picture.size))


def _extending(request: Extend, model: Pipeline) -> Task:
    picture = receive(request.image, background=model.images.background)
    left, top, right, bottom = margins = request.left, request.top, request.right, request.bottom
    _grid((left + picture.width + right, top + picture.height + bottom), model, request.count)
    return _redrawing(request, model, *model.framed(picture, margins))


def _redrawing(
    request: Edit, model: Pipeline, picture: Image.Image, mask: Image.Image | Box, asked: Sides
) -> Task:
    """Draw anew what is selected of a picture, and crop the versions to what was asked for."""
    patch = model.patch(picture, mask)
    num_codes = request.count * int(patch.masked.sum())

    def show(codes: Tensor) -> list[Image.Image]:
        grids = rearrange(codes, "B (h w) -> B h w", h=patch.grid[0])
        return [patch.paste(image).crop(asked) for image in model.decode(grids)]

    def run(report: Report) -> Outcome:
        settings = request.model_dump(include=Edit.model_fields.keys() - {"image"})
        on_step = _reporting(report, model, num_codes, show)
        versions = model.inpaint(picture, mask, **settings, on_step=on_step)
        return _outcome([version.crop(asked) for version in versions])

    return run


def _selected(request: Inpaint) -> Image.Image | Box:
    if request.mask is not None and request.box is None:
        return receive(request.mask, background="black")
    if request.box is not None and request.mask is None:
        return request.box
    raise DataError("say what to replace, in one way: a mask or a box")


def _reporting(report: Report, model: Pipeline, num_codes: int, show: Show) -> OnStep:
    """What is shown the codes after every pass and reports how many of ``num_codes`` are known."""

    def on_step(codes: Tensor) -> None:
        left = int((codes == model.prior.mask_id).sum())
        report(1 - left / num_codes, lambda: [thumbnail(picture) for picture in show(codes)])

    return on_step


def _outcome(pictures: list[Image.Image]) -> Outcome:
    return Outcome(pictures=[encoded(picture) for picture in pictures])


def _grid(size: tuple[int, int], model: Pipeline, count: int = 1) -> tuple[int, int]:
    """Rows and columns of codes of pictures of (width, height) pixels, if a job may have so many."""
    (width, height), factor = size, model.codec.config.factor
    h, w = -(-height // factor), -(-width // factor)
    _check_codes(count * h * w)
    if width * height > MAX_UPLOAD_PIXELS:
        raise ConfigError(
            f"{width}×{height} pixels are too many for one picture: {MAX_UPLOAD_PIXELS:,} at most"
        )
    return h, w


def _check_codes(num_codes: int) -> None:
    if num_codes > MAX_CODES:
        raise ConfigError(
            f"{num_codes:,} codes are too many for one job, which has {MAX_CODES:,} at most",
            hint="take fewer pictures at a time, or smaller ones",
        )
