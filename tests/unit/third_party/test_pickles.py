"""Arrays come out of a pickle; code does not."""

import io
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from unmask.third_party.pickles import read_numpy, read_torchscript


class Command:
    """Runs a command when it is unpickled by the ordinary unpickler."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def numpy_pickle(tree) -> bytes:
    """A pickle as numpy 1 wrote it, which is how the published files are."""
    return pickle.dumps(tree, protocol=3).replace(b"numpy._core.", b"numpy.core.")


def torchscript(module: nn.Module) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # written only here; never run anywhere
        buffer = io.BytesIO()
        torch.jit.save(torch.jit.script(module), buffer)
    return buffer.getvalue()


def replaced(archive: bytes, ending: str, content: bytes) -> bytes:
    """The same TorchScript archive with another content in the one file whose name ends so."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, content if name.endswith(ending) else old.read(name))
    return buffer.getvalue()


def test_nested_arrays_are_read_by_the_path_of_their_keys():
    tree = {"a": {"b": np.arange(6, dtype="f4").reshape(2, 3)}, "c": np.ones(2, dtype="f4")}
    tensors = read_numpy(numpy_pickle(tree))
    assert list(tensors) == ["a/b", "c"]
    assert torch.equal(tensors["a/b"], torch.tensor([[0.0, 1, 2], [3, 4, 5]]))


def test_torchscript_tensors_are_those_of_its_state_dict():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Sequential(nn.GroupNorm(2, 4), nn.PReLU()))
    tensors, wanted = read_torchscript(torchscript(module)), module.state_dict()
    assert list(tensors) == list(wanted)
    assert all(torch.equal(tensors[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"a": x}, lambda x: np.array([x], dtype=object)])
def test_a_pickle_that_names_code_is_refused_before_the_code_runs(tmp_path, wrap):
    content = numpy_pickle(wrap(Command(tmp_path / "ran")))
    with pytest.raises(pickle.UnpicklingError, match="it asks for"):
        read_numpy(content)
    assert not (tmp_path / "ran").exists()
    pickle.loads(content.replace(b"numpy.core.", b"numpy._core."))
    assert (tmp_path / "ran").exists()  # the ordinary unpickler would have run it


def test_a_torchscript_archive_that_names_code_is_refused_before_the_code_runs(tmp_path):
    command = pickle.dumps(Command(tmp_path / "ran"), protocol=2)
    with pytest.raises(pickle.UnpicklingError, match="it asks for"):
        read_torchscript(replaced(torchscript(nn.ReLU()), "/data.pkl", command))
    assert not (tmp_path / "ran").exists()


def test_a_tensor_cannot_reach_past_its_storage():
    shortened = replaced(torchscript(nn.Linear(2, 2, bias=False)), "/data/0", b"\0" * 8)
    with pytest.raises(RuntimeError, match="out of bounds"):
        read_torchscript(shortened)
