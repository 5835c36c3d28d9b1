"""A bundle of every released format loads, and its networks say what they said then.

bundles/format-N was written by the first release of that format and is never written again.
"""

from pathlib import Path

import pytest
import torch

import unmask
from unmask.errors import BundleError
from unmask.storage import bundles as bundle

BUNDLES = Path(__file__).with_name("bundles")
FINGERPRINTS = dict.fromkeys((1, 2), "c6b856a51b7af014-aaf475303d88161d")
SAMPLING = {1: {}, 2: {"recommended": {"sample": {"steps": 4, "temperature": [1.0, 0.5]}}}}
CODES = [0, 6, 7, 0, 6, 2, 7, 3, 6, 5, 5, 6, 7, 6, 6, 3]
LOGITS = [1.1798, 0.5621, 0.5212, 0.7694, -0.0830, 0.0308, 0.4931, -0.3143]
MEAN, SPREAD = 0.4901, 0.2317


def test_there_is_a_bundle_of_every_format_and_a_way_up_from_every_older_one():
    assert {path.name for path in BUNDLES.iterdir()} == {f"format-{n}" for n in range(1, bundle.FORMAT + 1)}
    assert FINGERPRINTS.keys() == set(range(1, bundle.FORMAT + 1))
    assert bundle.UPGRADES.keys() == set(range(1, bundle.FORMAT))


@pytest.mark.parametrize("number", FINGERPRINTS)
def test_a_bundle_of_each_format_says_what_it_always_said(number):
    model = unmask.load(BUNDLES / f"format-{number}", "cpu", precision="32")
    assert model.fingerprint == FINGERPRINTS[number]
    assert model.sampling == SAMPLING[number]
    images = torch.linspace(0, 1, 3 * 8 * 8).reshape(1, 3, 8, 8)
    assert model.codec.encode(images).flatten().tolist() == CODES
    pictures = model.codec.decode(torch.arange(16).reshape(1, 4, 4) % 8)
    assert (pictures.mean().item(), pictures.std().item()) == pytest.approx((MEAN, SPREAD), abs=1e-3)
    fifth = torch.arange(16)[None] == 5
    assert model.prior(torch.full((1, 16), 8), fifth)[0].tolist() == pytest.approx(LOGITS, abs=1e-3)


def test_a_bundle_goes_up_format_by_format(monkeypatch):
    """With two formats to come, the first is brought to the last by both upgrades in turn."""

    def rename(manifest):
        """Format 2 calls its parts networks."""
        return {"format": 2, "networks": manifest["parts"], "sampling": {}, "about": manifest["about"]}

    def back(manifest):
        """Format 3 thinks better of it."""
        about = manifest["about"] | {"seen": 2}
        return {"format": 3, "parts": manifest["networks"], "sampling": manifest["sampling"], "about": about}

    monkeypatch.setattr(bundle, "FORMAT", 3)
    monkeypatch.setattr(bundle, "UPGRADES", {1: rename, 2: back})
    model = bundle.load(BUNDLES / "format-1")
    assert model.about["seen"] == 2
    assert model.codec.fingerprint == FINGERPRINTS[1].partition("-")[0]


def test_a_format_from_the_future_is_refused(monkeypatch):
    monkeypatch.setattr(bundle, "FORMAT", 0)
    with pytest.raises(BundleError, match="reads up to 0"):
        bundle.load(BUNDLES / "format-1")
