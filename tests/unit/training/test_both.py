"""Both stages by one call: a plan first, then whatever is missing."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.errors import RunError
from unmask.models import is_model, open_model
from unmask.training import both
from unmask.training.both import Plan, train_both
from unmask.training.runs import Run


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A training of a few steps."""
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(both, "LEAST", 3)
    pictures = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8)
    np.save(tmp_path / "photos.npy", pictures)
    return Plan(data=str(tmp_path / "photos.npy"), preset="tiny", hours=1e-9, engine={"threads": 1})


@pytest.mark.slow
def test_it_goes_on_where_it_was_stopped_and_is_a_model(asked, tmp_path, monkeypatch, capsys):
    out = tmp_path / "mine"
    with monkeypatch.context() as patch:
        patch.setattr(both, "train_prior", lambda *given, **more: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train_both(out, asked)
    assert "plan: codec 3 steps, about" in capsys.readouterr().err
    codec = open_model(out)
    assert codec.prior is None
    monkeypatch.setattr(both, "train_codec", lambda *given, **more: 1 / 0)  # it is done
    run = train_both(out, asked)
    assert (run.folder, run.last_step(), run.stopped_by) == (out / "prior", 3, 0)
    assert is_model(str(out))
    model = open_model(out)
    assert model.prior is not None
    assert model.codec.fingerprint == codec.codec.fingerprint
    monkeypatch.setattr(both, "train_prior", lambda *given, **more: 1 / 0)
    assert train_both(out, asked).folder == out / "prior"  # all is done
    with pytest.raises(RunError, match="holds a training with another hours\n  name another"):
        train_both(out, Plan(data=asked.data, preset="tiny", hours=1, engine={"threads": 1}))


@pytest.mark.slow
def test_a_codec_that_is_given_is_used_as_it_is(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(both, "_first_steps", lambda asked: ({"prior": 2}, {"prior": 0.1}))
    out = tmp_path / "mine"
    train_both(out, Plan(data=asked.data, codec="emoji", preset="tiny", engine={"threads": 1}))
    assert not Run.is_at(out / "codec")
    assert open_model(out).codec.fingerprint == open_model("emoji").codec.fingerprint


def test_hours_are_shared_by_the_stages_that_are_trained(asked, monkeypatch):
    measured = {"codec": 7, "prior": 9}, {"codec": 0.5, "prior": 0.25}
    monkeypatch.setattr(both, "_first_steps", lambda asked: measured)
    assert both._measured(Plan(data="", hours=None)).steps == {"codec": 7, "prior": 9}
    plan = both._measured(Plan(data="", hours=2))
    times = {stage: plan.steps[stage] * pace for stage, pace in plan.paces.items()}
    assert sum(times.values()) == pytest.approx(7200 * both.USABLE, rel=1e-3)
    assert times["prior"] / times["codec"] == pytest.approx(1.5, rel=1e-3)
    monkeypatch.setattr(both, "_first_steps", lambda asked: ({"prior": 9}, {"prior": 0.25}))
    assert both._measured(Plan(data="", hours=1, codec="emoji")).steps == {"prior": int(14400 * both.USABLE)}


def test_a_short_stage_is_validated_four_times_and_saved_often_and_a_long_one_as_its_preset_says():
    plan = Plan(data="", steps={"codec": 50, "prior": 9000})
    assert both._changes(plan, "codec")["loop"] == {"steps": 50, "validate_every": 13, "save_every": 3}
    assert both._changes(plan, "prior")["loop"] == {"steps": 9000, "save_every": 100}


def test_a_size_is_the_codecs_and_hours_leave_time_for_few_random_crops():
    plan = Plan(data="", size=128, steps={"codec": 50, "prior": 50})
    assert [both._changes(plan, stage)["images"] for stage in ("codec", "prior")] == [{"size": 128}, {}]
    assert both._changes(replace(plan, hours=1), "prior")["images"] == {"crops": 2}


def test_a_plan_says_what_is_wrong_with_it():
    plan = Plan(data="", hours=0.25, steps={"codec": 50, "prior": 50}, paces={"codec": 9.0, "prior": 9.5})
    longer, few = both._cautions(plan)
    assert "longer than 15.0 min" in longer
    assert "--init emoji" in few
    assert list(both._cautions(replace(plan, hours=1, init="emoji"))) == []
    assert list(both._cautions(replace(plan, hours=None, steps={"codec": 2500, "prior": 6000}))) == []
    assert list(both._cautions(replace(plan, hours=1, codec="emoji", steps={"prior": 50}))) == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        '{"data": "emoji", "colour": 5}',
        '{"data": "emoji", "hours": [2]}',
        '{"data": "emoji", "steps": {"codec": "all"}}',
        '{"data": "emoji", "steps": {"codec": 3}, "paces": {"codec": 1}}',
        "\0",
    ],
)
def test_a_damaged_plan_is_one_sentence(asked, tmp_path, text):
    (tmp_path / both.PLAN).write_text(text)
    with pytest.raises(RunError, match="is damaged"):
        train_both(tmp_path, asked)
