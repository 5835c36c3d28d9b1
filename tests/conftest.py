"""What every test has: one thread a worker, and a generator of its own."""

import pytest
import torch

from unmask.rng import generator

torch.set_num_threads(1)  # two xdist workers on two cores would otherwise fight


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> torch.Generator:
    return generator(0, request.node.name)
