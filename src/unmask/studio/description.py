"""The description of a model, from which the page makes its forms."""

from dataclasses import replace
from pathlib import PurePath
from typing import Any, get_args

from unmask import __version__
from unmask.diffusion.settings import PAPER, RECOMMENDED, SETTINGS, Setting, Use
from unmask.pipeline import Pipeline
from unmask.studio import limits
from unmask.studio.schema import ModelView


def describe(model: Pipeline, name: str) -> ModelView:
    """The description of a model with this name."""
    prior, codec = model.prior, model.codec
    networks = [*prior.parameters(), *codec.parameters()]
    known = ("data", "prior_data", "licence", "codec_validation", "prior_validation")
    about = {key: model.about[key] for key in known if key in model.about}
    about |= {key: PurePath(about[key]).name for key in ("data", "prior_data") if key in about}
    return ModelView(
        name=name,
        fingerprint=model.fingerprint,
        version=__version__,
        kind="autoregressive" if prior.causal else "absorbing",
        image_size=model.image_size,
        factor=codec.config.factor,
        grid=list(prior.grid),
        codebook_size=prior.mask_id,
        parameters=sum(parameter.numel() for parameter in networks),
        settings=_settings(model),
        sampling={
            each: {use: model.settings(use, each).of(use) for use in get_args(Use)}
            for each in {RECOMMENDED: None, **model.sampling, PAPER: None}
        },
        words=list(model.words.vocabulary.words) if model.words.vocabulary else [],
        caption_length=model.words.length,
        limits={
            limit[4:].lower(): value for limit, value in vars(limits).items() if limit.startswith("MAX_")
        },
        about=about,
    )


def _settings(model: Pipeline) -> list[Setting]:
    """What may be said of how this model draws.

    Without a curve there is no optimal schedule, and without words only an edit has what guides it: its
    surroundings.
    """
    prior, schedules = model.prior, dict(SETTINGS["schedule"].choices or {})
    if not model.sampler.curve:
        del schedules["optimal"]
    own: dict[str, dict[str, Any]] = {
        "steps": {"usual": min(prior.num_positions, limits.MAX_STEPS)},
        "schedule": {"choices": schedules},
    }
    if not model.words.length:
        own["guidance"] = {"uses": () if prior.causal else ("edit",)}
    every = [replace(each, **own.get(each.name, {})) for each in SETTINGS.values()]
    return [each for each in every if not (prior.causal and each.diffusion)]
