"""``unmask score``: how likely images are."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

import tyro
from PIL import Image, ImageOps

from unmask.cli.arguments import Amount, Looking, command_line
from unmask.cli.loading import is_picture, load_shared, open_images
from unmask.cli.pictures import check_out, write_sheet, write_table
from unmask.cli.results import emit
from unmask.data.pixels import PixelSet
from unmask.data.splits import SingleImageError
from unmask.data.transforms import contact_sheet, to_levels, to_pictures, to_tensor
from unmask.distributed import Processes
from unmask.errors import ConfigError
from unmask.progress import bar

if TYPE_CHECKING:
    from torch import Tensor

    from unmask.evaluation.pixel_likelihood import ScaleHead
    from unmask.pipeline import Pipeline

HELP = """Measure the likelihood of images: bits per code, and with --pixels bits per dimension.

  unmask score runs/prior/best emoji                       the validation split
  unmask score runs/prior/best emoji --pixels              bits per dimension: codes and pixels together
  unmask score runs/prior/best photos/ --split all --csv scores.csv
  unmask score runs/prior/best cat.jpg                     a single image
  unmask score runs/prior/best emoji --pixels --map bits.png          where in the images the bits are

Lower is more likely. For absorbing priors the result is an upper bound (the negative ELBO), estimated from a
few masks per image; for autoregressive priors the bits of the codes are exact."""

SHOWN = 8  # pictures of a map


@command_line
class Arguments(Looking):
    """Arguments of the command."""

    draws: Amount = 16
    """Masks per image; more reduce the variance of the estimate."""
    steps: Amount | None = None
    """The bound of a chain of this many steps. None: of infinitely many."""
    seed: int = 0
    """Seed of the masks."""
    pixels: bool = False
    """Also score pixels. The first time, a network for the spread of pixels around the decoder's output is
    fitted."""
    bits: Literal[8, 5] = 8
    """Bits per channel of a pixel: 8 as in files, or 5 as in some papers."""
    fit: str | None = None
    """Images to fit that network on. None: the training split of DATA."""
    fit_steps: Amount = 400
    """Steps of that fit."""
    csv: Path | None = None
    """Also write the bits of each image."""
    map: Path | None = None
    """Also write a map of where the bits are, a PNG."""

    def __post_init__(self) -> None:
        if min(self.draws, self.fit_steps) < 1:
            raise ConfigError("--draws and --fit-steps must be at least 1")
        if self.pixels and self.fit is None and is_picture(self.data):
            raise ConfigError("the spread of pixels cannot be fitted on one image", hint="--fit photos/")
        check_out(self.csv, None, option="--csv")
        check_out(self.map, option="--map")


def main(argv: list[str]) -> None:
    """Score and print the means with their standard errors."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask score", description=HELP)
    model, processes = load_shared(arguments.model, arguments.device)
    pixels = open_images(model, arguments.data, arguments.split, processes=processes)
    with processes.first_goes_first():
        head = _fitted(model, arguments) if arguments.pixels else None
    with bar("scoring codes") as report:
        scores = model.score(
            pixels,
            draws=arguments.draws,
            steps=arguments.steps,
            seed=arguments.seed,
            report=lambda done: report(done, len(pixels)),
            processes=processes,
        )
    columns = {"bits_per_code": scores.bits}
    exact = "exactly" if model.prior.causal else "at most"
    pictures = "1 image" if len(pixels) == 1 else f"{len(pixels)} images"
    emit(
        f"{exact} {_measured(scores.mean, scores.standard_error)} bits per code, {pictures}; "
        f"a blind guess takes {math.log2(model.codec.codebook_size):.1f}",
        bits_per_code=scores.mean,
        standard_error=scores.standard_error,
        exact=model.prior.causal,
        pictures=len(pixels),
    )
    if head is not None:
        columns |= _per_dimension(model, head, pixels, scores.bits, arguments.bits, processes)
    if not processes.is_first:
        return
    write_table(arguments.csv, _rows(pixels, columns), "image by image")
    if arguments.map:
        sheet = _map(model, head, pixels, arguments)
        write_sheet(arguments.map, sheet, "images, their reconstructions, and where the bits are", "map")


def _measured(mean: float, standard_error: float) -> str:
    """A mean and its standard error, which a single image has not."""
    return f"{mean:.4f}" if math.isnan(standard_error) else f"{mean:.4f} ± {standard_error:.4f}"


def _fitted(model: "Pipeline", arguments: Arguments) -> "ScaleHead":
    from unmask.evaluation.pixel_likelihood import scale_head

    try:
        pixels = model.open(arguments.fit) if arguments.fit else model.open(arguments.data, "train")
    except SingleImageError:
        raise SingleImageError("--fit photos/") from None
    with bar("fitting the spread of pixels", unit="steps") as report:
        return scale_head(
            model.codec, model.codec_fingerprint, pixels, steps=arguments.fit_steps, report=report
        )


def _per_dimension(
    model: "Pipeline",
    head: "ScaleHead",
    pixels: PixelSet,
    bits_per_code: list[float],
    bits: int,
    processes: Processes,
) -> dict[str, list[float]]:
    """Print the means; what each image costs, in columns."""
    from unmask.evaluation.pixel_likelihood import bits_per_dimension

    with bar("scoring pixels") as report:
        found = bits_per_dimension(
            model.codec, head, pixels, bits_per_code, bits=bits, report=report, processes=processes
        )
    emit(
        f"at most {_measured(found.mean, found.standard_error)} bits per dimension at {bits} bits: "
        f"{fmean(found.of_pixels):.4f} for pixels given their codes, {fmean(found.of_codes):.4f} for codes",
        bits_per_dimension=found.mean,
        bits_per_dimension_standard_error=found.standard_error,
    )
    return {
        "pixel_bits_per_dim": found.of_pixels,
        "code_bits_per_dim": found.of_codes,
        "bits_per_dim": found.bits,
    }


def _rows(pixels: PixelSet, columns: dict[str, list[float]]) -> Iterator[Sequence[str]]:
    """The table of all images, its heading first."""
    yield "picture", *columns
    for name, *values in zip(pixels.names, *columns.values(), strict=True):
        yield name, *(f"{value:.6f}" for value in values)


def _map(model: "Pipeline", head: "ScaleHead | None", pixels: PixelSet, arguments: Arguments) -> Image.Image:
    """Rows of an image, what its codes decode to, the bits of its pixels where scored, and of its codes."""
    import torch
    from einops import rearrange, repeat

    from unmask.evaluation.pixel_likelihood import pixel_nats

    images = to_tensor(pixels.read(pixels.spread(SHOWN))).to(model.device)
    with torch.no_grad():
        codes = model.codec.encode(images)
        columns = [to_pictures(images), to_pictures(model.codec.decode(codes))]
    if head is not None:
        bits = pixel_nats(model.codec, head, images, arguments.bits).sum(1) / math.log(2)
        columns.append(_heat(bits, "a pixel"))
    flat = rearrange(codes, "B h w -> B (h w)")
    nats = model.sampler.likelihood.code_nats(flat, 0, num_pairs=arguments.draws, seed=arguments.seed)
    by_code = rearrange(nats / math.log(2), "B (h w) -> B h w", h=codes.shape[1])
    factor = model.codec.config.factor
    columns.append(_heat(repeat(by_code, "B h w -> B (h y) (w x)", y=factor, x=factor), "a code"))
    rows = zip(*columns, strict=True)
    return contact_sheet([picture for row in rows for picture in row], len(columns))


def _heat(bits: "Tensor", what: str) -> list[Image.Image]:
    """(B, H, W) bits as images from black over red to white, all on one scale."""
    top = bits.flatten().quantile(0.995).clamp(min=1e-9).item()
    print(f"white on the map: {top:.3g} bits {what} or more")
    levels = [Image.fromarray(one) for one in to_levels(bits / top).numpy()]
    return [ImageOps.colorize(one, "black", "white", mid="orangered") for one in levels]
