"""``unmask classify``: which label images have, and how often the model is right."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from PIL import Image
from rich.console import Console
from rich.table import Table

from unmask.cli.arguments import Amount, Data, Looking, command_line
from unmask.cli.loading import load_model, open_images
from unmask.cli.pictures import check_out, write_table
from unmask.cli.results import emit
from unmask.data.pixels import spread
from unmask.errors import ConfigError, DataError
from unmask.evaluation.config import Evidence
from unmask.progress import bar, say

if TYPE_CHECKING:
    from unmask.pipeline import Pipeline

HELP = """Predict the label of each image with a model trained on captions, and measure the accuracy.

  unmask classify runs/prior photos/                             by p(label | image)
  unmask classify runs/prior photos/ --by picture --count 200    by p(image | label)

The labels are the captions in DATA. To caption a single image freely: unmask caption."""

SHOWN = 30  # labels of the table


@command_line
class Arguments(Looking):
    """Arguments of the command."""

    data: Data
    by: Evidence = "label"
    """label: p(label | image), exact. picture: p(image | label), a bound, slower."""
    count: Amount | None = None
    """Number of images, evenly spread over DATA. None: all."""
    draws: Amount = 16
    """--by picture: masks per image and label, the same for all labels."""
    seed: int = 0
    """Seed of the masks."""
    csv: Path | None = None
    """Also write the true and the predicted label of each image."""

    def __post_init__(self) -> None:
        if min(1 if self.count is None else self.count, self.draws) < 1:
            raise ConfigError(f"{self.count} images, {self.draws} draws: 1 of each is the least")
        check_out(self.csv, None, option="--csv")


def main(argv: list[str]) -> None:
    """Classify, then print how often the label was right."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask classify", description=HELP)
    model = load_model(arguments.model, arguments.device)
    pixels = open_images(model, arguments.data, arguments.split, captions="auto")
    labels = _labels(model, arguments.data)
    labelled = [number for number, caption in enumerate(pixels.captions) if caption in labels]
    if not labelled:
        raise DataError(
            f"no image of that split of {arguments.data} has a caption in words that the model knows",
            hint="--split all",
        )
    chosen = [labelled[place] for place in spread(arguments.count or len(labelled), len(labelled))]
    with bar("classifying") as report:
        found = model.classify(
            (Image.fromarray(pixels.read([number])[0]) for number in chosen),
            labels,
            by=arguments.by,
            draws=arguments.draws,
            seed=arguments.seed,
            report=lambda done: report(done, len(chosen)),
        )
    wanted = [str(pixels.captions[number]) for number in chosen]
    _print(wanted, [next(iter(one)) for one in found], len(labels), arguments.by)
    rows = zip((pixels.names[number] for number in chosen), wanted, found, strict=True)
    table = [(name, own, next(iter(one)), f"{one[own]:.6f}") for name, own, one in rows]
    heading = ("picture", "label", "found", "probability of the label")
    write_table(arguments.csv, [heading, *table], "image by image")


def _labels(model: "Pipeline", data: str) -> list[str]:
    """The different captions of a set whose words the model knows; of how many it does not is said."""
    captions = sorted({caption for caption in model.open(data, captions="auto").captions if caption})
    vocabulary = model.words.require()
    labels = [caption for caption in captions if vocabulary.knows(caption)]
    if len(labels) < 2:
        raise DataError(
            f"the images of {data} have {len(labels)} different captions in words that the model knows; "
            "wanted at least two labels",
            hint="docs/captions.md says where captions are looked for; without any:  unmask caption",
        )
    if unknown := len(captions) - len(labels):
        say(f"{unknown:,} of {len(captions):,} labels have words that the model does not know: left out")
    return labels


def _print(wanted: Sequence[str], found: Sequence[str], num_labels: int, by: Evidence) -> None:
    """The share of right labels, of each and of all."""
    import torch

    from unmask.evaluation.estimate import mean_of

    labels, right = sorted(set(wanted)), torch.tensor([a == b for a, b in zip(wanted, found, strict=True)])
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("label")
    table.add_column("images", justify="right")
    table.add_column("accuracy", justify="right")
    for label in labels if len(labels) <= SHOWN else ():
        of_label = right[[own == label for own in wanted]]
        table.add_row(label, str(len(of_label)), f"{of_label.double().mean():.1%}")
    share = mean_of(right.double())
    table.add_row("all", str(len(right)), f"{share.value:.1%} ± {share.standard_error:.1%}")
    Console(highlight=False, markup=False).print(table)
    law = "p(label | image)" if by == "label" else "p(image | label)"
    metrics = {"accuracy": share.value, "standard_error": share.standard_error, "pictures": len(right)}
    emit(f"by {law} of {num_labels} labels; by chance {1 / num_labels:.1%}", labels=num_labels, **metrics)
