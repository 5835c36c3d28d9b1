"""``train_codec`` and ``train_prior``: from a configuration to a trained run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.codec.perceptual import Perceptual
from unmask.config import CodecTraining, PriorTraining, to_json
from unmask.data.sources import open_source
from unmask.devices import Precision, tuned_allocator
from unmask.errors import BundleError, ConfigError
from unmask.evaluation.features import lpips
from unmask.evaluation.inception import Inception
from unmask.models import codec_from, open_model
from unmask.presets import DEFAULT, codec_preset, prior_preset
from unmask.progress import say
from unmask.storage.bundles import Bundle, Part
from unmask.training.codec_task import CodecTask
from unmask.training.engine import Engine
from unmask.training.inputs import find_codes, lasting, lasting_data, prepare_pixels
from unmask.training.loop import Task, train
from unmask.training.prior_task import PriorTask
from unmask.training.resolve import begun, starting_settings
from unmask.training.resume import check_codec, is_restart, open_run
from unmask.training.runs import Run


def train_codec(
    data: str | None = None,
    *,
    out: str | Path = "runs/codec",
    preset: str | CodecTraining = DEFAULT,
    init: str | None = None,
    resume: bool = False,
    **changes: Any,
) -> Run:
    """Stage 1: train a codec. The model is ``run.folder / "best"`` of the run that is returned.

    Args:
        data: A folder, an archive, an array or a built-in set of images.
        out: The run folder.
        preset: A name, or settings of your own.
        init: A model to start from instead of random weights. If only the decoder is trained, its prior is
            copied too, because codes stay the same.
        resume: Continue the run in ``out``, with its own data and settings.
        changes: Settings that override the preset, by group, such as ``loop={"steps": 500}``.
    """
    out = Path(out)
    resume = resume or is_restart(out)
    run_config = begun(out, "codec") if resume else {}
    data, init = _required("data", data, run_config), run_config.get("init", init)
    settings = starting_settings(preset, codec_preset, changes=changes, init=init, run=run_config)
    engine = Engine(settings.engine)
    if not resume and engine.is_first:
        Run.check_free(out)
    start = _decoder_start(init) if settings.train == "decoder" else None
    source = open_source(data)
    perceptual = perceptual_of(settings)
    inception = Inception() if settings.validation_fid else None
    # After all checks: this can take hours.
    pixels = prepare_pixels(source, data, settings.images, engine)
    task = CodecTask(
        settings,
        engine,
        pixels.split("train"),
        pixels.split("validation"),
        kept=start,
        perceptual=perceptual,
        inception=inception,
        about=(start.about if start else {})
        | {"data": data, "image_size": settings.images.size, "codec_training": to_json(settings)}
        | ({"codec_started_from": init} if init else {}),
    )
    if init and _is_fresh(out, resume):
        _start(task, open_model(init).codec, init)
    inputs = {"data": lasting_data(data), "pictures": "-".join(pixels.fingerprints)}
    inputs |= {"init": lasting(init)} if init else {}
    with open_run(settings, inputs, out, resume, engine) as run, tuned_allocator():
        if perceptual is None and not resume and engine.is_first:
            say("plain L1, no perceptual loss: images will be softer than with --loss.perceptual vgg")
        size, grid = settings.images.size, settings.codec.grid(settings.images.size)
        what = f"images of {size}×{size} pixels as {grid}×{grid} codes"
        return _train(task, run, settings, engine, what)


def train_prior(
    codec: str | None = None,
    data: str | None = None,
    *,
    out: str | Path = "runs/prior",
    preset: str | PriorTraining = DEFAULT,
    init: str | None = None,
    resume: bool = False,
    **changes: Any,
) -> Run:
    """Stage 2: train a prior on the codes of a codec.

    The model, codec and prior, is ``run.folder / "best"`` of the run that is returned.

    Args:
        codec: The model whose codec is used.
        data: Images, which are encoded once and cached, or a folder made by ``unmask encode``.
        out: The run folder.
        preset: A name, or settings of your own.
        init: A model whose prior to start from; it must be over the codes of the same codec.
        resume: Continue the run in ``out``, with its own codec, data and settings.
        changes: Settings that override the preset, by group, such as ``loop={"steps": 500}``.
    """
    out = Path(out)
    resume = resume or is_restart(out)
    run_config = begun(out, "prior") if resume else {}
    codec, data = _required("codec", codec, run_config), _required("data", data, run_config)
    init = run_config.get("init", init)
    settings = starting_settings(
        preset, prior_preset, changes=changes, codec=codec, init=init, run=run_config
    )
    engine = Engine(settings.engine)
    if not resume and engine.is_first:
        Run.check_free(out)
    model = open_model(codec)
    check_codec(run_config, codec, model.codec.fingerprint)
    precision = _codes_precision(run_config) if resume else settings.engine.precision
    codes, images = find_codes(model, data, settings.images, engine, precision)
    settings = replace(settings, images=images)
    task = PriorTask(
        settings,
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
        "codec": lasting(codec),
        "codec_fingerprint": model.codec.fingerprint,
        "data": lasting_data(data),
        "pictures": "-".join(filter(None, [*codes.stamp.pixels, codes.stamp.captions])),
        "codes_precision": codes.stamp.precision,
    }
    inputs |= {"init": lasting(init)} if init else {}
    with open_run(settings, inputs, out, resume, engine) as run:
        captions = ", and its caption" if codes.stamp.captions else ""
        what = "{}×{} codes of an image".format(*codes.stamp.grid) + captions
        return _train(task, run, settings, engine, what)


def _required(name: str, value: str | None, run_config: Mapping[str, Any]) -> str:
    """An input as it is given, or as the resumed run has it; one of them must."""
    found = value or run_config.get(name)
    if found is None:
        raise ConfigError(f"a new training wants its {name}")
    return str(found)


def _codes_precision(run_config: Mapping[str, Any]) -> Precision:
    """In which the codes of a run were made, and are to its end; older runs do not say that it is float32."""
    return "bf16" if run_config.get("codes_precision") == "bfloat16" else "32"


def perceptual_of(settings: CodecTraining) -> Perceptual | None:
    """The perceptual loss of a training, if it has one."""
    net = settings.loss.perceptual
    return None if net == "off" else lpips(net)


def _about_codec(model: Bundle) -> dict[str, Any]:
    """Metadata of a model, without that of a prior, which is not the one to be trained."""
    return {
        name: value
        for name, value in model.about.items()
        if name != "curve" and not name.startswith("prior_")
    }


def _decoder_start(init: str | None) -> Bundle:
    """The model whose decoder is to be trained."""
    if init is None:
        raise ConfigError(
            "--train decoder keeps the encoder and the codebook of a model, and none was named",
            hint="name it:  --init runs/codec/best",
        )
    return open_model(init)


def _prior_over(codec: Part, init: str) -> Part:
    """The prior of the model ``init``, if it speaks of this codec's codes."""
    model = open_model(init)
    if model.prior is None:
        raise BundleError(f"{init} has only a codec, no prior to start from")
    if model.codec.fingerprint != codec.fingerprint:
        found, wanted = model.codec.fingerprint, codec.fingerprint
        raise BundleError(
            f"the prior of {init} was trained on codes of codec {found}, not {wanted}; "
            "the same numbers would mean different patches",
            hint=f"take its codec too:  unmask train prior {init} DATA --init {init}",
        )
    return model.prior


def _is_fresh(out: Path, resume: bool) -> bool:
    """Whether a run has nothing to go on from, be it new or stopped before its first checkpoint."""
    return not resume or Run.open(out).last_step() is None


def _start(task: CodecTask | PriorTask, part: Part, init: str) -> None:
    try:
        task.start_from(part)
    except RuntimeError as error:
        message = f"the weights of {init} do not fit the settings: {error}"
        raise BundleError(message, hint="leave the settings of the network to the model") from None


def _train(task: Task, run: Run, settings: CodecTraining | PriorTraining, engine: Engine, what: str) -> Run:
    loop, optim = settings.loop, settings.optim
    if engine.is_first:
        say(
            f"{loop.steps} steps of {task.num_examples} examples on {engine.device.type} in "
            f"{engine.precision}, into {run.folder}; {what}; warm-up {optim.warmup}, cool-down "
            f"{optim.cooldown}, metrics every {loop.log_every} steps, validation every {loop.validate_every}"
        )
    run.stopped_by = train(task, run, loop, engine)
    if engine.is_first and not run.stopped_by:
        say(f"done: the best model is {run.folder / 'best'}")
    return run
