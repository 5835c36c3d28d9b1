"""A reference measures what it is asked for; temperatures that make samples alike are seen to."""

import numpy as np
import pytest
import torch

from tests.untrained import SMALL_CODEC
from unmask.codec.autoencoder import Autoencoder
from unmask.data.pixels import PixelSet
from unmask.evaluation import compare
from unmask.evaluation.compare import Reference, reconstructed
from unmask.evaluation.config import COLUMNS
from unmask.evaluation.diversity import kind_perplexity, kinds_of
from unmask.evaluation.features import Extractor
from unmask.evaluation.protocol import Protocol, caution
from unmask.rng import generator


@pytest.fixture(scope="module")
def codec():
    return Autoencoder(SMALL_CODEC, generator(0)).eval().requires_grad_(False)


@pytest.fixture
def reference(codec, tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    means = Extractor("means", lambda images: images.float().unfold(2, 4, 4).mean((3, 4)).flatten(1))
    return Reference(colours(90), codec, means, replicates=4)


def colours(count, first=0, spread=255):
    """Flat pictures, each of its own colour."""
    values = np.random.default_rng(first).integers(0, spread, (count, 1, 1, 3))
    pictures = np.broadcast_to(values, (count, 8, 8, 3)).astype(np.uint8)
    names = [f"{first}-{number}-{spread}" for number in range(count)]
    return PixelSet(names, np.arange(count), lambda rows: pictures[rows], names)


def test_every_metric_gives_its_figures(reference):
    for metric, names in COLUMNS.items():
        assert tuple(reference.measure(metric, colours(30, first=1), 30)) == names


def test_what_the_real_pictures_alone_decide_is_computed_once(reference, monkeypatch):
    made = []

    def counted(name):
        make = getattr(compare, name)
        return lambda *arguments: made.append(name) or make(*arguments)

    for name in ("moments_of", "pairs_of", "balls_of", "kinds_of"):
        monkeypatch.setattr(compare, name, counted(name))
    for first in (1, 2):
        for metric in COLUMNS:
            reference.measure(metric, colours(30, first), 30)
    assert made == ["moments_of", "pairs_of", "balls_of", "kinds_of"]


def test_only_the_first_so_many_pictures_count(reference):
    whole = colours(30, first=1)
    few = PixelSet(whole.names[:20], np.arange(20), whole.read, whole.names[:20])
    assert reference.measure("kid", whole, 20) == reference.measure("kid", few, 20)


def test_samples_that_are_alike_have_few_kinds_and_codes(reference):
    """Colours as varied as the real ones, against dark ones only."""
    varied, alike = (reference.measure("diversity", colours(60, 2, spread), 60) for spread in (255, 40))
    assert alike["kind_perplexity"].value < varied["kind_perplexity"].value / 2
    assert alike["code_perplexity"].value < varied["code_perplexity"].value
    real = reference.diversity(60)
    assert varied["kind_perplexity"].value == pytest.approx(real["kind_perplexity"].value, rel=0.35)


def test_kinds_are_told_apart(rng):
    real = torch.cat([torch.randn(50, 4, generator=rng), 100 + torch.randn(50, 4, generator=rng)])
    kinds = kinds_of(real)
    assert not set(kinds[:50].tolist()) & set(kinds[50:].tolist())
    assert kind_perplexity(torch.tensor([0, 1]), torch.tensor([[0.0], [9.0]]), torch.ones(4, 1)) == 1


def test_reconstructions_are_pictures_like_any_others(codec):
    originals = colours(5)
    copies = reconstructed(codec, "a codec", originals)
    images = torch.from_numpy(originals.read([3, 1])).permute(0, 3, 1, 2) / 255
    wanted = codec.decode(codec.encode(images)).mul(255).round().byte().permute(0, 2, 3, 1)
    assert np.array_equal(copies.read([3, 1]), wanted.numpy())
    assert copies.names == originals.names
    assert copies.fingerprint != reconstructed(codec, "another", originals).fingerprint


def test_a_protocol_says_what_was_compared_and_few_pictures_are_cautioned_of():
    protocol = Protocol(
        what="samples",
        pictures=1000,
        reference="photos",
        split="train",
        reference_pictures=5000,
        size_px=64,
        features="inception",
    )
    assert "1,000 samples against 5,000 images of photos (train split), 64×64" in str(protocol)
    assert "compares only with metrics of the same counts" in caution(9999)
    assert caution(10_000) is None
