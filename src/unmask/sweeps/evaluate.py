"""Metrics of samples over a sweep of settings, or of reconstructions."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from unmask.data.captions import Caption
from unmask.data.pixels import PixelSet
from unmask.data.splits import SingleImageError
from unmask.diffusion.choose import combinations
from unmask.diffusion.settings import Settings
from unmask.distributed import ALONE, Group
from unmask.errors import ConfigError, DataError
from unmask.evaluation.compare import Reference, reconstructed
from unmask.evaluation.config import Metric, Side, What, check_metrics
from unmask.evaluation.estimate import Estimate
from unmask.evaluation.features import INCEPTION, Extractor, inception_features
from unmask.evaluation.protocol import Protocol, resizing
from unmask.evaluation.results import Results, samples_folder, settings_label
from unmask.evaluation.statistics import Statistics, is_statistics, load_statistics
from unmask.pipeline import Pipeline
from unmask.progress import Bar, no_bar, rough_duration, took
from unmask.samples import SampleFolder

TRIED = 8  # passes, and pictures
LEAST = 10  # pictures of a label, and samples, for metrics of its own


def evaluate(
    model: Pipeline,
    data: str,
    *,
    what: What = "samples",
    metrics: Sequence[Metric] = ("fid", "kid", "prdc"),
    count: int = 1000,
    split: Side | None = None,
    k: int = 3,
    replicates: int = 20,
    settings: Settings | str | None = None,
    seed: int = 0,
    out: str | Path = "evaluation",
    batch: int = 16,
    by_label: bool = False,
    guide: Pipeline | None = None,
    bar: Bar = no_bar,
    tell: Callable[[str], None] | None = None,
    processes: Group = ALONE,
    **sweep: Any,
) -> Results:
    """Compute metrics for every combination of settings, as ``unmask evaluate`` does.

    Settings are those of ``Pipeline.sample``, by name; lists are swept in all combinations. What is already
    in the folder ``out`` is not computed again.

    Args:
        model: The model.
        data: The real images, or a statistics file of ``unmask fid --save``.
        what: What to compare with them: ``samples``, ``reconstructions`` or ``validation`` images.
        metrics: Any of ``fid``, ``kid``, ``prdc`` (precision, recall, density, coverage), ``diversity``.
        count: Samples per combination.
        split: Which of the real images. None: validation for reconstructions, else train.
        k: Neighbours of precision, recall, density and coverage.
        replicates: Random halves of the samples from which standard errors are computed. 0: none.
        settings: Base settings, as in ``Pipeline.sample``.
        seed: Seed of the samples.
        out: Folder of samples and results.
        batch: Batch size of sampling.
        by_label: Also compare the samples of each label with its real images, if there are enough of both.
        guide: A weaker model that guidance of the samples moves away from.
        bar: Makes progress bars.
        tell: Called beforehand with a sentence on the amount of work.
        processes: Who shares samples and features; the first one measures and writes.
        sweep: Single settings, or lists of them.
    """
    side = split or ("validation" if what == "reconstructions" else "train")
    _check(metrics, count, k, replicates, batch, what, side)
    if by_label and what != "samples":
        raise ConfigError(f"labels are those of samples, not of {what}", hint="--what samples")
    if guide and what != "samples":
        raise ConfigError(f"a guide is for samples, not for {what}", hint="--what samples")
    chosen = combinations("sample", model.sampling, settings, sweep) if what == "samples" else [None]
    for one in chosen if guide else ():
        model.sampler.request("sample", settings=one, guide=guide)  # refuses a guide without effect
    real: PixelSet | Statistics
    if is_statistics(data):
        real, side = _saved(model, data, what, metrics), "all"
    else:
        real = _real(model, data, what, side, processes, captions="auto" if by_label else "none")
    compared = _compared(model, data, what, real, processes)
    count = count if compared is None else len(compared)
    labels = _labels(model, real, count, seed) if by_label else {}
    protocol = _protocol(model, data, what, side, count, len(real))
    options = {"data": real.fingerprint, "seed": seed, "k": k, "replicates": replicates}
    options |= {"guide": guide.fingerprint} if guide else {}
    results = Results(Path(out), model.fingerprint, protocol, options, keep=processes.is_first)
    extractor = inception_features(model.device)
    new = [one for one in chosen if one and results.missing(metrics, one)]
    if tell and new:
        num_real = 0 if isinstance(real, Statistics) else len(real)
        tell(effort(model, new, count, batch, num_real, extractor, guide))
        if side == "train":
            tell("sooner, for a first look:  --split validation --count 50 --metrics kid --out quick")
    with bar(f"looking at {data}") as report:
        reference = Reference(
            real, model.codec, extractor, k=k, replicates=replicates, report=report, processes=processes
        )
    measuring = _Measuring(
        model, guide, seed, count, batch, metrics, compared, labels, reference, results, bar, processes
    )
    for one in chosen:
        measuring.complete(one)
    if "diversity" in metrics and not processes.agreed(lambda: results.real):
        results.add_real(processes.agreed(lambda: reference.diversity(count)))
    return results


def _compared(
    model: Pipeline, data: str, what: What, real: PixelSet | Statistics, processes: Group
) -> PixelSet | None:
    """The images to compare with the real ones, unless samples: other real ones, or reconstructions."""
    if what == "validation":
        return _real(model, data, what, "validation", processes)
    if what == "reconstructions":
        assert isinstance(real, PixelSet), "statistics are for samples"
        return reconstructed(model.codec, model.fingerprint, real)
    return None


def _protocol(model: Pipeline, data: str, what: What, side: Side, count: int, num_real: int) -> Protocol:
    return Protocol(
        what="validation images" if what == "validation" else what,
        pictures=count,
        reference=data,
        split=side,
        reference_pictures=num_real,
        size_px=model.image_size,
        features=INCEPTION,
        resize=resizing(model.images, side),
    )


class OfLabel(NamedTuple):
    """The pictures of a label, by number."""

    real: list[int]
    drawn: list[int]


@dataclass(frozen=True)
class _Measuring:
    """Measures one combination of settings after another."""

    model: Pipeline
    guide: Pipeline | None
    seed: int
    count: int
    batch: int
    metrics: Sequence[Metric]
    compared: PixelSet | None
    """The images to compare, unless samples are to be drawn."""
    labels: Mapping[str, OfLabel]
    reference: Reference
    results: Results
    bar: Bar
    processes: Group

    def complete(self, one: Settings | None) -> None:
        """Add to the results what is missing in them."""
        missing = self.processes.agreed(self._missing, one)
        pixels = self._pictures(one) if missing else None
        for label, metric in missing:
            with self.bar(f"measuring {metric}"):
                values = self.processes.agreed(self._measured, label, metric, pixels)
            self.results.add(one, values, label)

    def _missing(self, one: Settings | None) -> list[tuple[str | None, Metric]]:
        """Metrics of all pictures, and of those of each label."""
        whole = self.results.missing(self.metrics, one)
        by_part = [metric for metric in self.metrics if metric != "diversity"]
        parts = [(label, name) for label in self.labels for name in self.results.missing(by_part, one, label)]
        return [*((None, name) for name in whole), *parts]

    def _pictures(self, one: Settings | None) -> PixelSet:
        """The samples of some settings, drawn where missing, or other images to compare; with features."""
        if one is None:
            assert self.compared is not None
            pixels = self.compared
        else:
            place = samples_folder(self.results.folder, one)
            samples = SampleFolder(place, self.model, self.seed, one, guide=self.guide)
            with self.bar(f"sampling, {settings_label(one)}") as report:
                samples.fill(self.count, batch=self.batch, processes=self.processes, report=report)
            pixels = samples.pixels()
        with self.bar(f"looking at {self.results.protocol.what}") as report:
            self.reference.look(pixels, report)
        return pixels

    def _measured(self, label: str | None, metric: Metric, pixels: PixelSet) -> dict[str, Estimate]:
        if label is None:
            return self.reference.measure(metric, pixels, self.count)
        rows = self.labels[label]
        return self.reference.measure_part(metric, rows.real, pixels, rows.drawn)


def effort(
    model: Pipeline,
    new: Sequence[Settings],
    count: int,
    batch: int,
    num_real: int,
    extractor: Extractor,
    guide: Pipeline | None = None,
) -> str:
    """A sentence on the amount of work and, by a trial, the time that it takes."""
    N, batch, size = model.prior.num_positions, min(count, batch), model.image_size
    trial = Settings(guidance=new[0].guidance, steps=None if model.prior.causal else min(TRIED, N))
    drawing = took(lambda: model.sample(batch, settings=trial, batch=batch, guide=guide)) / (trial.steps or N)
    looking = took(lambda: extractor(np.zeros((TRIED, size, size, 3), np.uint8))) / TRIED
    passes = [min(one.steps or N, N) for one in new]
    turns, num_looked = math.ceil(count / batch), num_real + count * len(new)
    seconds = sum(passes) * turns * drawing + num_looked * looking
    each = f" for each of {len(new)} settings" if len(new) > 1 else ""
    return (
        f"at most {count:,} samples × {max(passes):,} passes{each}, and {num_looked:,} images to look at: "
        f"about {rough_duration(seconds)}"
    )


def _check(
    metrics: Sequence[str], count: int, k: int, replicates: int, batch: int, what: What, side: Side
) -> None:
    """Refuse what could not be done, before anything is computed."""
    check_metrics(metrics)
    if what not in get_args(What):
        raise ConfigError(f"{what!r} cannot be evaluated", hint=f"one of {', '.join(get_args(What))}")
    if count < 2 or k < 1 or replicates < 0 or batch < 1:
        raise ConfigError("--count must be at least 2, --k and --batch 1, --replicates 0")
    if what == "validation" and side != "train":
        raise ConfigError("validation images are compared with those of the training", hint="--split train")


def _labels(model: Pipeline, real: PixelSet | Statistics, count: int, seed: int) -> dict[str, OfLabel]:
    """The labels of which there are enough real images and samples."""
    if not isinstance(real, PixelSet):
        raise ConfigError("statistics have no labels", hint="name the images in place of --reference")
    model.words.require(hint="leave out --by-label")
    labels: dict[Caption, OfLabel] = defaultdict(lambda: OfLabel([], []))
    for number, caption in enumerate(real.captions):
        labels[caption].real.append(number)
    for number, caption in enumerate(model.words.drawn(range(count), seed)):
        labels[caption].drawn.append(number)
    enough = {name: each for name, each in labels.items() if name and min(map(len, each)) >= LEAST}
    if not enough:
        raise DataError(f"no label has {LEAST} images and as many samples", hint="--count 10000")
    return dict(sorted(enough.items()))


def _real(
    model: Pipeline, data: str, what: What, side: Side, processes: Group, captions: str = "none"
) -> PixelSet:
    try:
        pixels = model.open(data, None if side == "all" else side, captions=captions, processes=processes)
    except SingleImageError:
        raise SingleImageError("--split all" if what != "validation" else None) from None
    if not len(pixels):
        raise DataError(f"{data} has no images on the side {side} of its split", hint="--split all")
    return pixels


def _saved(model: Pipeline, file: str, what: What, metrics: Sequence[Metric]) -> Statistics:
    saved = load_statistics(Path(file))
    saved.require(metrics)
    if what != "samples":
        raise ConfigError(f"{what} are made from images, and {file} holds none", hint="name the images")
    if saved.size_px != model.image_size:
        found = f"{saved.size_px} px" if saved.size_px else "images of their own sizes"
        raise ConfigError(
            f"{file} is of {found}, and the model draws {model.image_size} px; only one size compares",
            hint=f"unmask fid {saved.name} --size {model.image_size} --save {file}",
        )
    return saved
