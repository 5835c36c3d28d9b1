"""``unmask tune``: find the best settings for each number of steps, and keep them in the model."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from unmask.cli.arguments import Amount, Sampling, SettingsOption, TrainingData, command_line, settings_flags
from unmask.cli.evaluate import show_plot, show_table
from unmask.cli.loading import load_shared
from unmask.cli.results import emit
from unmask.errors import BundleError, ConfigError
from unmask.evaluation.config import Side
from unmask.evaluation.results import table_of
from unmask.progress import bar

if TYPE_CHECKING:
    from unmask.storage.bundles import Bundle

HELP = """Find the best sampling settings for 8, 16, 32, 64 and 256 steps, and store them in the model.

  unmask tune runs/prior photos/                                    every setting in turn
  unmask tune runs/prior photos/ --steps 16,64 --count 200          for fewer numbers of steps, faster
  unmask tune runs/prior photos/ --temperature 0.8,1 --remask 1     other values to try
  unmask tune emoji emoji-3d --save my-emoji                        a built-in model: into a copy of it

Best is the lowest KID against the training images and, among values within its standard error, the highest
precision and coverage. Then  unmask sample runs/prior --steps 16  uses the settings found for 16 steps, and
without --steps the fewest steps whose KID is within a standard error of the best. Report tuned settings on
held-out images:
  unmask evaluate runs/prior photos/ --split validation --steps 16

After a stop, run the same command again to continue. Needs Inception: unmask weights get inception."""


@command_line
class Arguments(Sampling):
    """Arguments of the command."""

    data: TrainingData
    count: Amount = 500
    """Samples per combination of settings."""
    split: Side = "train"
    """Real images to compare with. Report the tuned settings on others."""
    seed: int = 1
    """Seed of the samples; other than the default of other commands, which is 0."""
    out: Path = Path("tuning")
    """Folder for samples, table and plot."""
    save: Path | None = None
    """Store the settings in a copy of the model, in this folder. None: in the model itself."""
    sampling: SettingsOption = settings_flags("sample", swept=True)


def main(argv: list[str]) -> None:
    """Search, write the settings into the model, and show them."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask tune", description=HELP)
    from unmask.models import locate, open_model
    from unmask.storage import bundles
    from unmask.sweeps.tune import COLUMNS, plot, tune

    if arguments.save is None and not Path(arguments.model).exists():
        raise ConfigError(
            f"settings cannot be stored in {arguments.model}, which is built in or from the hub",
            hint=f"store them in a copy:  unmask tune {arguments.model} {arguments.data} --save FOLDER",
        )
    folder = arguments.save or locate(arguments.model)
    bundle = open_model(arguments.model)
    model, processes = load_shared(arguments.model, arguments.device, arguments.backend, arguments.precision)
    tuning = tune(
        model,
        arguments.data,
        count=arguments.count,
        split=arguments.split,
        seed=arguments.seed,
        out=arguments.out,
        batch=arguments.batch,
        bar=bar,
        processes=processes,
        **arguments.sampling.keywords,
    )
    if not processes.is_first:
        return
    if arguments.save is None:
        _check_same(bundle, open_model(arguments.model), folder)
    bundles.save(replace(bundle, sampling=tuning.sampling(bundle.sampling)), folder)
    show_table(table_of([*tuning.rows, tuning.paper], COLUMNS))
    note = f"\nthe last row is the paper's chain; the others are in {folder} now:  unmask sample {folder}"
    emit(note, settings=tuning.rows, paper=tuning.paper, model=folder)
    emit(f"every measurement is in {arguments.out}: results.csv, results.json", folder=arguments.out)
    show_plot(lambda: plot(tuning, arguments.out))


def _check_same(tuned: "Bundle", now: "Bundle", folder: Path) -> None:
    """Refuse to write settings into a model that a training has replaced since."""
    before, after = ([part.fingerprint for part in one.parts.values()] for one in (tuned, now))
    if before != after:
        raise BundleError(
            f"{folder} has other weights than when the search began, so the settings were not kept",
            hint="when its training is over, tune it again:  --out another",
        )
