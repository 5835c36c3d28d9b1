"""``unmask evaluate``: how good samples or reconstructions are, over a sweep of settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import tyro
from rich.console import Console

from unmask.cli.arguments import (
    AnyModel,
    BackendOption,
    Data,
    DeviceOption,
    SettingsFlags,
    SettingsOption,
    settings_flags,
)
from unmask.cli.loading import load_model
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError, DataError
from unmask.evaluation.config import FIGURES, Metric
from unmask.evaluation.results import Results, in_words, samples_folder
from unmask.samples import SampleFolder

if TYPE_CHECKING:
    from unmask.data.pixels import PixelSet
    from unmask.evaluation.compare import Reference
    from unmask.evaluation.estimate import Estimate
    from unmask.evaluation.protocol import Protocol
    from unmask.pipeline import Pipeline

WIDE = 1000  # characters: more than any table has, since figures are never to be cut

HELP = """Compare samples or reconstructions with real pictures: FID, KID, precision, recall and more.

  unmask evaluate runs/prior/best emoji --count 1000
  unmask evaluate runs/prior/best emoji --steps 16,50,256 --temperature 0.8,0.9,1.0
  unmask evaluate runs/prior/best emoji --metrics prdc,diversity --temperature 0.5,0.7,0.9,1.0
  unmask evaluate runs/codec/best emoji --what reconstructions --out evaluation-codec
  unmask evaluate runs/prior/best emoji --what held-out --out evaluation-held-out   what samples could reach

Lists are swept, every value with every other. Samples are kept in a folder, shared by all metrics. After a
stop, run the same command again to continue; with more values or metrics, only what is missing is computed.
What the figures mean, and when they compare: docs/evaluation.md."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    model: AnyModel
    data: Data
    what: Literal["samples", "reconstructions", "held-out"] = "samples"
    """Pictures to compare with the real ones. held-out: real ones themselves, with those of the training."""
    metrics: str = "fid,kid,prdc"
    """Which of fid, kid, prdc (precision, recall, density, coverage) and diversity."""
    count: int = 1000
    """Samples for each setting. Of reconstructions and held-out pictures all are taken."""
    split: Literal["train", "validation", "all"] | None = None
    """Real pictures to compare with. None: validation for reconstructions, else train."""
    k: int = 3
    """Neighbours that make the balls of precision, recall, density and coverage."""
    replicates: int = 20
    """Halves of the samples that standard errors are taken from. 0: none."""
    seed: int = 0
    out: Path = Path("evaluation")
    """Folder for samples, table and plot."""
    batch: int = 16
    """Pictures drawn at a time."""
    device: DeviceOption = "auto"
    backend: BackendOption = "torch"
    sampling: SettingsOption = field(default_factory=settings_flags("sample", swept=True))

    def check(self) -> list[Metric]:
        """The metrics asked for; refuse what could not be done, before anything is computed."""
        wanted = [word.strip() for word in self.metrics.split(",")]
        unknown = [word for word in wanted if word not in FIGURES]
        if unknown:
            raise ConfigError(
                f"there is no metric {unknown[0]!r}", hint=f"such as:  --metrics {','.join(FIGURES)}"
            )
        if self.count < 2 or self.k < 1 or self.replicates < 0 or self.batch < 1:
            raise ConfigError("--count must be at least 2, --k and --batch 1, --replicates 0")
        if self.what == "held-out" and self.side != "train":
            raise ConfigError(
                "held-out pictures are compared with those of the training", hint="--split train"
            )
        return cast(list[Metric], list(dict.fromkeys(wanted)))

    @property
    def options(self) -> dict[str, Any]:
        """What figures depend on beside protocol and settings."""
        return {"seed": self.seed, "k": self.k, "replicates": self.replicates}

    @property
    def side(self) -> Literal["train", "validation", "all"]:
        """Which of the real pictures."""
        return self.split or ("validation" if self.what == "reconstructions" else "train")


def main(argv: list[str]) -> None:
    """Compute every figure that is missing, then show all of them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask evaluate", description=HELP)
    metrics = arguments.check()
    model = load_model(arguments.model, arguments.device, arguments.backend)
    sweep = _sweep(model, arguments.sampling) if arguments.what == "samples" else [None]
    real = _real(model, arguments.data, arguments.side)
    held_out = _real(model, arguments.data, "validation") if arguments.what == "held-out" else None
    count = arguments.count if arguments.what == "samples" else len(held_out or real)
    options = {"data": real.fingerprint, **arguments.options}
    results = Results(arguments.out, model.fingerprint, _protocol(model, real, count, arguments), options)
    reference = _reference(model, real, arguments)
    for config in sweep:
        if missing := results.missing(metrics, config):
            pictures = held_out or _pictures(model, config, real, arguments)
            for metric in missing:
                results.add(config, _measured(reference, metric, pictures, count))
    if "diversity" in metrics and not results.real:
        results.add_real(reference.diversity(count))
    _show(results, [figure for metric in metrics for figure in FIGURES[metric]])


def _sweep(model: "Pipeline", given: SettingsFlags) -> Sequence[Settings | None]:
    """Every combination of the lists, over what the model recommends."""
    lists = given.changes
    combinations = (dict(zip(lists, values, strict=True)) for values in product(*lists.values()))
    return [model.settings("sample", given.settings, **each) for each in combinations]


def _real(model: "Pipeline", data: str, side: Literal["train", "validation", "all"]) -> "PixelSet":
    pixels = model.open(data, None if side == "all" else side)
    if not len(pixels):
        raise DataError(f"{data} has no pictures on the side {side} of its split", hint="--split all")
    return pixels


def _protocol(model: "Pipeline", real: "PixelSet", count: int, arguments: Arguments) -> "Protocol":
    from unmask.evaluation.features import INCEPTION
    from unmask.evaluation.protocol import Protocol

    return Protocol(
        what="held-out pictures" if arguments.what == "held-out" else arguments.what,
        pictures=count,
        reference=arguments.data,
        split=arguments.side,
        reference_pictures=len(real),
        size_px=model.image_size,
        features=INCEPTION,
    )


def _reference(model: "Pipeline", real: "PixelSet", arguments: Arguments) -> "Reference":
    from unmask.evaluation.compare import Reference
    from unmask.evaluation.features import inception_features
    from unmask.progress import bar

    with bar(f"looking at {arguments.data}") as report:
        return Reference(
            real,
            model.codec,
            inception_features(model.device),
            k=arguments.k,
            replicates=arguments.replicates,
            report=report,
        )


def _pictures(
    model: "Pipeline", config: Settings | None, real: "PixelSet", arguments: Arguments
) -> "PixelSet":
    """The pictures of one setting: samples from their folder, or reconstructions."""
    from unmask.evaluation.compare import reconstructed
    from unmask.progress import bar

    if config is None:
        return reconstructed(model.codec, model.fingerprint, real)
    samples = SampleFolder(samples_folder(arguments.out, config), model, arguments.seed, config)
    with bar(f"sampling, {in_words(config)}") as report:
        samples.fill(arguments.count, batch=arguments.batch, report=report)
    return samples.pixels()


def _measured(
    reference: "Reference", metric: Metric, pictures: "PixelSet", count: int
) -> "dict[str, Estimate]":
    from unmask.progress import bar

    with bar(f"measuring {metric}") as report:
        return reference.measure(metric, pictures, count, report)


def _show(results: Results, figures: list[str]) -> None:
    """Print the table, how it came about, and what to beware of; draw the plot."""
    table = results.table(figures)
    Console(highlight=False, markup=False, width=Console(width=WIDE).measure(table).maximum).print(table)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"\n{results.protocol}")
    if "fid" in figures and results.caution:
        console.print(f"caution: {results.caution}")
    console.print(f"also in {results.folder}: results.csv, results.json")
    try:
        plot = results.plot(figures)
    except ImportError:
        print("no plot, since matplotlib is not installed:  pip install 'unmask[plot]'")
    else:
        if plot:
            print(f"plot: {plot}")
