"""Names that the hub itself would refuse, and models of which its cache has a part."""

import json
from pathlib import Path

import huggingface_hub
import pytest

from unmask.errors import BundleError
from unmask.storage import hub


@pytest.mark.parametrize("name", ["run--1/best", "ann/birds.git", f"ann/{'a' * 97}"])
def test_a_name_that_nothing_on_the_hub_can_have_is_a_folder_that_is_not_there(name):
    assert hub.is_name(name)
    with pytest.raises(BundleError, match=f"{name}, .* hub"):
        hub.snapshot(name)


@pytest.mark.parametrize("missing", ["", "unmask.json", "codec.safetensors", "prior.safetensors"])
def test_a_cached_model_that_lacks_a_file_is_fetched_again(tmp_path, monkeypatch, missing):
    """Versions of huggingface_hub before 1.22 return what a download that was cut off left."""
    (tmp_path / "unmask.json").write_text(json.dumps({"parts": {"codec": {}, "prior": {}}}))
    for name in ("codec", "prior"):
        (tmp_path / f"{name}.safetensors").touch()
    if missing:
        (tmp_path / missing).unlink()
    fetched = Path("fetched")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    monkeypatch.setattr(hub, "_download", lambda name: fetched)
    assert hub.snapshot("ann/discs") == (fetched if missing else tmp_path)
