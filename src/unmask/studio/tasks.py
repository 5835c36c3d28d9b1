"""A request becomes a task: what it brings is checked now, where its sender hears of it; the worker does the
rest."""

from collections.abc import Callable

import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from unmask.codec.preview import decode_partly
from unmask.errors import ConfigError, DataError
from unmask.images.transforms import develop
from unmask.pipeline import OnStep, Pipeline
from unmask.sampling.inpaint import Box, Patch, Sides, frame
from unmask.studio.inspection import reconstruct, score
from unmask.studio.jobs import Outcome, Report, Task
from unmask.studio.limits import MAX_CODES
from unmask.studio.pictures import png, receive, thumbnail
from unmask.studio.schema import Canvas, Extend, Inpaint, Reconstruct, Request, Sample, Score

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
            picture = receive(request.image)
            return lambda report: reconstruct(model, picture, report)
        case Score():
            picture = receive(request.image)
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
    _check_codes(h * w)

    def show(codes: Tensor) -> list[Image.Image]:
        return [picture.crop((0, 0, *size)) for picture in model.preview(codes, grid)]

    def run(report: Report) -> Outcome:
        settings = request.model_dump(exclude={"width", "height"})
        on_step = _reporting(report, model, h * w, show)
        return _outcome([model.canvas(size, **settings, on_step=on_step)])

    return run


def _inpainting(request: Inpaint, model: Pipeline) -> Task:
    picture, mask = receive(request.image), _selected(request)
    h, w = _grid(picture.size, model)
    _check_codes(request.count * h * w)
    patch = model.patch(picture, mask)

    def run(report: Report) -> Outcome:
        settings = request.model_dump(exclude={"image", "mask", "box"})
        on_step = _reporting(report, model, _to_draw(request, patch), _pasting(model, patch))
        return _outcome(model.inpaint(picture, mask, **settings, on_step=on_step))

    return run


def _extending(request: Extend, model: Pipeline) -> Task:
    picture = receive(request.image)
    sides: Sides = request.left, request.top, request.right, request.bottom
    size = picture.width + request.left + request.right, picture.height + request.top + request.bottom
    h, w = _grid(size, model)
    _check_codes(request.count * h * w)
    if not any(sides):
        raise ConfigError("nothing is to be added on any side")
    larger, mask, asked = frame(develop(picture, "white"), sides, model.codec.config.factor)
    patch = model.patch(larger, mask)
    paste = _pasting(model, patch)

    def run(report: Report) -> Outcome:
        settings = request.model_dump(exclude={"image"})
        show: Show = lambda codes: [version.crop(asked) for version in paste(codes)]  # noqa: E731
        on_step = _reporting(report, model, _to_draw(request, patch), show)
        return _outcome(model.extend(picture, **settings, on_step=on_step))

    return run


def _selected(request: Inpaint) -> Image.Image | Box:
    if request.mask is not None and request.box is None:
        return receive(request.mask, background="black")
    if request.box is not None and request.mask is None:
        return request.box
    raise DataError("say what to replace, in one way: a mask or a box")


def _to_draw(request: Inpaint | Extend, patch: Patch) -> int:
    return request.count * int(patch.masked.sum())


def _pasting(model: Pipeline, patch: Patch) -> Show:
    """The codes of a patch as what they make of the whole picture."""

    @torch.no_grad()
    def show(codes: Tensor) -> list[Image.Image]:
        grids = rearrange(codes.to(model.device), "B (h w) -> B h w", h=patch.grid[0])
        return [patch.paste(image) for image in decode_partly(model.codec, grids)]

    return show


def _reporting(report: Report, model: Pipeline, num_codes: int, show: Show) -> OnStep:
    """What is shown the codes after every pass and reports how many of ``num_codes`` are known."""

    def on_step(codes: Tensor) -> None:
        left = int((codes == model.prior.mask_id).sum())
        report(1 - left / num_codes, lambda: [thumbnail(picture) for picture in show(codes)])

    return on_step


def _outcome(pictures: list[Image.Image]) -> Outcome:
    return Outcome(pictures=[png(picture) for picture in pictures])


def _grid(size: tuple[int, int], model: Pipeline) -> tuple[int, int]:
    """Rows and columns of codes of a picture of (width, height) pixels."""
    factor = model.codec.config.factor
    return -(-size[1] // factor), -(-size[0] // factor)


def _check_codes(num_codes: int) -> None:
    if num_codes > MAX_CODES:
        raise ConfigError(
            f"{num_codes:,} codes are too many for one job, which has {MAX_CODES:,} at most",
            hint="take fewer pictures at a time, or smaller ones",
        )
