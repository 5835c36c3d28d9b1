"""What every test has: one thread a worker, a generator of its own, no clock in property tests."""

import pytest
import torch
from hypothesis import settings

from unmask.rng import generator

torch.set_num_threads(1)  # two xdist workers on two cores would otherwise fight
settings.register_profile("unmask", deadline=None, derandomize=True, database=None)
settings.load_profile("unmask")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> torch.Generator:
    return generator(0, request.node.name)
