"""``unmask reconstruct``: what a codec keeps of images."""

from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from PIL import Image

from unmask.cli.arguments import Amount, AnyModel, Looking, command_line
from unmask.cli.loading import load_shared, open_images
from unmask.cli.pictures import check_out, write_sheet
from unmask.cli.results import emit, listed
from unmask.data.pixels import PixelSet
from unmask.data.transforms import contact_sheet
from unmask.devices import tuned_allocator
from unmask.errors import ConfigError
from unmask.evaluation.protocol import Protocol, caution, resizing
from unmask.progress import bar
from unmask.third_party import weights

if TYPE_CHECKING:
    from unmask.codec.perceptual import Perceptual
    from unmask.evaluation.inception import Inception
    from unmask.pipeline import Pipeline

HELP = """Encode and decode images: a side-by-side comparison, and metrics (L1, PSNR, SSIM, LPIPS, FID).

  unmask reconstruct runs/codec/best emoji                       the validation split
  unmask reconstruct runs/codec/best photos/ --split all --out compare.png
  unmask reconstruct runs/codec/best cat.jpg                     a single image

LPIPS and FID need third-party weights: unmask weights get lpips-vgg, unmask weights get inception. Without
them, these metrics are left out."""


COLUMNS = 8  # pictures in a row


@command_line
class Arguments(Looking):
    """Arguments of the command."""

    model: AnyModel
    count: Amount = 16
    """Images to show, originals above their reconstructions."""
    out: Path = Path("reconstructions.png")
    """File of the comparison, a PNG."""
    fid: bool = True
    """Also measure FID, the slowest of the metrics."""

    def __post_init__(self) -> None:
        check_out(self.out)
        if self.count < 1:
            raise ConfigError(f"--count {self.count} must be at least 1", hint="--count 16")


def main(argv: list[str]) -> None:
    """Reconstruct, show and measure."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask reconstruct", description=HELP)
    from unmask.evaluation.reconstruction import measure_reconstructions

    model, processes = load_shared(arguments.model, arguments.device)
    pixels = open_images(model, arguments.data, arguments.split, processes=processes)
    if processes.is_first:
        _show(model, pixels, arguments)
    with bar("measuring") as report, tuned_allocator():
        metrics = measure_reconstructions(
            model.codec,
            pixels,
            batch=16,
            perceptual=_perceptual(),
            inception=_inception() if arguments.fid and len(pixels) > 1 else None,
            processes=processes,
            report=report,
        )
    _print(metrics, model, len(pixels), arguments)


def _print(metrics: dict[str, float], model: "Pipeline", count: int, arguments: Arguments) -> None:
    """The metrics; beside an FID how it came about, and what to beware of."""
    from unmask.evaluation.features import INCEPTION

    shown = {"images": count, **metrics}
    emit(listed({name: f"{value:.4g}" for name, value in shown.items()}), pictures=count, **metrics)
    if "fid" in metrics:
        protocol = Protocol(
            what="reconstructions",
            pictures=count,
            reference=arguments.data,
            split=arguments.split,
            reference_pictures=count,
            size_px=model.image_size,
            features=INCEPTION,
            resize=resizing(model.images, arguments.split),
        )
        emit(f"fid: {protocol}")
        if warning := caution(count):
            emit(f"caution: {warning}")


def _show(model: "Pipeline", pixels: PixelSet, arguments: Arguments) -> None:
    """Write rows of originals, each above the row of its reconstructions."""
    originals = [Image.fromarray(picture) for picture in pixels.read(pixels.spread(arguments.count))]
    copies = model.reconstruct(originals)
    rows = [originals[i : i + COLUMNS] + copies[i : i + COLUMNS] for i in range(0, len(originals), COLUMNS)]
    sheet = contact_sheet([picture for row in rows for picture in row], min(COLUMNS, len(originals)))
    write_sheet(arguments.out, sheet, "originals, and below each row its reconstructions")


def _inception() -> "Inception | None":
    from unmask.evaluation.inception import Inception

    return Inception() if weights.available("inception") else None


def _perceptual() -> "Perceptual | None":
    from unmask.evaluation.features import lpips

    return lpips("vgg") if weights.available("lpips-vgg") else None
