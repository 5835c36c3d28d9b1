"""``unmask evaluate``: how good samples or reconstructions are, over a sweep of settings."""

from collections.abc import Callable
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from unmask.cli.arguments import (
    Amount,
    AnyModel,
    GuideOption,
    OptionalData,
    Sampling,
    SettingsOption,
    command_line,
    settings_flags,
)
from unmask.cli.loading import load_guide, load_shared
from unmask.cli.results import emit
from unmask.errors import ConfigError
from unmask.evaluation.config import COLUMNS, Side, What, metrics_named
from unmask.evaluation.results import Results
from unmask.progress import bar, say

WIDE = 1000  # characters: more than any table has, since numbers are never to be cut

HELP = """Compare samples or reconstructions with real images: FID, KID, precision, recall and more.

  unmask evaluate runs/prior emoji --count 1000
  unmask evaluate runs/prior photos/ --split validation --count 50 --metrics kid --out quick     a first look
  unmask evaluate runs/prior emoji --steps 16,50,256 --temperature 0.8,0.9,1.0
  unmask evaluate runs/prior emoji --metrics prdc,diversity --temperature 0.5,0.7,0.9,1.0
  unmask evaluate runs/codec emoji --what reconstructions --out evaluation-codec
  unmask evaluate runs/prior emoji --what validation --out evaluation-real     what samples could reach
  unmask evaluate runs/prior photos/ --by-label --out evaluation-labels        for models trained on captions
  unmask evaluate runs/prior --reference stats.safetensors      saved by unmask fid photos/ --size 64 --save

Lists are swept in all combinations. Samples are drawn once for all metrics. After a stop, run the same
command again to continue; with more values or metrics, only what is missing is computed. What the metrics
mean, and when they can be compared: docs/evaluation.md. Once:  unmask weights get inception"""


@command_line
class Arguments(Sampling):
    """Arguments of the command."""

    model: AnyModel
    data: OptionalData = None
    reference: Path | None = None
    """Statistics of real images in place of DATA: a file of unmask fid DATA --size PIXELS --save FILE."""
    what: What = "samples"
    """What to compare with real images. validation: validation images, with training images."""
    metrics: str = "fid,kid,prdc"
    """Any of fid, kid, prdc (precision, recall, density, coverage) and diversity."""
    count: Amount = 1000
    """Samples per setting. Reconstructions and validation images are always all used."""
    split: Side | None = None
    """Real images to compare with. None: validation for reconstructions, else train."""
    by_label: bool = False
    """Also compare the samples of each label with its images, if there are at least ten of both."""
    k: Amount = 3
    """k of the nearest neighbours in precision, recall, density and coverage."""
    replicates: Amount = 20
    """Random halves of the samples from which standard errors are computed. 0: none."""
    out: Path = Path("evaluation")
    """Folder for samples, table and plot."""
    guide: GuideOption = None
    sampling: SettingsOption = settings_flags("sample", swept=True)


def main(argv: list[str]) -> None:
    """Compute every metric that is missing, then show all of them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask evaluate", description=HELP)
    metrics = metrics_named(arguments.metrics)
    if (arguments.data is None) == (arguments.reference is None):
        raise ConfigError(
            "give either DATA or --reference to compare with",
            hint="unmask evaluate MODEL photos/  or  unmask evaluate MODEL --reference stats.safetensors",
        )
    model, processes = load_shared(arguments.model, arguments.device, arguments.backend, arguments.precision)
    from unmask.sweeps.evaluate import evaluate

    results = evaluate(
        model,
        arguments.data or str(arguments.reference),
        what=arguments.what,
        metrics=metrics,
        count=arguments.count,
        split=arguments.split,
        k=arguments.k,
        replicates=arguments.replicates,
        seed=arguments.seed,
        out=arguments.out,
        batch=arguments.batch,
        by_label=arguments.by_label,
        guide=load_guide(arguments.guide, arguments.device, arguments.precision),
        bar=bar,
        tell=say if processes.is_first else None,
        processes=processes,
        **arguments.sampling.keywords,
    )
    if processes.is_first:
        _show(results, [column for metric in metrics for column in COLUMNS[metric]])


def _show(results: Results, columns: list[str]) -> None:
    """Print the table, how it came about, and what to beware of; draw the plot."""
    show_table(results.table(columns))
    emit(f"\n{results.protocol}")
    if "fid" in columns and results.caution:
        emit(f"caution: {results.caution}")
    emit(f"also in {results.folder}: results.csv, results.json", results=results.rows, folder=results.folder)
    show_plot(lambda: results.plot(columns))


def show_table(table: Table) -> None:
    """Print a table as wide as it is."""
    Console(highlight=False, markup=False, width=Console(width=WIDE).measure(table).maximum).print(table)


def show_plot(draw: Callable[[], Path | None]) -> None:
    """Draw a plot, if it can be, and say where it is."""
    try:
        plot = draw()
    except ImportError:
        print("no plot, since matplotlib is not installed:  pip install 'unmask[plot]'")
    else:
        if plot:
            emit(f"plot: {plot}", plot=plot)
