"""What a prior is told, and what a pass costs for it."""

import pytest
import torch

from tests.untrained import K, untrained
from unmask.errors import ConfigError
from unmask.pipeline import Pipeline

WORDS = ("dark", "red")


def pipeline(kind="absorbing"):
    return Pipeline(untrained(kind, words=WORDS), torch.device("cpu"))


def test_an_absorbing_prior_is_told_how_captions_begin_and_an_autoregressive_one_whole_captions():
    end, red = K + 1, K + 3
    assert pipeline().words.ids("red").tolist() == [red, K, K, K]
    assert pipeline("autoregressive").words.ids("red").tolist() == [red, end, end, end]
    assert pipeline("autoregressive").words.ids(" ").tolist() == [K] * 4  # as it learns to draw untold


@pytest.mark.parametrize(
    ("prompt", "negative", "rows"), [("", "", 1), ("red", "", 2), ("", "dark", 2), (["", "red"], "", 2)]
)
def test_guidance_doubles_the_rows_only_where_something_is_told(prompt, negative, rows, monkeypatch):
    model, seen = pipeline(), []
    forward = model.prior.forward
    monkeypatch.setattr(
        model.prior, "forward", lambda codes, *rest: (seen.append(len(codes)), forward(codes, *rest))[1]
    )
    model.sample(2, prompt, negative=negative, guidance=3.0, steps=4, settings="paper")
    assert max(seen) == 2 * rows


def test_a_guide_that_would_have_no_effect_is_refused():
    with pytest.raises(ConfigError, match="at guidance 1"):
        pipeline().sample(1, guide=pipeline(), guidance=1.0)


def test_an_autoregressive_guide_is_refused():
    with pytest.raises(ConfigError, match="cannot guide an absorbing one"):
        pipeline().sample(1, guide=pipeline("autoregressive"), guidance=2.0)
