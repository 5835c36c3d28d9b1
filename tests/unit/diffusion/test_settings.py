import pytest
import tyro

from unmask.diffusion.settings import CanvasConfig, EditConfig, SamplingConfig
from unmask.errors import ConfigError


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"steps": 0}, "steps 0 would reveal nothing"),
        ({"temperature": -0.1}, "temperature -0.1 is negative"),
        ({"temperature": (1.0, -1.0)}, "temperature -1.0 is negative"),
        ({"temperature": float("nan")}, "not a finite number"),
        ({"top_k": 0}, "top-k 0 leaves no code"),
        ({"top_p": 0.0}, "top-p 0.0 is not in"),
        ({"top_p": 1.5}, "top-p 1.5 is not in"),
        ({"schedule": "cosin"}, "there is no schedule 'cosin'\n  one of even, cosine, arccos, optimal"),
        ({"order": "spiral"}, "there is no order 'spiral'"),
        ({"gamma": -1.0}, "gamma -1.0 must be at least 0"),
        ({"gamma": float("nan")}, "gamma nan must be at least 0"),
        ({"choice_temperature": float("nan")}, "choice-temperature nan must be at least 0"),
        ({"choice_temperature": -1.0}, "choice-temperature -1.0 must be at least 0"),
        ({"remask": 1.5}, "must be in"),
        ({"remask_cap": -0.1}, "must be in"),
        ({"order": "entropy", "steps": 8}, "sets its own pace"),
        ({"order": "entropy", "schedule": "cosine"}, "sets its own pace"),
        ({"order": "entropy", "remask": 0.1}, "sets its own pace"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        SamplingConfig(**settings)


@pytest.mark.parametrize(
    "settings", [{"steps": 8}, {"schedule": "cosine"}, {"order": "halton"}, {"remask": 0.1}]
)
def test_an_autoregressive_prior_refuses_what_it_cannot_do(settings):
    with pytest.raises(ConfigError, match="code after code"):
        SamplingConfig(**settings).check_autoregressive()
    SamplingConfig(temperature=0.5, top_k=3, top_p=0.9).check_autoregressive()


@pytest.mark.parametrize("kind", [CanvasConfig, EditConfig])
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [({"steps": 0}, "steps 0 would reveal nothing"), ({"temperature": (1.0, -1.0)}, "temperature -1.0")],
)
def test_canvases_and_edits_refuse_what_draws_no_code(kind, settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        kind(**settings)


def test_an_edit_makes_at_least_one_version():
    with pytest.raises(ConfigError, match="0 pictures cannot be drawn"):
        EditConfig(count=0)


@pytest.mark.parametrize("kind", [SamplingConfig, CanvasConfig, EditConfig])
def test_steps_and_temperatures_are_typed_in_the_same_way_everywhere(kind):
    for words, steps in (("all", None), ("None", None), ("12", 12)):
        assert tyro.cli(kind, args=["--steps", words]).steps == steps
    assert tyro.cli(kind, args=["--temperature", "1", "0.5"]).temperature == (1.0, 0.5)
    with pytest.raises(SystemExit):
        tyro.cli(kind, args=["--steps", "many"], console_outputs=False)
