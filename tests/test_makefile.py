"""A fresh environment takes the build of torch that its machine can use."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Stands in for the environment's Python: notes its words. `-c` asks whether the index of CPU builds answers.
PYTHON = """#!/bin/sh
printf '%s\\n' "$*" >> "$(dirname "$0")/typed"
[ "$1" != -c ] || exit {unreachable}
case "$*" in *--index-url*) exit {broken};; esac
"""


@pytest.fixture
def make(tmp_path):
    """What `make` types into the environment, and what it prints."""

    def run(*, gpu=False, unreachable=0, broken=0, system="Linux"):
        for name, script in {
            "venv/bin/python": PYTHON.format(unreachable=unreachable, broken=broken),
            "path/uname": f"#!/bin/sh\necho {system}\n",
            **({"path/nvidia-smi": "#!/bin/sh\n"} if gpu else {}),
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(script)
            (tmp_path / name).chmod(0o755)
        words = ["make", f"VENV={tmp_path}/venv", f"{tmp_path}/venv/.ready"]
        environment = os.environ | {"PATH": f"{tmp_path}/path:/usr/bin:/bin"}
        printed = subprocess.run(
            words, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        ).stdout
        return (tmp_path / "venv/bin/typed").read_text().splitlines(), printed

    return run


def test_without_a_gpu_the_cpu_build_comes_before_the_package(make):
    typed, _ = make()
    (torch,) = (name for name in dependencies() if name.startswith("torch>="))
    probe, build, package = typed
    assert "timeout=5" in probe
    assert build.startswith("-m pip install")
    assert build.endswith(f"--index-url https://download.pytorch.org/whl/cpu {torch}")
    assert package.endswith("--editable .[studio,plot]")


@pytest.mark.parametrize("trouble", [{"unreachable": 1}, {"broken": 1}])
def test_where_there_is_no_cpu_build_the_package_is_installed_all_the_same(make, trouble):
    typed, printed = make(**trouble)
    assert typed[-1].endswith("--editable .[studio,plot]")
    assert "torch will be the build that pip finds" in printed


@pytest.mark.parametrize("machine", [{"gpu": True}, {"system": "Darwin"}])
def test_where_the_default_build_is_right_nothing_is_asked(make, machine):
    typed, _ = make(**machine)
    assert [line.split()[-1] for line in typed] == [".[studio,plot]"]


def dependencies():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
