import json
import math
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from unmask.storage import state as tensors

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool]


@st.composite
def some_tensors(draw: st.DrawFn) -> Tensor:
    """Any shape, none and empty ones included, in any of the types, laid out in any order of axes."""
    shape = draw(st.lists(st.integers(0, 3), max_size=4))
    values = torch.arange(math.prod(shape)).reshape(shape).to(draw(st.sampled_from(DTYPES)))
    return values.permute(draw(st.permutations(range(len(shape)))))


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
keys = st.integers() | st.text("ab/'", max_size=3)  # "a/b" beside "a" with "b" in it asks for one name twice
states = st.recursive(
    plain | some_tensors(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


def through_a_file(state: Any, folder: Any) -> Any:
    skeleton, leaves = tensors.flatten(state)
    tensors.write(folder / "state.safetensors", leaves)
    text = json.dumps(skeleton, allow_nan=False)
    return tensors.rebuild(json.loads(text), tensors.read(folder / "state.safetensors"))


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, of equal types, in equal order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        return a.dtype == b.dtype and a.clone().stride() == b.stride() and torch.equal(a, b)
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b)  # tells -0.0 from 0.0, and one nan equals another


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@given(state=states)
def test_any_state_comes_back_to_the_bit(folder, state):
    assert same(state, through_a_file(state, folder))


def test_an_optimiser_goes_on_from_its_file_as_if_never_stopped(tmp_path, rng):
    def made() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(0.1)
        return model, torch.optim.Adam(model.parameters(), lr=0.1, betas=(0.5, 0.9))

    def step(model: torch.nn.Module, optimiser: torch.optim.Optimizer, images: Tensor) -> None:
        optimiser.zero_grad()
        model(images).square().mean().backward()
        optimiser.step()

    batches = torch.randn(6, 2, 3, 8, 8, generator=rng)
    model, optimiser = made()
    for images in batches[:3]:
        step(model, optimiser, images)
    state = through_a_file({"model": model.state_dict(), "optimiser": optimiser.state_dict()}, tmp_path)
    assert same(dict(model.state_dict()), state["model"])
    resumed, its_optimiser = made()
    resumed.load_state_dict(state["model"])
    its_optimiser.load_state_dict(state["optimiser"])
    for images in batches[3:]:
        step(model, optimiser, images)
        step(resumed, its_optimiser, images)
    assert same(dict(model.state_dict()), dict(resumed.state_dict()))
    assert same(optimiser.state_dict(), its_optimiser.state_dict())


def test_one_memory_under_two_names_is_stored_once_and_stays_one(tmp_path):
    weight = torch.ones(3, 2)
    bits = weight.view(torch.int32)
    state = {"in": weight, "out": weight.detach(), "transposed": weight.T, "row": weight[0], "bits": bits}
    _, leaves = tensors.flatten(state)
    assert list(leaves) == ["/in", "/transposed", "/row", "/bits"]
    back = through_a_file(state, tmp_path)
    assert back["in"] is back["out"]
    assert same(state, back)


def test_a_key_with_a_slash_does_not_take_the_name_of_another_path(tmp_path):
    state = {"a": {"b": torch.zeros(1)}, "a/b": torch.ones(1), "a/b'": torch.full((1,), 2.0)}
    assert same(state, through_a_file(state, tmp_path))


def test_what_comes_back_is_independent_of_the_file(tmp_path):
    state = {"weight": torch.zeros(4)}
    back = through_a_file(state, tmp_path)
    back["weight"].add_(1)
    assert tensors.read(tmp_path / "state.safetensors")["/weight"].sum() == 0


def test_slices_and_repeats_come_back_as_their_values(tmp_path):
    state = {"gaps": torch.arange(10)[::3], "repeated": torch.ones(1, 2).expand(3, 2)}
    assert same(state, through_a_file(state, tmp_path))


def test_parameters_come_back_as_plain_tensors(tmp_path):
    back = through_a_file({"weight": torch.nn.Parameter(torch.ones(2))}, tmp_path)
    assert type(back["weight"]) is Tensor
    assert not back["weight"].requires_grad


@pytest.mark.parametrize("value", [{1, 2}, 1j, b"bytes", torch.Size([1]), torch.float32])
def test_a_value_that_would_not_come_back_is_refused_by_its_path(value):
    with pytest.raises(AssertionError, match="/a/1"):
        tensors.flatten({"a": [0, value]})


def test_keys_are_words_or_integers():
    with pytest.raises(AssertionError, match="/a: keys"):
        tensors.flatten({"a": {(1, 2): 3}})


def test_a_skeleton_with_other_tensors_is_refused():
    skeleton, leaves = tensors.flatten({"a": torch.ones(2), "b": torch.ones(3)})
    with pytest.raises(ValueError, match="/b"):
        tensors.rebuild(skeleton, {"/a": leaves["/a"]})
    with pytest.raises(ValueError, match="/c"):
        tensors.rebuild(skeleton, leaves | {"/c": torch.ones(1)})
    with pytest.raises(ValueError, match="unknown"):
        tensors.rebuild({"tree": {"pickle": "x"}, "strides": {}}, {})


def test_a_file_that_goes_away_while_it_is_opened_is_an_os_error(tmp_path, monkeypatch):
    tensors.write(tmp_path / "x", {"a": torch.ones(1)})

    def gone(*_: Any, **__: Any) -> None:
        raise RuntimeError("unable to open file in read-only mode: No such file or directory (2)")

    monkeypatch.setattr(torch.UntypedStorage, "from_file", gone)
    with pytest.raises(OSError, match="No such file"):
        tensors.read(tmp_path / "x")


def test_num_bytes_counts_what_each_type_takes():
    assert tensors.num_bytes([torch.ones(3), torch.ones(2, dtype=torch.bfloat16), torch.ones(0)]) == 16


class TestAFolderWithAState:
    STATE: ClassVar = {"state": {11: {"exp_avg": torch.ones(2)}, 13: {"exp_avg": torch.zeros(2)}}, "lr": 0.1}

    def saved(self, folder: Path) -> Path:
        tensors.save(folder, {"format": 1, "step": 7}, *tensors.flatten(self.STATE))
        return folder / "state.json"

    def test_gives_it_back_with_what_was_said_about_it(self, tmp_path):
        self.saved(tmp_path)
        about, state = tensors.load(tmp_path)
        assert about == {"format": 1, "step": 7}
        assert self.same(state)

    def test_never_gives_another_back_whatever_bit_is_flipped(self, tmp_path):
        path = self.saved(tmp_path)
        whole = path.read_bytes()
        refused = 0
        for place in range(8 * len(whole)):
            damaged = bytearray(whole)
            damaged[place // 8] ^= 1 << place % 8
            path.write_bytes(damaged)
            try:
                about, state = tensors.load(tmp_path)
            except (ValueError, KeyError, TypeError, AttributeError):
                refused += 1
            else:  # a space became another
                assert about == {"format": 1, "step": 7}
                assert self.same(state)
        assert refused > 7 * len(whole)

    def test_is_read_as_it_was_written_before_the_tree_had_a_checksum(self, tmp_path):
        path = self.saved(tmp_path)
        content = json.loads(path.read_bytes())
        del content["checksum"]
        path.write_text(json.dumps(content))
        assert self.same(tensors.load(tmp_path)[1])

    def same(self, state: Any) -> bool:
        skeleton, leaves = tensors.flatten(state)
        wanted_skeleton, wanted = tensors.flatten(self.STATE)
        return skeleton == wanted_skeleton and all(torch.equal(leaves[name], wanted[name]) for name in wanted)
