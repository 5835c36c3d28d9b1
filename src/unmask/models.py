"""Models by name or folder, and networks from their parts."""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig
from unmask.config import merge
from unmask.data.vocabulary import Vocabulary
from unmask.errors import BundleError, ConfigError
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import NO_TEXT, Text, Transformer
from unmask.reading import fit, printable
from unmask.storage import bundles as bundle
from unmask.storage import hub
from unmask.storage.bundles import Bundle, Part

M = TypeVar("M", bound=nn.Module)
BUILTIN = Path(__file__).with_name("builtin")


def open_model(model: str | Path) -> Bundle:
    """The model in a folder, of a built-in name or of one on the Hugging Face hub, checked in full."""
    folder = locate(model)
    if folder.parts == (str(model),) and not folder.exists() and not bundle.is_run(folder.parent):
        built_in = f"built in are {', '.join(builtin_names())}"
        hint = f"{built_in}; or name a folder with {bundle.MANIFEST}"
        raise BundleError(f"there is nothing at {model}", hint=hint)
    return bundle.load(folder)


def locate(model: str | Path) -> Path:
    """The folder of a model: itself, the best of a run, a built-in one, or where the hub's is kept here."""
    folder, name = Path(model), str(model)
    if run := _run_in(folder):
        return run / "best"
    if not folder.exists() and name in builtin_names():
        return BUILTIN / name
    if not folder.exists() and (near := get_close_matches(name, builtin_names(), n=1)):
        raise BundleError(f"there is no model {name}", hint=f"did you mean {near[0]}, which is built in?")
    elsewhere = not folder.parent.exists() and hub.is_name(name)
    return hub.snapshot(name) if elsewhere else folder


def is_model(name: str) -> bool:
    """Whether a model of that name is on this machine, without looking into it."""
    folder = Path(name)
    return bool(_run_in(folder)) or (folder / bundle.MANIFEST).is_file() or name in builtin_names()


def _run_in(folder: Path) -> Path | None:
    """The run that a folder is, or of a training of both stages the later one."""
    return next(filter(bundle.is_run, (folder, folder / "prior", folder / "codec")), None)


def builtin_names() -> list[str]:
    """The models that come with the package."""
    return sorted(path.parent.name for path in BUILTIN.glob(f"*/{bundle.MANIFEST}"))


def codec_from(part: Part) -> Autoencoder:
    """The codec that ``part`` describes, ready to encode and decode."""
    config = merge(CodecConfig(), part.config)
    _check_depth(config.blocks * len(config.multipliers), part, "codec")
    return _filled(lambda: Autoencoder(config), part, "codec")


def prior_from(part: Part) -> Transformer:
    """The prior that ``part`` describes, ready to predict codes."""
    match part.config:
        case {"codebook_size": int(codebook_size), "grid": [int(height), int(width)], **others}:
            pass
        case _:
            raise BundleError("the prior's configuration does not say its codebook_size and its grid")
    vocabulary = vocabulary_from(part)
    for name in ("words", "caption_length"):
        others.pop(name, None)
    config = merge(PriorConfig(), others)
    _check_depth(config.depth, part, "prior")
    text = Text(vocabulary.length, len(vocabulary)) if vocabulary else NO_TEXT
    return _filled(lambda: Transformer(config, codebook_size, (height, width), text=text), part, "prior")


def vocabulary_from(part: Part) -> Vocabulary | None:
    """The words that the prior in ``part`` knows; None of one that was trained without captions."""
    try:
        words = fit(part.config.get("words", []), list[str], "words")
        length = fit(part.config.get("caption_length", 0), int, "caption_length")
    except ConfigError as error:
        raise BundleError(f"the prior's vocabulary is damaged: {error}") from None
    return Vocabulary(tuple(map(printable, words)), length) if words else None


def _check_depth(num_layers: int, part: Part, name: str) -> None:
    """Refuse more layers than there are weights for, before the first of them is built."""
    if num_layers > len(part.tensors):
        raise BundleError(f"the {name}'s weights do not fit its configuration: {num_layers:,} layers")


def _filled(build: Callable[[], M], part: Part, name: str) -> M:
    """The module with the part's weights, float32 whatever they are stored as, and nothing left to train."""
    with torch.device("meta"):  # takes no memory, of which a configuration may want any amount
        wanted = {key: tensor.shape for key, tensor in build().state_dict().items()}
    found = {key: tensor.shape for key, tensor in part.tensors.items()}
    if odd := sorted(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key)):
        raise BundleError(f"the {name}'s weights do not fit its configuration: {', '.join(odd[:3])}")
    broken = [key for key, tensor in part.tensors.items() if not torch.isfinite(tensor).all()]
    if broken:
        raise BundleError(f"the {name}'s weights are not all numbers: {', '.join(broken[:3])}")
    module = build()
    module.load_state_dict(part.tensors)
    module.eval().requires_grad_(False)
    return module
