"""``unmask neighbours``: the training images that samples are nearest to."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tyro
from PIL import Image
from rich.console import Console
from rich.table import Table

from unmask.cli.arguments import Amount, Drawing, SettingsOption, TrainingData, command_line, settings_flags
from unmask.cli.loading import load_shared
from unmask.cli.pictures import check_out, sheet_with_text, write_sheet, write_table
from unmask.cli.results import emit
from unmask.distributed import Processes
from unmask.errors import ConfigError
from unmask.evaluation.config import Space
from unmask.progress import bar

if TYPE_CHECKING:
    from unmask.evaluation.neighbours import Memorisation, Neighbour, Neighbourhood
    from unmask.pipeline import Pipeline

HELP = """Find the training images nearest to samples, and test whether samples are copies (memorisation).

  unmask neighbours runs/prior emoji                         16 new samples, 8 neighbours of each
  unmask neighbours runs/prior photos/ --pictures samples/   of existing samples
  unmask neighbours runs/prior photos/ --by inception --samples 64

The test compares the distance of samples to their nearest training image with that of validation images."""

ROWS = 16  # samples on the sheet
BATCH = 16  # samples that a process draws at a time


@command_line
class Arguments(Drawing):
    """Arguments of the command."""

    data: TrainingData
    count: Amount = 8
    """Neighbours per sample."""
    by: Space = "lpips"
    """The distance. lpips: appearance. inception: subject. pixels: root mean square."""
    pictures: str | None = None
    """Images whose neighbours to find. None: new samples of the model."""
    samples: Amount = 16
    """Number of new samples."""
    out: Path = Path("neighbours.png")
    """A PNG: samples on the left, their neighbours to the right, distances below them."""
    csv: Path | None = None
    """Also write all distances."""
    sampling: SettingsOption = settings_flags("sample")

    def __post_init__(self) -> None:
        check_out(self.out)
        check_out(self.csv, None, option="--csv")
        if min(self.count, self.samples) < 1:
            raise ConfigError(f"{self.count} neighbours of {self.samples} samples: 1 of each is the least")


def main(argv: list[str]) -> None:
    """Find, show and test."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask neighbours", description=HELP)
    from unmask.evaluation.neighbours import Neighbourhood, blur_caution, memorisation

    model, processes = load_shared(arguments.model, arguments.device, arguments.backend, arguments.precision)
    train, validation = (
        model.open(arguments.data, side, processes=processes) for side in ("train", "validation")
    )
    with bar(f"looking at {arguments.data}") as report:
        place = Neighbourhood(train, arguments.by, device=model.device, report=report, processes=processes)
    samples = _samples(model, arguments, processes)
    with bar("looking at the validation split") as report:
        usual = place.distances_of(validation, report) if len(validation) > 1 else None
    if not processes.is_first:
        return
    found = place.nearest(samples, arguments.count)
    _print(found)
    sheet = _sheet(place, samples[:ROWS], found[:ROWS])
    write_sheet(arguments.out, sheet, "samples, and to the right of each its neighbours")
    write_table(arguments.csv, _rows(found), "all distances")
    if usual is not None and len(samples) > 1:
        distances = usual.new_tensor([neighbours[0].distance for neighbours in found])
        test = memorisation(distances, usual)
        _say(test, arguments.by, len(samples), len(validation))
        seen = validation.read(validation.spread(len(samples)))
        if caution := blur_caution(test, arguments.by, np.stack([np.asarray(one) for one in samples]), seen):
            emit(f"caution: {caution}", caution=caution)


def _samples(model: "Pipeline", arguments: Arguments, processes: Processes) -> list[Image.Image]:
    """The images whose neighbours to find, of which new ones are drawn by all processes for the first."""
    if arguments.pictures:
        pixels = model.open(arguments.pictures, processes=processes)
        return [Image.fromarray(picture) for picture in pixels.read(range(len(pixels)))]

    def draw(numbers: range) -> list[Image.Image]:
        return model.sample(len(numbers), first=numbers.start, **arguments.keywords)

    return list(processes.share(draw, range(arguments.samples), BATCH))


def _print(found: "list[list[Neighbour]]") -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("sample", "distance", "nearest"):
        table.add_column(heading, justify="left" if heading == "nearest" else "right")
    for number, neighbours in enumerate(found[:ROWS]):
        table.add_row(str(number), f"{neighbours[0].distance:.4g}", neighbours[0].name)
    Console(highlight=False, markup=False).print(table)


def _sheet(
    place: "Neighbourhood", samples: Sequence[Image.Image], found: "list[list[Neighbour]]"
) -> Image.Image:
    """A row for each sample: the sample, a gap, its neighbours with their distances."""
    return sheet_with_text(
        [
            [(sample, ""), *((place.picture(one.index), f"{one.distance:.3g}") for one in neighbours)]
            for sample, neighbours in zip(samples, found, strict=True)
        ]
    )


def _say(test: "Memorisation", by: str, num_samples: int, num_validation: int) -> None:
    print(
        f"distance to the nearest training image ({by}): median {test.sample_median:.4g} of "
        f"{num_samples} samples, {test.validation_median:.4g} of {num_validation} validation images"
    )
    emit(
        f"a sample is nearer than a validation image with probability {test.nearer:.3f} "
        f"(0.500 ± {test.standard_error:.3f} without memorisation, 1 for copies); "
        f"nearer than any of them: {test.closest}",
        **test._asdict(),
    )


def _rows(found: "list[list[Neighbour]]") -> Iterator[Sequence[object]]:
    """The table of all distances, its heading first."""
    yield "sample", "rank", "neighbour", "distance"
    for number, neighbours in enumerate(found):
        for rank, one in enumerate(neighbours, start=1):
            yield number, rank, one.name, f"{one.distance:.6g}"
