"""What an evaluation prints is whole, and says what to beware of."""

import sys
from types import SimpleNamespace

import pytest

from unmask.cli.evaluate import _show
from unmask.diffusion.settings import Settings
from unmask.evaluation.estimate import Estimate
from unmask.evaluation.features import pixel_features
from unmask.evaluation.protocol import Protocol
from unmask.evaluation.results import Results
from unmask.sweeps import evaluate

PROTOCOL = Protocol(
    what="samples",
    pictures=100,
    reference="photos",
    split="train",
    reference_pictures=500,
    size_px=64,
    features="inception",
)


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path / "out", "a model", PROTOCOL, {})
    for steps, fid in ((16, 20.123), (None, 10.0)):
        figures = {"fid": Estimate(fid, 0.61), "kid": Estimate(0.01, float("nan"))}
        results.add(Settings(steps=steps), figures)
    return results


def test_the_table_is_whole_on_any_terminal_and_cautions(results, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    _show(results, ["fid", "kid", "recall"])
    said = capsys.readouterr().out
    assert "20.12 ± 0.61" in said
    assert "0.01" in said
    assert "–" in said  # recall was not measured
    assert " all " in said
    assert "100 samples against 500 images of photos (train split)" in said
    assert "caution: FID over 100 images" in said
    assert f"plot: {results.folder / 'results.png'}" in said
    _show(results, ["kid"])
    assert "caution" not in capsys.readouterr().out


def test_without_matplotlib_there_is_a_sentence_and_no_plot(results, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    _show(results, ["fid"])
    said = capsys.readouterr().out
    assert "matplotlib is not installed:  pip install 'unmask[plot]'" in said
    assert "plot: " not in said
    assert not (results.folder / "results.png").exists()


def test_how_much_there_is_to_do_is_said_beforehand(monkeypatch):
    """A trial of eight passes over a batch takes 8 s, and one of looking at eight pictures too."""
    monkeypatch.setattr(evaluate, "took", lambda work: 8.0 if work() is not None else None)
    asked = []
    model = SimpleNamespace(
        prior=SimpleNamespace(num_positions=64, causal=False),
        image_size=16,
        sample=lambda count, settings, batch, guide: asked.append((count, settings.steps, batch)) or asked,
    )
    new = [Settings(steps=16), Settings()]
    said = evaluate.effort(model, new, 32, 16, 100, pixel_features())
    assert asked == [(16, 8, 16)]
    # (16 + 64) passes × 2 batches + 100 real pictures + 2 × 32 samples, a second each
    assert said == (
        "at most 32 samples × 64 passes for each of 2 settings, and 164 images to look at: about 5.4 min"
    )
