"""A model on disk: ``unmask.json`` says what it is, ``codec.safetensors`` and ``prior.safetensors`` hold it.

A bundle is checked in full when it is loaded: the format, the files, and the fingerprint of every network.
What a fingerprint covers cannot have changed since, so codes, priors and scores can name the codec they mean.
"""

import hashlib
import json
import typing
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import torch
from safetensors import SafetensorError
from torch import Tensor

from unmask import __version__
from unmask.diffusion.settings import BUDGETS
from unmask.errors import BundleError, ConfigError
from unmask.reading import DamagedError, fit, printable, read_json
from unmask.storage import files, seals
from unmask.storage import state as tensors

FORMAT = 2
MANIFEST = "unmask.json"
KEYS = ("format", "unmask", "parts", "sampling", "about")  # beside a checksum, which older ones lack
OURS = (MANIFEST, "codec.safetensors", "prior.safetensors")
MAX_EDGE_PX = 1 << 14
AGAIN = "copy the model again from where it came"

Manifest = dict[str, Any]
UPGRADES: dict[int, Callable[[Manifest], Manifest]] = {
    1: lambda manifest: manifest | {"format": 2, "sampling": {}},
}
"""The manifest of each older format to that of the next.

An upgrade leaves configurations and tensors as they are: fingerprints cover them, and codes, priors and
scores refer to fingerprints.
"""


class About(TypedDict, total=False):
    """The types of known metadata of a model; other keys are free."""

    image_size: int
    """Edge in pixels of the pictures that it was trained on."""
    data: str
    prior_data: str
    licence: str
    codec_step: int
    prior_step: int
    codec_training: dict[str, Any]
    prior_training: dict[str, Any]
    codec_validation: dict[str, float]
    prior_validation: dict[str, float]
    prior_captions: list[str]
    curve: dict[str, list[float]] | None
    imported: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Part:
    """One network on disk: its configuration as plain JSON values, and its tensors, which never change."""

    config: dict[str, Any]
    tensors: dict[str, Tensor]

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with the configuration and with any bit of any tensor."""
        ordered = sorted(self.tensors.items())
        shapes = [(name, str(tensor.dtype), list(tensor.shape)) for name, tensor in ordered]
        header = json.dumps([self.config, shapes], sort_keys=True, allow_nan=False)
        digest = hashlib.sha256(header.encode())
        for _, tensor in ordered:
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A model. A prior belongs to the codec whose codes it was trained on."""

    codec: Part
    prior: Part | None = None
    about: dict[str, Any] = field(default_factory=dict)  # licence, training, metrics: plain JSON values
    sampling: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Settings by name and use, such as ``{"recommended": {"sample": {"steps": 64}}}``."""

    @property
    def image_size(self) -> int:
        """Edge in pixels of the pictures that it was trained on."""
        match self.about.get("image_size"):
            case int(size) if 0 < size <= MAX_EDGE_PX:
                return size
        raise BundleError("the model does not say for images of how many pixels it is: about.image_size")

    @property
    def parts(self) -> dict[str, Part]:
        """The networks there are, by the names of their files."""
        return {"codec": self.codec} | ({} if self.prior is None else {"prior": self.prior})


def halved(bundle: Bundle) -> Bundle:
    """This bundle with every float32 rounded to float16.

    Rounding moves a few codes. A codec that is halved before its prior is trained stays as it is afterwards,
    and the prior has learnt the codes of the very codec that it comes with.
    """
    return replace(bundle, codec=_rounded(bundle.codec), prior=bundle.prior and _rounded(bundle.prior))


def _rounded(part: Part) -> Part:
    floats = {name: tensor.half() for name, tensor in part.tensors.items() if tensor.dtype == torch.float32}
    return replace(part, tensors=part.tensors | floats)


def save(bundle: Bundle, folder: Path) -> None:
    """Put the bundle at ``folder``, whole or not at all, in place of a bundle that was there."""
    _refuse_to_overwrite(folder)
    wanted = sum(tensors.num_bytes(part.tensors.values()) for part in bundle.parts.values())
    with files.writing(folder, wanted, BundleError), files.replace_folder(folder, OURS) as partial:
        for name, part in bundle.parts.items():
            tensors.write(partial / f"{name}.safetensors", part.tensors)
        files.write_json(partial / MANIFEST, _describe(bundle, partial))


def load(folder: Path) -> Bundle:
    """The bundle at ``folder``, checked in full; safe while a training replaces it."""
    while True:
        version = files.settle(folder)
        try:
            return _load(folder)
        except (OSError, BundleError) as error:
            if files.settle(folder) != version:
                continue  # it was replaced meanwhile
            if isinstance(error, BundleError):
                raise
            raise BundleError(f"{folder} cannot be read: {error}") from error


def _describe(bundle: Bundle, folder: Path) -> dict[str, Any]:
    parts: dict[str, dict[str, Any]] = {
        name: {
            "fingerprint": part.fingerprint,
            "bytes": (folder / f"{name}.safetensors").stat().st_size,
            "config": part.config,
        }
        for name, part in bundle.parts.items()
    }
    if "prior" in parts:
        parts["prior"]["trained_on"] = bundle.codec.fingerprint
    values = (FORMAT, __version__, parts, bundle.sampling, bundle.about)
    return seals.sealed(dict(zip(KEYS, values, strict=True)))


def _load(folder: Path) -> Bundle:
    manifest = _read_manifest(folder)
    parts = manifest["parts"]
    _check_names(folder, set(parts))
    loaded = {name: _load_part(folder / f"{name}.safetensors", entry) for name, entry in parts.items()}
    codec, prior = loaded["codec"], loaded.get("prior")
    if prior and parts["prior"].get("trained_on") != codec.fingerprint:
        raise BundleError(
            f"the prior of {folder} was trained on codes of codec {parts['prior'].get('trained_on')}, "
            f"but its codec is {codec.fingerprint}; the same numbers would mean different patches"
        )
    return Bundle(codec, prior, manifest["about"], manifest["sampling"])


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _absent(folder) from None
    except DamagedError as error:
        raise BundleError(f"{path} is damaged: {error}", hint=AGAIN) from None
    match manifest:
        case {"format": int(number)} if number > FORMAT:
            message = f"{path} has format {number}; unmask {__version__} reads up to {FORMAT}"
            raise BundleError(message, hint="pip install --upgrade unmask")
        case {"format": int(number)} if number >= 1:
            manifest = _upgraded(_unsealed(path, manifest), number)
    match manifest:
        case {"format": _, "parts": {"codec": _}, "about": dict(about), "sampling": dict(sampling)}:
            _check_about(path, about, sampling)
            return {**manifest, "about": _shown(about), "sampling": _shown(sampling)}
    raise BundleError(
        f"{path} does not describe a model: it wants format, parts (with a codec), sampling and about"
    )


def _check_about(path: Path, about: dict[str, Any], sampling: dict[str, Any]) -> None:
    hints = typing.get_type_hints(About)
    try:
        for name in about.keys() & hints:
            about[name] = fit(about[name], hints[name], f"about.{name}")
        for uses in fit(sampling, dict[str, dict[str, Any]], "sampling").values():
            _check_settings(uses)
    except ConfigError as error:
        raise BundleError(f"{path}: {error}", hint=AGAIN) from None


def _check_settings(uses: dict[str, Any]) -> None:
    """Refuse what are no settings by use, and no list of settings for numbers of steps."""
    for use, settings in uses.items():
        fit(settings, list[dict[str, Any]] if use == BUDGETS else dict[str, Any], "sampling")
    for settings in uses.get(BUDGETS, []):
        if fit(settings.get("steps"), int, "sampling") < 1:
            raise ConfigError(f"sampling is for {settings['steps']} steps, but should be for 1 or more")


def _shown(value: Any) -> Any:
    """A value whose texts can be shown on a terminal: other people wrote them."""
    if isinstance(value, dict):
        return {printable(key): _shown(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shown(one) for one in value]
    return printable(value) if isinstance(value, str) else value


def _unsealed(path: Path, manifest: Manifest) -> Manifest:
    try:
        older = {1: set(KEYS) - {"sampling"}}.get(manifest["format"], KEYS)
        return seals.unsealed(manifest, older)
    except ValueError:
        message = f"{path} is damaged: it is not as it was written"
        hint = f'{AGAIN}, or if you changed it yourself delete its line "{seals.SEAL}"'
        raise BundleError(message, hint=hint) from None


def _upgraded(manifest: Manifest, number: int) -> Manifest:
    for older in range(number, FORMAT):
        manifest = UPGRADES[older](manifest)
    return manifest


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a training."""
    return all((folder / name).is_file() for name in ("config.json", "log.jsonl"))


def _absent(folder: Path) -> BundleError:
    """Why there is no bundle at ``folder``, and where there may be one."""
    last = folder.parent / "last"
    if is_run(folder.parent) or (last / MANIFEST).is_file():
        message = f"there is no {folder} yet: the best model of a run is known at its first validation"
        return BundleError(message, hint=f"until then:  {last}" if last.exists() else None)
    wanted = f"a model is a folder with {MANIFEST} in it, such as runs/NAME/best"
    if folder.exists():
        return BundleError(f"{folder} is not a model", hint=wanted)
    return BundleError(f"there is nothing at {folder}", hint=wanted)


def _check_names(folder: Path, names: set[str]) -> None:
    if surplus := names - {"codec", "prior"}:
        raise BundleError(f"{folder / MANIFEST} names unknown parts: {', '.join(sorted(surplus))}")
    found = {path.stem for path in folder.glob("*.safetensors")}
    if missing := names - found:
        raise BundleError(f"{folder} lacks {' and '.join(f'{name}.safetensors' for name in sorted(missing))}")
    if surplus := found - names:
        listed = " and ".join(f"{name}.safetensors" for name in sorted(surplus))
        raise BundleError(f"{folder} holds {listed}, which its {MANIFEST} does not know")


def _load_part(path: Path, entry: Any) -> Part:
    match entry:
        case {"fingerprint": str(fingerprint), "bytes": int(num_bytes), "config": dict(config)}:
            pass
        case _:
            raise BundleError(f"{path.with_name(MANIFEST)} does not describe {path.name} in full")
    if (size := path.stat().st_size) != num_bytes:
        raise BundleError(f"{path} is {size:,} bytes long, not {num_bytes:,}", hint=AGAIN)
    try:
        part = Part(config, tensors.read(path))
    except SafetensorError as error:
        raise BundleError(f"{path} is damaged: {error}", hint=AGAIN) from None
    if part.fingerprint != fingerprint:
        message = f"{path} and its configuration have fingerprint {part.fingerprint}, not {fingerprint}"
        raise BundleError(f"{message}: one of them was changed", hint=AGAIN)
    return part


def _refuse_to_overwrite(folder: Path) -> None:
    """Refuse to replace a folder that is no model, such as one of images named by mistake."""
    is_empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not is_empty and not (folder / MANIFEST).is_file():
        raise BundleError(f"{folder} holds something else than a model", hint="name a folder that is new")
