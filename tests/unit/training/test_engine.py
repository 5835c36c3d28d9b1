"""What processes tell each other, with a fabric that stands for two of them."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch

from unmask.training import engine as module
from unmask.training.config import EngineConfig
from unmask.training.engine import Engine, wants_bfloat16


@pytest.fixture
def engine_of(monkeypatch):
    """An engine round a fabric of one's own, and how processes were told to talk."""

    def engine_of(world):
        given = {}
        stub = SimpleNamespace(launch=lambda: None, world_size=world)
        monkeypatch.setenv("WORLD_SIZE", str(world))
        monkeypatch.setattr(module, "Fabric", lambda **options: stub)
        monkeypatch.setattr(torch.distributed, "new_group", lambda **options: given.update(options) or "talk")
        monkeypatch.setattr(torch.distributed, "all_reduce", lambda value, group: value.mul_(world))
        return Engine(EngineConfig(device="cpu")), given

    return engine_of


def test_a_process_waits_for_longer_than_a_large_set_takes_to_encode(engine_of):
    _, given = engine_of(2)
    assert given["timeout"] >= timedelta(days=1)
    assert given["backend"] == "gloo", "the others wait on no GPU"


def test_a_sum_is_where_its_parts_are_and_leaves_them_alone(engine_of):
    engine, _ = engine_of(2)
    part = torch.ones(3)
    assert engine.sum(part).tolist() == [2, 2, 2]
    assert part.tolist() == [1, 1, 1]
    assert engine.sum(torch.zeros(3, device="meta")).device.type == "meta"


def test_a_flag_is_set_if_it_is_in_any_process(engine_of):
    engine, _ = engine_of(2)
    assert engine.any(True)
    assert not engine.any(False)


def test_a_process_alone_asks_no_device(engine_of):
    engine, _ = engine_of(1)
    assert engine.any(True)
    assert not engine.any(False)
    assert engine.sum(torch.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("has_it", [True, False])
def test_auto_is_bfloat16_where_the_device_multiplies_it_itself(monkeypatch, has_it):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: has_it or including_emulation
    )
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_it)
    assert [wants_bfloat16("auto", device) for device in ("cuda", "cpu", "mps")] == [has_it, has_it, False]
    for device in ("cuda", "cpu", "mps"):
        assert wants_bfloat16("bf16", device)
        assert not wants_bfloat16("32", device)
