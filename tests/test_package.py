"""What would be published: the same bytes from the same files, and a package that runs without its clone."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import Parser
from hashlib import sha256
from pathlib import Path

import pytest

import unmask

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def build(tree, folder):
    """The sdist and the wheel of a tree, by suffix."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=tree, check=True)
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built):
    return built[".whl"]


def hashes(paths):
    return {suffix: sha256(path.read_bytes()).hexdigest() for suffix, path in paths.items()}


def test_what_an_sdist_holds_builds_the_same_bytes_elsewhere(built, tmp_path):
    with tarfile.open(built[".gz"]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    tree = tmp_path / f"unmask-{unmask.__version__}"
    (tree / "PKG-INFO").unlink()  # what an sdist has and a clone has not
    (tree / "README.md").touch()
    assert hashes(build(tree, tmp_path / "dist")) == hashes(built)


def test_a_registry_would_take_both(built):
    check = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *built.values()]
    checked = subprocess.run(check, check=True, capture_output=True, text=True).stdout
    assert checked.count("PASSED") == 2


def test_a_wheel_holds_the_package_and_its_licences_alone(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (about,) = (name for name in names if name.endswith("METADATA"))
        metadata = Parser().parsestr(files.read(about).decode())
    package = {name for name in names if name.startswith("unmask/")}
    source = (path.relative_to(ROOT / "src") for path in (ROOT / "src/unmask").rglob("*") if path.is_file())
    assert package == {str(path) for path in source if "__pycache__" not in path.parts}
    assert {name.split("/")[0] for name in {*names} - package} == {f"unmask-{unmask.__version__}.dist-info"}
    assert len(metadata.get_all("License-File")) == 1 + len(
        list(ROOT.glob("src/unmask/data/builtin/LICENSE*"))
    )


def test_an_installed_wheel_draws_a_picture_away_from_the_clone(wheel, tmp_path):
    """What it depends on is lent by the environment of the tests: nothing is fetched."""
    place = tmp_path / "environment"
    venv.create(place)
    python = place / "bin/python"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            python,
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            wheel,
        ],
        check=True,
    )
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))  # behind the wheel's own on the path
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    where = [python, "-c", "import unmask; print(unmask.__file__)"]
    run = {"cwd": tmp_path, "env": environment, "check": True, "capture_output": True, "text": True}
    assert Path(subprocess.run(where, **run).stdout).is_relative_to(packages)
    subprocess.run([place / "bin/unmask", "sample", "emoji", "--count", "1", "--steps", "4"], **run)
    assert (tmp_path / "samples/000000.png").stat().st_size > 1000
