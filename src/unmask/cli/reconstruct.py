"""``unmask reconstruct``: what a codec keeps of pictures."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from PIL import Image
from rich.console import Console
from rich.table import Table

from unmask.cli.arguments import Amount, AnyModel, Looking, shared_last
from unmask.cli.loading import load_shared, open_images
from unmask.cli.pictures import check_out, write_pictures
from unmask.cli.results import tell
from unmask.devices import tuned_allocator
from unmask.errors import ConfigError

if TYPE_CHECKING:
    from unmask.codec.perceptual import Perceptual
    from unmask.data.pixels import PixelSet
    from unmask.evaluation.inception import Inception
    from unmask.pipeline import Pipeline

HELP = """Encode and decode images: a side-by-side comparison, and metrics (L1, PSNR, SSIM, LPIPS, FID).

  unmask reconstruct runs/codec/best emoji                       the validation split
  unmask reconstruct runs/codec/best photos/ --split all --out compare.png
  unmask reconstruct runs/codec/best cat.jpg                     a single image

LPIPS and FID need third-party weights: unmask weights get lpips-vgg, unmask weights get inception. Without
them, these metrics are left out."""


COLUMNS = 8  # pictures in a row


@shared_last
@dataclass(frozen=True, kw_only=True)
class Arguments(Looking):
    """Arguments of the command."""

    model: AnyModel
    count: Amount = 16
    """Images to show, originals above their reconstructions."""
    out: Path = Path("reconstructions.png")
    """File of the comparison, a PNG."""
    fid: bool = True
    """Also measure FID, the slowest of the metrics."""

    def check(self) -> None:
        """Refuse what could not be done, before anything is computed."""
        check_out(self.out)
        if self.count < 1:
            raise ConfigError(f"--count {self.count} must be at least 1", hint="--count 16")


def main(argv: list[str]) -> None:
    """Reconstruct, show and measure."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask reconstruct", description=HELP)
    arguments.check()
    from unmask.evaluation.reconstruction import measure_reconstructions
    from unmask.progress import bar

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
    from unmask.evaluation.protocol import Protocol, caution, resizing

    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in {"pictures": count, **metrics}.items():
        table.add_row(f"[bold]{name}[/]", f"{value:.4g}")
    console = Console(highlight=False)
    tell(table, pictures=count, **metrics)
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
        console.print(f"fid: {protocol}", soft_wrap=True, markup=False)
        if warning := caution(count):
            console.print(f"caution: {warning}", soft_wrap=True, markup=False)


def _show(model: "Pipeline", pixels: "PixelSet", arguments: Arguments) -> None:
    """Write rows of originals, each above the row of its reconstructions."""
    from unmask.data.transforms import contact_sheet

    originals = [Image.fromarray(picture) for picture in pixels.read(pixels.spread(arguments.count))]
    copies = model.reconstruct(originals)
    rows = [originals[i : i + COLUMNS] + copies[i : i + COLUMNS] for i in range(0, len(originals), COLUMNS)]
    sheet = contact_sheet([picture for row in rows for picture in row], min(COLUMNS, len(originals)))
    write_pictures([sheet], arguments.out)
    tell(f"originals, and below each row its reconstructions: {arguments.out}", sheet=arguments.out)


def _inception() -> "Inception | None":
    from unmask.evaluation.inception import Inception
    from unmask.third_party import weights

    return Inception() if weights.available("inception") else None


def _perceptual() -> "Perceptual | None":
    from unmask.codec.perceptual import Perceptual
    from unmask.third_party import weights

    if not weights.available("lpips-vgg"):
        return None
    perceptual = Perceptual("vgg")
    perceptual.load_state_dict(weights.require("lpips-vgg"))
    return perceptual
