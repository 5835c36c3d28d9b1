"""A model is found by its folder or by its name, and knows what it is made of."""

from dataclasses import replace

import pytest
import torch

from tests.untrained import untrained
from unmask.errors import BundleError
from unmask.models import codec_from, locate, open_model, prior_from, vocabulary_from
from unmask.pipeline import Pipeline
from unmask.storage import bundles, hub


@pytest.fixture(autouse=True)
def somewhere(monkeypatch, tmp_path):
    """An empty folder to be in, and a hub that knows everything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "snapshot", lambda name: tmp_path / "snapshots" / name)
    return tmp_path


def test_a_folder_is_itself(somewhere):
    (somewhere / "ann/discs").mkdir(parents=True)
    assert str(locate("ann/discs")) == "ann/discs"


def test_a_name_is_looked_up_on_the_hub(somewhere):
    assert locate("ann/discs") == somewhere / "snapshots/ann/discs"


@pytest.mark.parametrize("path", ["discs", "./discs", "runs/prior/best", "/nowhere/discs", "../ann/discs"])
def test_what_can_only_be_a_path_is_not_looked_for_on_the_hub(path):
    assert str(locate(path)) == str(path).removeprefix("./")


def test_what_is_missing_in_a_folder_that_is_there_is_not_looked_for_on_the_hub(somewhere):
    (somewhere / "runs").mkdir()
    assert str(locate("runs/prior")) == "runs/prior"


@pytest.fixture
def run(somewhere):
    """The folder of a training that has kept no model yet."""
    folder = somewhere / "runs/discs"
    folder.mkdir(parents=True)
    for name in ("config.json", "log.jsonl"):
        (folder / name).touch()
    return folder


def test_a_misspelt_built_in_model_is_suggested(somewhere):
    with pytest.raises(BundleError, match="no model emojis") as refused:
        locate("emojis")
    assert "did you mean emoji" in str(refused.value)


def test_without_a_folder_of_that_name_the_built_in_models_are_named(somewhere):
    with pytest.raises(
        BundleError, match=r"nothing at nosuch\n  built in are avatars, emoji, fruit; or name a"
    ):
        open_model("nosuch")


def test_a_run_is_its_best_model(run):
    bundles.save(untrained(), run / "best")
    bundles.save(untrained("autoregressive"), run / "last")
    assert open_model(run).prior.fingerprint == untrained().prior.fingerprint
    assert open_model(run / "last").prior.fingerprint == untrained("autoregressive").prior.fingerprint


def test_a_run_without_a_best_model_says_what_there_is(run):
    with pytest.raises(BundleError, match=r"no runs/discs/best yet: .* at its first validation$"):
        open_model("runs/discs")
    bundles.save(untrained(), run / "last")
    with pytest.raises(BundleError, match="until then:  runs/discs/last"):
        open_model("runs/discs")


def test_a_model_knows_its_codec_by_the_fingerprint_that_codes_are_stamped_with():
    bundle = untrained()
    model = Pipeline(bundle, torch.device("cpu"))
    assert model.codec_fingerprint == bundle.codec.fingerprint
    assert model.fingerprint == f"{bundle.codec.fingerprint}-{bundle.prior.fingerprint}"


@pytest.mark.parametrize(("name", "network"), [("codec", codec_from), ("prior", prior_from)])
def test_a_configuration_that_wants_terabytes_is_refused_before_they_are_taken(name, network):
    part = untrained().parts[name]
    wide = replace(part, config=part.config | {"width": 1 << 20})
    with pytest.raises(BundleError, match=f"the {name}'s weights do not fit its configuration"):
        network(wide)


@pytest.mark.parametrize("grid", [None, 4, [4], ["4", "4"]])
def test_a_prior_that_does_not_say_its_grid_is_refused_in_a_sentence(grid):
    part = untrained().prior
    config = {key: value for key, value in part.config.items() if key != "grid"} | (
        {"grid": grid} if grid else {}
    )
    with pytest.raises(BundleError, match="does not say its codebook_size and its grid"):
        prior_from(replace(part, config=config))


@pytest.mark.parametrize("size", [None, "64", 0, -8, 10**9])
def test_a_model_that_does_not_say_its_size_is_refused(size):
    model = untrained()
    odd = replace(model, about=model.about | {"image_size": size})
    with pytest.raises(BundleError, match="image_size"):
        Pipeline(odd, torch.device("cpu"))


@pytest.mark.parametrize(("part", "setting"), [("prior", "depth"), ("codec", "blocks")])
def test_layers_without_weights_are_not_built(part, setting):
    whole = untrained().parts[part]
    with pytest.raises(BundleError, match="layers"):
        (prior_from if part == "prior" else codec_from)(
            replace(whole, config=whole.config | {setting: 10**12})
        )


def test_words_that_could_steer_a_terminal_are_spelt_out():
    prior = untrained().prior
    odd = replace(prior, config=prior.config | {"words": ["\x1b]0;owned\x07"], "caption_length": 1})
    assert all(word.isprintable() for word in vocabulary_from(odd).words)
    with pytest.raises(BundleError, match="vocabulary"):
        vocabulary_from(replace(prior, config=prior.config | {"words": [1], "caption_length": 1}))
