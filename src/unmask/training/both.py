"""Both stages as one training: a plan, the codec, its codes, the prior. The same again goes on with it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from unmask.config import CodecTraining, PriorTraining, merge
from unmask.data.codes import Codes, Stamp
from unmask.data.pixels import PixelSet
from unmask.errors import ConfigError, RunError
from unmask.models import codec_from, open_model
from unmask.presets import codec_preset, prior_preset
from unmask.progress import in_words, say
from unmask.reading import DamagedError, parsing, read_json, reason
from unmask.rng import generator
from unmask.storage.bundles import Part
from unmask.storage.files import write_json
from unmask.training.codec_task import CodecTask
from unmask.training.config import LoopConfig
from unmask.training.engine import Engine
from unmask.training.inputs import lasting, lasting_data
from unmask.training.loop import Task
from unmask.training.prior_task import PriorTask
from unmask.training.resolve import starting_settings
from unmask.training.runs import Run
from unmask.training.train import perceptual_of, train_codec, train_prior

PLAN = "plan.json"
ANOTHER = "name another:  --out runs/another"
USABLE = 0.85  # of the time; the rest is for reading, encoding and validating
SHARES = {"codec": 0.4, "prior": 0.6}
LEAST = 50  # steps of a stage
VALIDATIONS = 4  # of a stage with fewer steps than its preset; each takes as long as several steps
CROPS = 2  # of each picture, where there are hours and the codec sees random ones: encoding takes time
CHECKPOINTS = 20  # of a stage, at least: a kill costs no more than a twentieth of it
MEASURED = 3  # steps, after a first one


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a training of both stages was asked for, and how long it takes."""

    data: str
    codec: str | None = None
    """A model whose codec is used as it is; else one is trained."""
    init: str | None = None
    """A model whose codec the training of ours starts from."""
    preset: str = "emoji"
    size: int | None = None
    hours: float | None = None
    engine: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict, compare=False)
    """Of each stage."""
    paces: dict[str, float] = field(default_factory=dict, compare=False)
    """Seconds that a step of each takes."""

    def __str__(self) -> str:
        times = {stage: in_words(steps * self.paces[stage]) for stage, steps in self.steps.items()}
        words = [f"{stage} {steps:,} steps, about {times[stage]}" for stage, steps in self.steps.items()]
        return f"plan: {'; '.join(words)}"


def train_both(out: Path, asked: Plan) -> Run:
    """Train what is missing of both stages into ``out``/codec and ``out``/prior; the last run it came to."""
    plan = _settled(out, asked)
    for sentence in (str(plan), *_cautions(plan)):
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
    """What a user had better know about a plan before hours are spent on it."""
    seconds = sum(steps * plan.paces[stage] for stage, steps in plan.steps.items())
    if plan.hours is not None and seconds > 3600 * plan.hours:
        yield f"longer than {in_words(3600 * plan.hours)}: a stage takes {LEAST} steps at least"
    alone = plan.preset == "emoji" and not (plan.codec or plan.init or plan.size)
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
    if steps < usual.steps:
        loop["validate_every"] = math.ceil(steps / VALIDATIONS)
    images = {"size": plan.size} if plan.size and stage == "codec" else {}
    if plan.hours is not None and stage == "prior":
        images = {"crops": CROPS}
    return {"preset": plan.preset, "loop": loop, "engine": plan.engine, "images": images}


def _usual(plan: Plan, stage: str) -> LoopConfig:
    return codec_preset(plan.preset).loop if stage == "codec" else prior_preset(plan.preset).loop


def _settled(out: Path, asked: Plan) -> Plan:
    """The plan that is in ``out``, if it is of what is asked for; else a new one, which is kept there."""
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
    except FileNotFoundError:
        Run.check_free(out)
        plan = _measured(asked)
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


def _measured(asked: Plan) -> Plan:
    """The plan with as many steps as the preset has, or as there are hours for."""
    steps, paces = _first_steps(asked)
    if asked.hours is not None:
        usable = 3600 * asked.hours * USABLE / sum(SHARES[stage] for stage in paces)
        steps = {stage: max(LEAST, int(usable * SHARES[stage] / pace)) for stage, pace in paces.items()}
    return replace(asked, steps=steps, paces=paces)


def _first_steps(asked: Plan) -> tuple[dict[str, int], dict[str, float]]:
    """The preset's steps of every stage that is to be trained, and the seconds that one takes."""
    steps, paces, engine = {}, {}, {"engine": asked.engine}
    if asked.codec:
        model = open_model(asked.codec)
        part, size = model.codec, model.image_size
    else:
        changes = engine | ({"images": {"size": asked.size}} if asked.size else {})
        settings = starting_settings(asked.preset, codec_preset, "codec", changes=changes, init=asked.init)
        task = _codec_of_noise(settings)
        steps["codec"], paces["codec"] = settings.loop.steps, _pace(task, "codec")
        part, size = task.bundle(0, {}).codec, settings.images.size
    prior = starting_settings(asked.preset, prior_preset, "prior", changes=engine)
    steps["prior"], paces["prior"] = prior.loop.steps, _pace(_prior_of_noise(prior, part, size), "prior")
    return steps, paces


def _pace(task: Task, stage: str) -> float:
    say(f"measuring a few steps of the {stage} on noise")
    task.step(0)
    start = perf_counter()
    for step in range(1, 1 + MEASURED):
        metrics = task.step(step)
    for value in metrics.values():
        value.item()  # waits for the device
    return (perf_counter() - start) / MEASURED


def _noise(values: int, *shape: int) -> npt.NDArray[np.int64]:
    return torch.randint(values, shape, generator=generator(0, "noise")).numpy()


def _codec_of_noise(settings: CodecTraining) -> CodecTask:
    size, count = settings.images.size, 2 * settings.optim.batch
    noise = _noise(256, count, size, size, 3).astype(np.uint8)
    train = PixelSet([""] * count, np.arange(count), lambda rows: noise[rows], [""])
    nothing = PixelSet([], np.arange(0), lambda rows: noise[rows], [])
    return CodecTask(
        settings.codec,
        settings.loss,
        settings.optim,
        settings.loop,
        Engine(settings.engine),
        train,
        nothing,
        flip=settings.images.flip,
        perceptual=perceptual_of(settings),
        about={},
    )


def _prior_of_noise(settings: PriorTraining, codec: Part, size_px: int) -> PriorTask:
    engine, network, count = Engine(settings.engine), codec_from(codec), 2 * settings.optim.batch
    edge, K = network.config.grid(size_px), network.codebook_size
    stamp = Stamp(
        codec=codec.fingerprint,
        pixels=("", ""),
        data="",
        image_size=size_px,
        grid=(edge, edge),
        codebook_size=K,
        flips=False,
        num_train=count,
        num_validation=0,
    )
    noise = _noise(K, *stamp.shape).astype(stamp.dtype)
    return PriorTask(
        settings.prior,
        settings.diffusion,
        settings.optim,
        settings.loop,
        engine,
        Codes(stamp, noise),
        codec=codec,
        decode=network.decode,
        about={},
    )
