"""A configuration becomes a run: each stage of training, put together from its parts."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from torch import nn

from unmask.codec.perceptual import Perceptual
from unmask.config import CodecTraining, PriorTraining, merge, to_json
from unmask.data.base import Source
from unmask.data.codes import Codes, encode, is_store, open_codes
from unmask.data.config import ImagesConfig
from unmask.data.pixels import Pixels, open_pixels
from unmask.data.sources import BUILTIN_SETS, open_source
from unmask.devices import tuned_allocator
from unmask.errors import BundleError, RunError
from unmask.evaluation.inception import Inception
from unmask.models import codec_from, open_model
from unmask.storage.bundles import Bundle, Part
from unmask.storage.files import cache_folder
from unmask.third_party.weights import require
from unmask.training.codec_task import CodecTask
from unmask.training.engine import Engine
from unmask.training.loop import Task, train
from unmask.training.prior_task import PriorTask
from unmask.training.runs import Run

M = TypeVar("M", bound=nn.Module)
Settings = TypeVar("Settings", CodecTraining, PriorTraining)


def train_codec(
    settings: CodecTraining, data: str, out: Path, *, resume: bool = False, init: str | None = None
) -> bool:
    """Train a codec on ``data`` into the run folder ``out``; return whether the last step was reached.

    It starts from the codec of the model ``init``, or from random weights.
    """
    engine = Engine(settings.engine)
    _check_out(out, resume, engine)
    source = open_source(data)
    net = settings.loss.perceptual
    perceptual = None if net == "off" else _loaded(Perceptual(net), f"lpips-{net}")
    inception = Inception() if settings.validation_fid else None
    pixels = _pixels(source, data, settings.images, engine)  # after what may be refused: it can take hours
    task = CodecTask(
        settings.codec,
        settings.loss,
        settings.optim,
        settings.loop,
        engine,
        pixels.split("train"),
        pixels.split("validation"),
        flip=settings.images.flip,
        shift=settings.images.shift,
        perceptual=perceptual,
        inception=inception,
        about={"data": data, "image_size": settings.images.size, "codec_training": to_json(settings)}
        | ({"codec_started_from": init} if init else {}),
    )
    if init and _is_fresh(out, resume):
        _start(task, open_model(init).codec, init)
    inputs = {
        "data": _lasting_data(data),
        "pictures": "-".join(pixels.fingerprints),
    }
    inputs |= {"init": _lasting(init)} if init else {}
    with _open_run(settings, inputs, out, resume, engine) as run, tuned_allocator():
        if perceptual is None and not resume and engine.is_first:
            run.log(0, {}, kind="note: plain L1, no perceptual loss")
            _say("plain L1, no perceptual loss: pictures will be softer than with --loss.perceptual vgg")
        return _train(task, run, settings, engine, "unmask train codec")


def train_prior(
    settings: PriorTraining,
    codec: str,
    data: str,
    out: Path,
    *,
    resume: bool = False,
    init: str | None = None,
) -> bool:
    """Train a prior on the codes that the model at ``codec`` makes of ``data``, into the run folder ``out``.

    ``data`` is anything with pictures, encoded once and remembered, or a folder of codes. It starts from the
    prior of the model ``init``, which must be one over the same codec's codes, or from random weights.
    """
    engine = Engine(settings.engine)
    _check_out(out, resume, engine)
    model = open_model(codec)
    if resume:
        _check_codec(out, codec, model.codec.fingerprint)
    codes = _codes(settings, model, data, engine)
    settings = replace(settings, images=_images_of(codes, settings.images, engine))
    task = PriorTask(
        settings.prior,
        settings.diffusion,
        settings.optim,
        settings.loop,
        engine,
        codes,
        codec=model.codec,
        decode=codec_from(model.codec).to(engine.device).decode,
        about=_about_codec(model)
        | {"prior_data": codes.stamp.data, "prior_training": to_json(settings)}
        | ({"prior_started_from": init} if init else {}),
    )
    if init and _is_fresh(out, resume):
        _start(task, _prior_over(model.codec, init), init)
    inputs = {
        "codec": _lasting(codec),
        "codec_fingerprint": model.codec.fingerprint,
        "data": _lasting_data(data),
        "pictures": "-".join(codes.stamp.pixels),
    }
    inputs |= {"init": _lasting(init)} if init else {}
    with _open_run(settings, inputs, out, resume, engine) as run:
        return _train(task, run, settings, engine, "unmask train prior")


def encode_data(
    model: Bundle, data: str, images: ImagesConfig, engine: Engine, out: Path | None = None
) -> Codes:
    """Codes of ``data`` by the model's codec, in ``out`` or remembered in the cache folder."""
    images = replace(images, size=model.about["image_size"])
    pixels = _pixels(open_source(data), data, images, engine)
    fingerprint = model.codec.fingerprint
    if out is None:
        pictures = "-".join(pixels.fingerprints)
        views = ("-flips" if images.flip else "") + (f"-shift{images.shift}" if images.shift else "")
        out = cache_folder() / f"{fingerprint}-{pictures}{views}.codes"
    codec = codec_from(model.codec).to(engine.device)
    with engine.first_goes_first(), tuned_allocator():
        return encode(codec, fingerprint, pixels, data, images, out)


def _about_codec(model: Bundle) -> dict[str, Any]:
    """What is known of a model but for the prior that it may have, which is not the one to be trained."""
    return {
        name: value
        for name, value in model.about.items()
        if name != "curve" and not name.startswith("prior_")
    }


def _loaded(module: M, name: str) -> M:
    module.load_state_dict(require(name))
    return module


def _prior_over(codec: Part, init: str) -> Part:
    """The prior of the model ``init``, if it speaks of this codec's codes."""
    model = open_model(init)
    if model.prior is None:
        raise BundleError(f"{init} is a codec alone: it has no prior to start from")
    if model.codec.fingerprint != codec.fingerprint:
        found, wanted = model.codec.fingerprint, codec.fingerprint
        raise BundleError(
            f"the prior of {init} was trained on codes of codec {found}, not {wanted}; "
            "the same numbers would mean different patches",
            hint=f"take its codec too:  unmask train prior {init} DATA --init {init}",
        )
    return model.prior


def _check_codec(out: Path, codec: str, fingerprint: str) -> None:
    """Refuse to go on with a prior whose codec was trained further, or replaced, since."""
    before = Run.open(out).config.get("codec_fingerprint", fingerprint)
    if before != fingerprint:
        raise RunError(
            f"{out} learns the codes of codec {before}, but {codec} now holds codec {fingerprint}; "
            "the same numbers would mean different patches",
            hint="start another:  --out runs/another",
        )


def _is_fresh(out: Path, resume: bool) -> bool:
    """Whether a run has nothing to go on from, be it new or stopped before its first checkpoint."""
    return not resume or Run.open(out).last_step() is None


def _start(task: CodecTask | PriorTask, part: Part, init: str) -> None:
    try:
        task.start_from(part.tensors)
    except RuntimeError as error:
        message = f"the weights of {init} do not fit the settings: {error}"
        raise BundleError(message, hint="leave the settings of the network to the model") from None


def _codes(settings: PriorTraining, model: Bundle, data: str, engine: Engine) -> Codes:
    if is_store(Path(data)):
        return open_codes(Path(data), model.codec.fingerprint)
    return encode_data(model, data, settings.images, engine)


def _images_of(codes: Codes, images: ImagesConfig, engine: Engine) -> ImagesConfig:
    """How the pictures were seen whose codes these are: a store was made before, with settings of its own."""
    settled = merge(images, codes.stamp.images)
    names = [field.name for field in fields(images) if field.name not in ("size", "cache", "workers")]
    changed = [name for name in names if getattr(images, name) != getattr(settled, name)]
    if changed and engine.is_first:
        told = ", ".join(f"{name.replace('_', '-')} {getattr(settled, name)}" for name in changed)
        _say(f"the codes of {codes.stamp.data} were made with settings of their own, which hold: {told}")
    return settled


def _pixels(source: Source, data: str, images: ImagesConfig, engine: Engine) -> Pixels:
    with engine.first_goes_first():
        pixels = open_pixels(source, images)
    if pixels.unusable and engine.is_first:
        first = pixels.unusable[0]
        _say(
            f"{len(pixels.unusable)} of {len(pixels) + len(pixels.unusable)} pictures are left out, such as "
            f"{first.name} ({first.reason}). All of them:  {_look_at(data, images)}"
        )
    return pixels


def _look_at(data: str, images: ImagesConfig) -> str:
    """The command that sees the pictures as a training does."""
    words = ["unmask", "data", data]
    for name in ("min_side", "background", "validation", "fast_decode"):
        value = getattr(images, name)
        if value != getattr(ImagesConfig, name):
            words += [f"--images.{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def _lasting(name: str) -> str:
    """A path that means the same wherever the run is resumed from; a built-in name as it is."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def _lasting_data(name: str) -> str:
    """The same of pictures, of which a built-in name means the built-in ones whatever folders there are."""
    return name if name in BUILTIN_SETS else _lasting(name)


def _train(task: Task, run: Run, settings: Settings, engine: Engine, command: str) -> bool:
    loop = settings.loop
    if engine.is_first:
        _say(
            f"{loop.steps} steps of {task.num_examples} examples on {engine.device.type} in "
            f"{engine.precision}, into {run.folder}; figures every {loop.log_every} steps, held-out pictures "
            f"every {loop.validate_every}"
        )
    finished = train(task, run, loop, engine)
    if engine.is_first:
        if finished:
            _say(f"done: the best model is {run.folder / 'best'}")
        else:
            _say(f"stopped and saved. Go on:  {command} --resume {run.folder}")
    return finished


def _say(sentence: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(sentence)


def _check_out(out: Path, resume: bool, engine: Engine) -> None:
    """Refuse a folder that holds another run, before anything is prepared for this one."""
    if not resume and engine.is_first:
        Run.check_free(out)


@contextmanager
def _open_run(
    settings: Settings, inputs: dict[str, str], out: Path, resume: bool, engine: Engine
) -> Iterator[Run]:
    """A new run, or the one to go on with if what it trains is still the same, for this training alone."""
    how = {"processes": engine.world, "precision": engine.precision}
    config = inputs | how | {"settings": to_json(settings)}
    if not engine.is_first:
        yield Run(out, config)
        return
    run = Run.open(out, tensorboard=True) if resume else Run.create(out, config, tensorboard=True)
    with run.claimed():
        if resume:
            _check_resumed(run, settings, inputs["pictures"])
            _say_what_changed(how | run.config, how)
            run.update_config(config)
        yield run


def _say_what_changed(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Tell how a run goes on otherwise than so far, as it may on another machine."""
    m, n = before["processes"], now["processes"]
    if m != n:
        _say(f"trained by {m} processes so far, now by {n}: a step has {n}/{m} of the pictures")
    if before["precision"] != now["precision"]:
        _say(f"trained in {before['precision']} so far, now in {now['precision']}")


def _check_resumed(run: Run, settings: Settings, pictures: str) -> None:
    """Refuse what cannot go on: other pictures or networks than before, or a training that is done."""
    before, now = (_shaping(stage) for stage in (merge(settings, run.config["settings"]), settings))
    for part in before:
        if before[part] != now[part]:
            raise RunError(
                f"{run.folder} was started with other settings under {part}; a run keeps those to its end",
                hint="start another:  --out runs/another",
            )
    if run.config.get("pictures", pictures) != pictures:
        raise RunError(
            f"the pictures are not those that {run.folder} was started with; a run keeps them to its end",
            hint=f"start another from it:  --init {run.folder / 'last'} --out runs/another",
        )
    done = run.last_step() or 0
    if done >= settings.loop.steps:
        raise RunError(
            f"{run.folder} is finished: it has done {done} steps of {settings.loop.steps}",
            hint=f"train longer:  --resume {run.folder} --loop.steps {2 * done}",
        )


def _shaping(settings: Settings) -> dict[str, object]:
    """What shapes pictures and networks, by where it is set: it stays the same to a run's end."""
    images = replace(settings.images, cache="prepared", workers=0)  # neither changes a pixel
    if isinstance(settings, PriorTraining):
        return {"images": images, "prior": settings.prior}
    critic = (settings.loss.discriminator_width, settings.loss.discriminator_layers)
    return {"images": images, "codec": settings.codec, "loss.discriminator": critic}
