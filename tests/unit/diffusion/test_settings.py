from dataclasses import asdict

import pytest

from unmask.diffusion.choose import choose
from unmask.diffusion.settings import SETTINGS, Settings
from unmask.errors import ConfigError

OWN = {
    "recommended": {"sample": {"steps": 8, "remask": 1}, "canvas": {"steps": 4}},
    "fast": {"sample": {"steps": 2}},
}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"steps": 0}, "steps 0 should be from 1 to 65536"),
        ({"steps": "8"}, "steps is '8', but should be int"),
        ({"temperature": -0.1}, "temperature -0.1 should be at least 0"),
        ({"temperature": (1.0, -1.0)}, "temperature -1.0 should be at least 0"),
        ({"temperature": (1.0, 0.9, 0.8)}, "temperature is"),
        ({"temperature": float("nan")}, "temperature nan should be"),
        ({"temperature": float("inf")}, "temperature inf should be"),
        ({"top_k": 0}, "top-k 0 should be at least 1"),
        ({"top_p": 0.0}, "top-p 0.0 should be from 0.01 to 1"),
        ({"top_p": 1.5}, "top-p 1.5 should be from 0.01 to 1"),
        ({"schedule": "cosin"}, "there is no schedule 'cosin'\n  one of even, cosine, arccos, optimal"),
        ({"order": "spiral"}, "there is no order 'spiral'"),
        ({"gamma": -1.0}, "gamma -1.0"),
        ({"gamma": float("nan")}, "gamma nan"),
        ({"choice_temperature": -1.0}, "choice-temperature -1.0"),
        ({"remask": 1.5}, "remask 1.5 should be from 0 to 1"),
        ({"remask_cap": -0.1}, "remask-cap -0.1"),
        ({"stride": 0}, "stride 0 should be at least 1"),
        ({"windows": 0}, "windows 0 should be at least 1"),
        ({"order": "entropy", "steps": 8}, "sets its own pace"),
        ({"order": "entropy", "schedule": "cosine"}, "sets its own pace"),
        ({"order": "entropy", "remask": 0.1}, "sets its own pace"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Settings(**settings)


def test_values_have_one_form_however_they_were_given():
    assert Settings(temperature=[1, 0.5], remask=1) == Settings(temperature=(1.0, 0.5), remask=1.0)
    assert Settings(**Settings(temperature=(1.0, 0.5)).of("edit")) == Settings(temperature=(1.0, 0.5))


@pytest.mark.parametrize(
    "settings", [{"steps": 8}, {"schedule": "cosine"}, {"order": "halton"}, {"remask": 0.1}, {"gamma": 1}]
)
def test_an_autoregressive_prior_refuses_what_it_cannot_do(settings):
    with pytest.raises(ConfigError, match="code after code"):
        Settings(**settings).check_autoregressive()
    Settings(temperature=0.5, top_k=3, top_p=0.9).check_autoregressive()


@pytest.mark.parametrize("name", SETTINGS)
def test_a_default_is_read_back_from_how_it_is_typed(name):
    setting = SETTINGS[name]
    words = "all" if setting.default is None else str(setting.default)
    assert setting.read([words]) == setting.default
    assert setting.checked(setting.default) == setting.default


def test_what_is_typed_is_a_number_a_pair_or_all():
    assert SETTINGS["steps"].read(["12"]) == 12
    assert SETTINGS["temperature"].read(["1", "0.5"]) == (1.0, 0.5)
    with pytest.raises(ConfigError, match="'many' is no value of steps"):
        SETTINGS["steps"].read(["many"])
    with pytest.raises(ConfigError, match="stride is None"):
        SETTINGS["stride"].read(["all"])


def test_a_model_is_sampled_as_it_recommends_and_changes_go_over_that():
    assert choose("sample", OWN, None, {}) == Settings(steps=8, remask=1.0)
    assert choose("sample", OWN, None, {"steps": None}) == Settings(remask=1.0)
    assert choose("canvas", OWN, "recommended", {}) == Settings(steps=4, care="balanced")
    assert choose("canvas", OWN, None, {"care": "exact"}) == Settings(steps=4)
    assert choose("sample", OWN, "fast", {"temperature": 0.5}) == Settings(steps=2, temperature=0.5)
    assert choose("edit", OWN, Settings(steps=3), {"stride": 2}) == Settings(steps=3, stride=2)


def test_what_a_model_recommends_gives_way_to_an_order_that_has_no_use_for_it():
    own = choose("sample", OWN, None, {"order": "entropy", "temperature": 0.5})
    assert own == Settings(order="entropy", temperature=0.5)
    with pytest.raises(ConfigError, match="sets its own pace"):
        choose("sample", OWN, None, {"order": "entropy", "steps": 8})


def test_a_number_of_steps_brings_the_settings_that_were_tuned_for_the_nearest():
    budgets = [{"steps": 8, "temperature": 0.7}, {"steps": 64, "temperature": 0.9}]
    own = {"recommended": OWN["recommended"] | {"budgets": budgets}}
    assert choose("sample", own, None, {}) == Settings(steps=8, remask=1.0)
    assert choose("sample", own, None, {"steps": 64}) == Settings(steps=64, temperature=0.9)
    # √(8·64) = 22.6
    assert choose("sample", own, None, {"steps": 22}) == Settings(steps=22, temperature=0.7)
    assert choose("sample", own, None, {"steps": 23}) == Settings(steps=23, temperature=0.9)
    assert choose("sample", own, None, {"steps": 8, "temperature": 1.0}) == Settings(steps=8)
    assert choose("sample", own, None, {"steps": None}) == Settings(remask=1.0)
    assert choose("canvas", own, None, {"steps": 64}) == Settings(steps=64, care="balanced")
    assert choose("sample", own, "paper", {"steps": 64}) == Settings(steps=64)
    with pytest.raises(ConfigError, match="steps -1 should be from 1 to 65536"):
        choose("sample", own, None, {"steps": -1})


@pytest.mark.parametrize("sampling", [OWN, {}])
def test_the_papers_chain_is_there_for_every_model(sampling):
    assert choose("sample", sampling, "paper", {}) == choose("edit", sampling, "paper", {}) == Settings()
    assert choose("canvas", sampling, "paper", {}) == Settings(temperature=0.8)


def test_a_model_that_recommends_nothing_is_sampled_as_in_the_paper_but_for_care():
    for use in ("sample", "canvas", "edit"):
        care = {} if use == "sample" else {"care": "balanced"}
        assert choose(use, {}, None, {}) == choose(use, {}, "paper", care)


def test_names_that_do_not_exist_are_refused_with_those_that_do():
    with pytest.raises(ConfigError, match=r"there is no setting 'temprature'\n  did you mean temperature\?"):
        choose("sample", OWN, None, {"temprature": 0.9})
    with pytest.raises(
        ConfigError, match="the model has no settings 'best'\n  it has recommended, fast, paper"
    ):
        choose("sample", OWN, "best", {})


def test_a_setting_says_all_that_a_form_wants():
    for setting in SETTINGS.values():
        assert setting.label
        assert setting.help.endswith(".")
        assert (setting.choices is not None) == (setting.kind == "choice")
        if setting.kind != "choice":
            assert setting.minimum is not None
            assert setting.maximum or setting.usual or setting.name == "steps"
    assert {name: setting.default for name, setting in SETTINGS.items()} == asdict(Settings())
