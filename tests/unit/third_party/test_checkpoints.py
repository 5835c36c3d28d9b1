"""State dicts come out of what torch.save wrote; code does not."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from unmask.errors import WeightsError
from unmask.third_party.checkpoints import read_state_dict

STATE = {"a.weight": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2)}


class Command:
    """Runs a command when it is unpickled by the ordinary unpickler."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "model.th"


def is_state(tensors) -> bool:
    return tensors.keys() == STATE.keys() and all(torch.equal(tensors[name], STATE[name]) for name in STATE)


@pytest.mark.parametrize("zipped", [True, False], ids=["torch 1.6 and later", "before"])
@pytest.mark.parametrize(
    "content", [STATE, {"state_dict": STATE, "epoch": 3}], ids=["bare", "in a checkpoint"]
)
def test_a_state_dict_is_read(path, zipped, content):
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    assert is_state(read_state_dict(path))


@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_pickle_is_refused_and_not_run(path, tmp_path, zipped):
    marker = tmp_path / "ran"
    torch.save({"state_dict": STATE, "hook": Command(marker)}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(WeightsError, match=r"model\.th cannot be read"):
        read_state_dict(path)
    assert not marker.exists()
    torch.load(path, weights_only=False)  # the marker would have told
    assert marker.exists()


def test_what_a_pickle_asks_for_is_named(path, tmp_path):
    torch.save(STATE | {"hook": Command(tmp_path / "ran")}, path)
    with pytest.raises(WeightsError, match=r"pathlib\.\S+"):
        read_state_dict(path)


def test_lightnings_own_classes_are_read_as_nothing(path, monkeypatch):
    module = ModuleType("pytorch_lightning.callbacks.model_checkpoint")
    module.ModelCheckpoint = type("ModelCheckpoint", (), {"__module__": module.__name__})
    with monkeypatch.context() as installed:
        for name in ("pytorch_lightning", "pytorch_lightning.callbacks"):
            installed.setitem(sys.modules, name, ModuleType(name))
        installed.setitem(sys.modules, module.__name__, module)
        callbacks = {module.ModelCheckpoint: {"best": torch.tensor(0.5)}, "last": module.ModelCheckpoint()}
        torch.save({"state_dict": STATE, "callbacks": callbacks}, path)
    assert is_state(read_state_dict(path))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x02K\x01.", b"PK\x03\x04" + bytes(40), bytes(100)],
    ids=["empty", "1", "zip", "zeros"],
)
def test_a_file_of_another_kind_is_refused_in_a_sentence(path, content):
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"model\.th (cannot be read|holds no state dict)") as caught:
        read_state_dict(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("content", [{}, [1, 2], {"epoch": 3}, {"state_dict": {"a": "b"}}])
def test_a_file_without_a_state_dict_says_so(path, content):
    torch.save(content, path)
    with pytest.raises(WeightsError, match="holds no state dict"):
        read_state_dict(path)


def test_a_file_that_is_not_there_says_so(path):
    with pytest.raises(WeightsError, match="there is no file"):
        read_state_dict(path)
