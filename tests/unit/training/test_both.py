"""Both stages by one call: a plan first, then whatever is missing."""

import signal
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from unmask.cli.train import main
from unmask.errors import RunError
from unmask.models import is_model, open_model
from unmask.training import both
from unmask.training.both import Plan, train_both
from unmask.training.loop import Stop
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
    shown = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert ["plan", "about"] in shown
    assert [line[:3] for line in shown if line[0] in ("codec", "prior")] == [
        ["codec", "3", "steps"],
        ["prior", "3", "steps"],
    ]
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
def test_a_training_that_was_stopped_within_a_stage_goes_on_by_the_same_command(
    asked, tmp_path, monkeypatch, capsys
):
    """Ctrl-C in the codec's training: the way on is not that of the codec alone."""

    @contextmanager
    def interrupted():
        stop = Stop()
        stop.ask(signal.SIGINT, None)
        yield stop

    argv = [asked.data, "--out", str(tmp_path / "mine"), "--preset", "tiny", "--hours", "1e-9", "--no-page"]
    with monkeypatch.context() as patch:
        patch.setattr("unmask.training.loop.stop_signal", interrupted)
        with pytest.raises(SystemExit) as left:
            main(argv)
    assert left.value.code == 128 + signal.SIGINT
    assert capsys.readouterr().err.endswith(f"stopped and saved. Go on:  unmask train {' '.join(argv)}\n")
    assert Run.open(tmp_path / "mine/codec").last_step() == 1
    main(argv)
    assert [Run.open(tmp_path / "mine" / stage).last_step() for stage in ("codec", "prior")] == [3, 3]


@pytest.mark.slow
def test_a_codec_that_is_given_is_used_as_it_is(asked, tmp_path, monkeypatch):
    short = {"steps": {"prior": 2}, "paces": {"prior": 0.1}}
    monkeypatch.setattr(both, "_planned", lambda asked: replace(asked, **short))
    out = tmp_path / "mine"
    train_both(out, Plan(data=asked.data, codec="emoji", preset="tiny", engine={"threads": 1}))
    assert not Run.is_at(out / "codec")
    assert open_model(out).codec.fingerprint == open_model("emoji").codec.fingerprint


PACES, LOOKS = {"codec": 0.5, "prior": 0.25}, {"codec": 60.0, "prior": 20.0}
OTHERS = {"reading": 100.0, "codes": 400.0, "page": 90.0}


@pytest.mark.parametrize("hours", [0.5, 24])
def test_hours_are_enough_for_all_that_a_plan_holds(monkeypatch, hours):
    """Steps, few validations or many, and what is no training: the table adds up to them."""
    monkeypatch.setattr(both, "_measured", lambda asked: (PACES, LOOKS, dict(OTHERS)))
    plan = both._planned(Plan(data="", hours=hours))
    assert plan.seconds == pytest.approx(3600 * hours * both.USABLE, rel=0.01)
    rows = {name or much: seconds for name, much, seconds in plan.rows}
    assert rows.items() > OTHERS.items()
    assert ("4 validations" in rows) == (hours < 1)


@pytest.mark.parametrize("minutes", range(20, 200, 10))
def test_no_plan_is_longer_than_its_hours(monkeypatch, minutes):
    """Nor much shorter where the validations of a preset begin, which are more."""
    monkeypatch.setattr(both, "_measured", lambda asked: (PACES, LOOKS, {}))
    plan = both._planned(Plan(data="", hours=minutes / 60))
    assert 0.75 < plan.seconds / (60 * minutes * both.USABLE) <= 1.0001


def test_without_hours_a_plan_has_the_presets_steps_and_a_given_codec_none(monkeypatch):
    monkeypatch.setattr(both, "_measured", lambda asked: (PACES, LOOKS, {}))
    plan = both._planned(Plan(data="", preset="tiny"))
    assert plan.steps == {"codec": 300, "prior": 150}
    assert plan.seconds == pytest.approx(300 * 0.5 + 3 * 60 + 150 * 0.25 + 3 * 20, abs=0.1)
    monkeypatch.setattr(both, "_measured", lambda asked: ({"prior": 0.25}, {"prior": 20.0}, {}))
    steps = both._planned(Plan(data="", hours=1, codec="emoji")).steps
    assert steps == {"prior": pytest.approx((3600 * both.USABLE - 25 * 20) / 0.25, rel=0.01)}


def test_all_that_a_training_does_is_measured(asked):
    """Crops are encoded one by one, and mirrored."""
    paces, looks, others = both._measured(asked)
    assert paces.keys() == looks.keys() == {"codec", "prior"}
    assert others.keys() == {"reading", "codes", "page"}
    assert all(seconds > 0 for each in (paces, looks, others) for seconds in each.values())
    assert "page" not in both._measured(replace(asked, page=False))[2]


def test_a_short_stage_is_validated_four_times_and_saved_often_and_a_long_one_as_its_preset_says():
    plan = Plan(data="", steps={"codec": 50, "prior": 9000})
    assert both._changes(plan, "codec")["loop"] == {"steps": 50, "validate_every": 13, "save_every": 3}
    assert both._changes(plan, "prior")["loop"] == {"steps": 9000, "validate_every": 500, "save_every": 100}


def test_a_size_is_the_codecs_and_hours_leave_time_for_few_random_crops():
    plan = Plan(data="", size=128, steps={"codec": 50, "prior": 50})
    assert [both._changes(plan, stage)["images"] for stage in ("codec", "prior")] == [{"size": 128}, {}]
    assert both._changes(replace(plan, hours=1), "prior")["images"] == {"crops": 2}


def test_random_crops_are_those_of_both_stages(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(both, "train_both", lambda out, asked: seen.append(asked) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["photos", "--images.crop", "random", "--images.scale", "1", "4", "--size", "32"])
    crops = {"crop": "random", "scale": [1.0, 4.0]}
    plan = replace(seen[0], steps={"codec": 50, "prior": 50})
    assert both._changes(plan, "codec")["images"] == crops | {"size": 32}
    assert both._changes(plan, "prior")["images"] == crops


def test_a_plan_says_what_is_wrong_with_it():
    plan = Plan(data="", hours=0.25, steps={"codec": 50, "prior": 50}, paces={"codec": 9.0, "prior": 9.5})
    longer, few = both._cautions(plan)
    assert "longer than 15.0 min" in longer
    assert "--init emoji" in few
    assert list(both._cautions(replace(plan, hours=1, init="emoji"))) == []
    assert list(both._cautions(replace(plan, hours=None, steps={"codec": 2500, "prior": 6000}))) == []
    assert list(both._cautions(replace(plan, hours=1, codec="emoji", steps={"prior": 50}))) == []


@pytest.mark.parametrize("place", ["file", "file/below", "/dev/null"])
def test_a_place_that_cannot_be_a_folder_is_one_sentence(asked, tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot hold a run: \S+: Not a directory\n  name another:  --out"):
        train_both(tmp_path / place, asked)


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
