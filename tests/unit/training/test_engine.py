"""What processes tell each other, with a fabric that stands for two of them."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch

from unmask.training import engine as module
from unmask.training.config import EngineConfig
from unmask.training.engine import Engine


@pytest.fixture
def engine_of(monkeypatch):
    """An engine round a fabric of one's own."""

    def engine_of(**fabric):
        given = {}
        stub = SimpleNamespace(launch=lambda: None, **fabric)
        monkeypatch.setattr(module, "Fabric", lambda **options: given.update(options) or stub)
        engine = Engine(EngineConfig(device="cpu"))
        return engine, given

    return engine_of


def test_a_process_waits_for_longer_than_a_large_set_takes_to_encode(engine_of, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    _, given = engine_of()
    assert given["strategy"]._timeout >= timedelta(days=1)


def test_a_sum_is_where_its_parts_are(engine_of):
    engine, _ = engine_of(world_size=2, all_reduce=lambda value, reduce_op: torch.zeros(3))
    assert engine.sum(torch.zeros(3, device="meta")).device.type == "meta"


def test_a_flag_is_set_if_it_is_in_any_process(engine_of):
    engine, _ = engine_of(world_size=2, all_reduce=lambda value, reduce_op: 2 * value)
    assert engine.any(True)
    assert not engine.any(False)


def test_a_process_alone_asks_no_device(engine_of):
    engine, _ = engine_of(world_size=1)
    assert engine.any(True)
    assert not engine.any(False)
    assert engine.sum(torch.ones(2)).tolist() == [1, 1]
