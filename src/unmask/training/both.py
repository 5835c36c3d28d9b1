"""Both stages as one training: a plan, the codec, its codes, the prior. It can be resumed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.table import Table

from unmask.config import merge
from unmask.data.sources import open_source
from unmask.data.views import num_views
from unmask.errors import ConfigError, RunError
from unmask.models import open_model
from unmask.presets import DEFAULT, codec_preset, prior_preset
from unmask.progress import rough_duration, say, stderr
from unmask.reading import DamagedError, parsing, read_json, reason
from unmask.storage.files import write_json
from unmask.training.config import LoopConfig
from unmask.training.inputs import lasting, lasting_data
from unmask.training.pace import Pace, codec_pace, prior_pace, reading_pace
from unmask.training.resolve import starting_settings
from unmask.training.runs import Run
from unmask.training.train import train_codec, train_prior

PLAN = "plan.json"
ANOTHER = "name another:  --out runs/another"
USABLE = 0.95  # of the time; the rest is for checkpoints, and for what was measured too fast
SHARES = {"codec": 0.4, "prior": 0.6}
LEAST = 50  # steps of a stage
VALIDATIONS = 4  # of a stage with fewer steps than its preset; each takes as long as several steps
CROPS = 2  # of each picture, where there are hours and the codec sees random ones: encoding takes time
CHECKPOINTS = 20  # of a stage, at least: a kill costs no more than a twentieth of it
PAGE = 30  # times as long as the samples of a validation: the page of results, as it was measured


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The options of a training of both stages, and how long its parts take."""

    data: str
    codec: str | None = None
    """A model whose codec is used as it is; else one is trained."""
    init: str | None = None
    """A model whose codec is where the training starts."""
    preset: str = DEFAULT
    size: int | None = None
    images: dict[str, Any] = field(default_factory=dict)
    """How pictures are cut: changes to the images of both stages."""
    hours: float | None = None
    engine: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict, compare=False)
    """Of each stage."""
    paces: dict[str, float] = field(default_factory=dict, compare=False)
    """Seconds that a step of each takes."""
    looks: dict[str, float] = field(default_factory=dict, compare=False)
    """Seconds that a validation of each takes."""
    others: dict[str, float] = field(default_factory=dict, compare=False)
    """Seconds of all else, by name."""
    page: bool = field(default=True, compare=False)

    @property
    def rows(self) -> Iterator[tuple[str, str, float]]:
        """Name, amount and seconds of each part."""
        for name in ("measuring", "reading", "codec", "codes", "prior", "page"):
            if name in self.others:
                yield name, "", self.others[name]
            elif name in self.steps:
                steps, pace = self.steps[name], self.paces[name]
                yield name, f"{steps:,} steps of {pace:.2g} s", steps * pace
                times = math.ceil(steps / _changes(self, name)["loop"]["validate_every"])
                yield "", f"{times} validations", times * self.looks.get(name, 0.0)

    @property
    def seconds(self) -> float:
        """Seconds of the whole plan."""
        return sum(seconds for *_, seconds in self.rows)

    def __rich__(self) -> Table:
        table = Table("plan", "", "about", box=None, padding=(0, 2, 0, 0))
        table.columns[2].justify = "right"
        for name, much, seconds in (*self.rows, ("in all", "", self.seconds)):
            table.add_row(name, much, rough_duration(seconds))
        return table


def train_both(out: Path, asked: Plan) -> Run:
    """Train what is missing of both stages into ``out``/codec and ``out``/prior; the last run it came to."""
    plan = _settled(out, asked)
    stderr().print(plan)
    for sentence in _cautions(plan):
        say(sentence)
    codec = plan.codec
    if codec is None:
        changes = _changes(plan, "codec")
        run = _stage(out / "codec", lambda **how: train_codec(plan.data, init=plan.init, **how), changes)
        if run.stopped_by:
            return run
        codec = str(run.folder)
    changes = _changes(plan, "prior")
    return _stage(out / "prior", lambda **how: train_prior(codec, plan.data, **how), changes)


def _cautions(plan: Plan) -> Iterator[str]:
    """Warnings about a plan before hours are spent on it."""
    if plan.hours is not None and plan.seconds > 3600 * plan.hours:
        yield f"longer than {rough_duration(3600 * plan.hours)}: a stage takes {LEAST} steps at least"
    alone = plan.preset == DEFAULT and not (plan.codec or plan.init or plan.size)
    if alone and 2 * plan.steps["codec"] < _usual(plan, "codec").steps:
        yield "few steps for a codec from random weights: --init emoji starts from the built-in one"


def _stage(folder: Path, train: Callable[..., Run], changes: dict[str, Any]) -> Run:
    """The run in a folder, trained to its end, whether it is new, begun or done."""
    if not Run.is_at(folder):
        return train(out=folder, **changes)
    run = Run.open(folder)
    return run if run.is_finished else train(out=folder, resume=True)


def _changes(plan: Plan, stage: str) -> dict[str, Any]:
    steps, usual = plan.steps[stage], _usual(plan, stage)
    loop = {"steps": steps, "save_every": min(usual.save_every, math.ceil(steps / CHECKPOINTS))}
    loop["validate_every"] = math.ceil(steps / VALIDATIONS) if steps < usual.steps else usual.validate_every
    return {"preset": plan.preset, "loop": loop, "engine": plan.engine, "images": _images(plan, stage)}


def _images(plan: Plan, stage: str) -> dict[str, Any]:
    size = {"size": plan.size} if plan.size and stage == "codec" else {}
    return plan.images | size | ({"crops": CROPS} if plan.hours is not None and stage == "prior" else {})


def _usual(plan: Plan, stage: str) -> LoopConfig:
    return codec_preset(plan.preset).loop if stage == "codec" else prior_preset(plan.preset).loop


def _settled(out: Path, asked: Plan) -> Plan:
    """The plan in ``out``, if its options are the same; else a new one, which is saved there."""
    asked = replace(
        asked,
        data=lasting_data(asked.data),
        codec=asked.codec and lasting(asked.codec),
        init=asked.init and lasting(asked.init),
    )
    try:
        with parsing():
            there = merge(Plan(data=""), read_json(out / PLAN))
            if not there.steps.keys() == there.paces.keys() == SHARES.keys() - {there.codec and "codec"}:
                raise DamagedError("it has not the steps and the pace of each stage")
    except (FileNotFoundError, NotADirectoryError):
        Run.check_free(out)
        plan = _planned(asked)
        out.mkdir(parents=True, exist_ok=True)
        write_json(out / PLAN, asdict(plan))
        return plan
    except (OSError, DamagedError, ConfigError) as error:
        raise RunError(f"{out / PLAN} is damaged: {reason(error)}", hint=ANOTHER) from None
    if there != asked:
        names = [one.name for one in fields(Plan) if one.compare]
        other = ", ".join(name for name in names if getattr(asked, name) != getattr(there, name))
        raise RunError(f"{out} holds a training with another {other}", hint=ANOTHER)
    return there


def _planned(asked: Plan) -> Plan:
    """The plan with as many steps as the preset has, or as there are hours for."""
    start, (paces, looks, others) = perf_counter(), _measured(asked)
    others["measuring"] = perf_counter() - start
    usual = {stage: _usual(asked, stage) for stage in paces}
    steps = {stage: loop.steps for stage, loop in usual.items()}
    if asked.hours is not None:
        usable = 3600 * asked.hours * USABLE - sum(others.values())
        share = usable / sum(SHARES[stage] for stage in paces)
        steps = {
            stage: max(LEAST, _fitting(share * SHARES[stage], paces[stage], looks[stage], usual[stage]))
            for stage in paces
        }
    return replace(asked, steps=steps, paces=paces, looks=looks, others=others)


def _fitting(seconds: float, pace: float, look: float, usual: LoopConfig) -> int:
    """The steps of a stage that there is time for, with the validations that so many have."""
    few = int((seconds - VALIDATIONS * look) / pace)
    many = int((seconds - look) / (pace + look / usual.validate_every))  # the last one whenever it ends
    return few if few < usual.steps else max(many, usual.steps - 1)


def _measured(asked: Plan) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Seconds that a step of each stage takes, that a validation does, and all else."""
    source, engine = open_source(asked.data), asked.engine
    paces: dict[str, Pace] = {}
    changes = {"engine": engine, "images": _images(asked, "prior")}
    prior = starting_settings(asked.preset, prior_preset, changes=changes, codec=asked.codec)
    images = prior.images
    if asked.codec:
        model = open_model(asked.codec)
        part, size = model.codec, model.image_size
    else:
        changes = {"engine": engine, "images": _images(asked, "codec")}
        codec = starting_settings(asked.preset, codec_preset, changes=changes, init=asked.init)
        paces["codec"], part = codec_pace(codec)
        images, size = replace(codec.images, crops=images.crops), codec.images.size
    paces["prior"], encoding = prior_pace(prior, part, size)
    images = replace(images, size=size)
    views = images.num_crops * num_views(flip=images.flip, shift=images.shift)
    others = {"reading": len(source) * reading_pace(source, images), "codes": len(source) * views * encoding}
    if asked.page:
        others["page"] = PAGE * paces["prior"].shown
    validated = len(source) * images.validation
    looks = {stage: validated * pace.validated + pace.shown for stage, pace in paces.items()}
    return {stage: pace.step for stage, pace in paces.items()}, looks, others
