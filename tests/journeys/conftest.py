"""The real command line, as a user types it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

UNMASK = Path(sys.executable).with_name("unmask")
SMALL_CODEC = """
images: {size: 16, validation: 0.2}
codec:
  width: 8
  multipliers: [1, 2, 2]
  attention: []
  code_width: 4
  groups: 4
  quantizer: {codebook_size: 16, kmeans_batches: 2}
loss: {adversarial: 'off'}
optim: {batch: 4}
loop: {steps: 4, log_every: 4, validate_every: 4, save_every: 4}
engine: {threads: 1}
"""
SMALL_PRIOR = """
images: {validation: 0.2}
prior: {width: 16, depth: 2, heads: 2, dropout: 0.1}
optim: {batch: 4}
loop: {steps: 24, log_every: 3, validate_every: 8, save_every: 4}
engine: {threads: 1}
"""


class Commands:
    """Runs commands one after the other, each in a process of its own."""

    def __init__(self) -> None:
        words = [sys.executable, str(Path(__file__).with_name("warm.py"))]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(self, **order: object) -> int:
        """The exit code of a command."""
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Shell:
    """A folder in which commands are typed, with images and settings for small models in it."""

    def __init__(self, folder: Path, commands: Commands) -> None:
        self.folder, self.commands = folder, commands
        (folder / "codec.yaml").write_text(SMALL_CODEC)
        (folder / "prior.yaml").write_text(SMALL_PRIOR)

    @property
    def environment(self) -> dict[str, str]:
        """Of a command; one thread, as in the tests themselves: other tests have the other cores."""
        own = {"UNMASK_CACHE": str(self.folder / "cache"), "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
        return os.environ | own

    def start(self, *words: object) -> subprocess.Popen[str]:
        """A command that runs on while the test does other things."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([UNMASK, *map(str, words)], cwd=self.folder, env=self.environment, **pipes)

    def __call__(self, *words: object, code: int = 0) -> str:
        """What a command says, when it has ended as expected."""
        order = {"words": list(map(str, words)), "folder": str(self.folder), "environment": self.environment}
        ended = self.commands.run(**order)
        out, err = ((self.folder / name).read_text() for name in (".out", ".err"))
        assert ended == code, err
        assert "Traceback" not in err
        return out + err


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    commands.close()


@pytest.fixture
def shell(tmp_path: Path, commands: Commands) -> Shell:
    return Shell(tmp_path, commands)


def write_discs(folder: Path) -> str:
    """A file of 40 small pictures, each a coloured disc of its own."""
    y, x = np.mgrid[0:16, 0:16]
    draws = np.random.default_rng(0)
    sheet = np.full((40, 16, 16, 3), 255, np.uint8)
    for picture in sheet:
        centre_y, centre_x, radius = draws.uniform(5, 10), draws.uniform(5, 10), draws.uniform(3, 6)
        picture[np.hypot(y - centre_y, x - centre_x) < radius] = draws.integers(0, 200, 3)
    path = folder / "discs.npy"
    np.save(path, sheet)
    return str(path)


@pytest.fixture
def pictures(tmp_path: Path) -> str:
    return write_discs(tmp_path)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> Shell:
    """A folder with models of 16×16 pixels and 4×4 codes, not to be changed: a codec and two priors."""
    shell = Shell(tmp_path_factory.mktemp("trained"), commands)
    discs = write_discs(shell.folder)
    shell("train", "codec", discs, "--preset", "tiny", "--config", "codec.yaml", "--out", "codec")
    prior = ["train", "prior", "codec/best", discs, "--preset", "tiny", "--config", "prior.yaml"]
    shell(*prior, "--out", "prior")
    shell(*prior, "--kind", "autoregressive", "--loop.steps", "4", "--out", "autoregressive")
    return shell


@pytest.fixture
def model(trained: Shell) -> Path:
    """A whole model, trained for a moment."""
    return trained.folder / "prior/best"


@pytest.fixture
def autoregressive(trained: Shell) -> Path:
    """The same with an autoregressive prior."""
    return trained.folder / "autoregressive/best"
