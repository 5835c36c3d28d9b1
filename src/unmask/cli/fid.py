"""``unmask fid``: metrics of two sets of images, or the statistics of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from unmask.cli.arguments import Amount, DeviceOption, PicturesOrStatistics
from unmask.cli.pictures import check_out
from unmask.cli.results import emit, listed
from unmask.distributed import Processes
from unmask.errors import ConfigError
from unmask.evaluation.config import OF_FEATURES, metrics_named
from unmask.evaluation.protocol import AT_INCEPTION, RESIZE, Protocol, caution
from unmask.evaluation.results import as_text, plain
from unmask.progress import bar, say
from unmask.storage.files import accessing

if TYPE_CHECKING:
    from unmask.evaluation.estimate import Estimate
    from unmask.evaluation.statistics import Statistics

HELP = """Compare two sets of images: FID, KID, precision, recall, density and coverage.

  unmask fid samples/ photos/                              any two folders, archives, arrays or built-in sets
  unmask fid samples/ photos/ --size 64 --metrics fid,kid  centre squares of 64 pixels
  unmask fid photos/ --save stats.safetensors              mean and covariance, enough for fid
  unmask fid photos/ --save stats.safetensors --features   and the features, which kid and prdc need
  unmask fid samples/ stats.safetensors --metrics fid      without the images
  unmask fid samples/ photos/ --json                       one JSON object on standard output

B is the reference: precision is the share of A that is near B, recall the share of B that is near A. Without
--size, whole images go to Inception at their own sizes. Two FIDs are comparable only if the protocol printed
below them is the same, except for the names. Once:  unmask weights get inception"""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    a: Annotated[PicturesOrStatistics, tyro.conf.arg(metavar="A")]
    b: Annotated[PicturesOrStatistics | None, tyro.conf.Positional, tyro.conf.arg(metavar="B")] = None
    """The reference: the same as for A."""
    metrics: str = "fid,kid,prdc"
    """Any of fid, kid and prdc (precision, recall, density, coverage)."""
    size: Amount | None = None
    """Resize the shorter side to this many pixels and crop the centre square. None: as in the statistics, if
    A or B is a statistics file; else whole images, at their own sizes."""
    save: Path | None = None
    """Write the statistics of A, mean and covariance in float64, to this .safetensors file."""
    features: bool = False
    """Also save the features of every image: 8 KB each, needed by kid and prdc."""
    replicates: Amount = 20
    """Random halves of A from which standard errors are computed. 0: none, faster."""
    device: DeviceOption = "auto"

    def __post_init__(self) -> None:
        if (self.b is None) == (self.save is None):
            raise ConfigError(
                "wanted two sets to compare, or one and a file for its statistics",
                hint=f"unmask fid {self.a} photos/  or  unmask fid {self.a} --save stats.safetensors",
            )
        if self.replicates < 0:
            raise ConfigError(f"--replicates {self.replicates} must be at least 0")
        check_out(self.save, ".safetensors", option="--save")


def main(argv: list[str]) -> None:
    """Compare and print, or save."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask fid", description=HELP)
    metrics = metrics_named(arguments.metrics, OF_FEATURES)
    from unmask.evaluation.compare import compare
    from unmask.evaluation.statistics import statistics_of

    sets = [spec for spec in (arguments.a, arguments.b) if spec is not None]
    processes = Processes(arguments.device)
    a, *others = statistics_of(
        sets,
        size=arguments.size,
        metrics=metrics if arguments.b else (),
        device=processes.device,
        bar=bar,
        processes=processes,
    )
    if not processes.is_first:
        return
    _warn([a, *others])
    if arguments.save:
        with accessing(arguments.save):
            a.save(arguments.save, features=arguments.features)
        emit(f"statistics of {len(a):,} images of {a.name}: {arguments.save}", statistics=arguments.save)
    for b in others:
        with bar(f"measuring {arguments.metrics}"):
            values = compare(a, b, metrics, replicates=arguments.replicates)
        _show(a, b, values)


def _warn(sets: "list[Statistics]") -> None:
    for one in sets:
        if one.left_out:
            say(f"{one.left_out:,} of {one.name} cannot be used; why:  unmask data {one.name}")


def _show(a: "Statistics", b: "Statistics", values: "Mapping[str, Estimate]") -> None:
    """The metrics, how they came about, and what to beware of."""
    protocol = _protocol(a, b)
    row, warning = plain(values), caution(min(len(a), len(b))) if "fid" in values else None
    table = listed({name: as_text(row, name) for name in values})
    emit(table, a=a.name, b=b.name, **row, protocol=protocol, caution=warning)
    emit(f"\n{protocol}")
    if warning:
        emit(f"caution: {warning}")


def _protocol(a: "Statistics", b: "Statistics") -> Protocol:
    from unmask.evaluation.features import INCEPTION

    return Protocol(
        what=f"images of {a.name}",
        pictures=len(a),
        reference=b.name,
        split="all",
        reference_pictures=len(b),
        size_px=a.size_px,
        features=INCEPTION,
        resize=RESIZE if a.size_px else AT_INCEPTION,
        format="8 bits a channel, as in their files",
    )
