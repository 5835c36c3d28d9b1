import pytest
import torch

import unmask
from unmask.devices import require_device
from unmask.errors import ConfigError
from unmask.training.config import EngineConfig
from unmask.training.engine import Engine


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many GPUs, or with Apple's."""

    def machine(cuda=0, mps=False):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return machine


def test_auto_is_the_fastest_that_is_there(machine):
    for there, best in (({"cuda": 1}, "cuda"), ({"mps": True}, "mps"), ({}, "cpu")):
        machine(**there)
        assert require_device("auto") == torch.device(best)


def test_a_device_that_is_there_is_taken_by_kind_or_number(machine):
    machine(cuda=2)
    assert [str(require_device(name)) for name in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda", "cuda:1"]


@pytest.mark.parametrize("name", ["cuda:2", "mps", "gpu", "meta", "", "cuda:one"])
def test_one_that_is_not_there_is_refused_with_those_that_are(machine, name):
    machine(cuda=2)
    with pytest.raises(ConfigError, match=rf"no device {name} .*\n.*--device auto .* cuda, cpu"):
        require_device(name)


def test_models_and_trainings_refuse_it_before_anything_else(machine):
    machine()
    with pytest.raises(ConfigError, match="no device cuda "):
        unmask.load("no such model", "cuda")
    with pytest.raises(ConfigError, match="no device cuda "):
        Engine(EngineConfig(device="cuda"))
