"""A card says what the model is and how to use it, and the hub can read its header."""

import torch
import yaml

from unmask.storage.bundles import Bundle, Part
from unmask.storage.cards import write_card

CODEC = Part(
    {"multipliers": [1, 2, 4], "quantizer": {"codebook_size": 1024}}, {"weight": torch.zeros(1_500_000)}
)
PRIOR = Part({"kind": "absorbing", "depth": 8}, {"weight": torch.zeros(700_000)})
ABOUT = {
    "image_size": 64,
    "data": "/home/ann/photos/birds",
    "codec_step": 12_000,
    "prior_validation": {"bits": 6.01234},
}


def parts(card: str) -> tuple[dict, str]:
    _, header, body = card.split("---\n", 2)
    return yaml.safe_load(header), body


def test_a_whole_model_is_found_among_those_that_make_pictures():
    header, body = parts(write_card(Bundle(CODEC, PRIOR, ABOUT), "ann/birds", "cc0-1.0", picture=True))
    assert header["library_name"] == "unmask"
    assert header["license"] == "cc0-1.0"
    assert header["pipeline_tag"] == "unconditional-image-generation"
    assert "absorbing-diffusion" in header["tags"]
    assert "# birds\n" in body
    assert "![Samples](samples.png)" in body
    assert 'unmask.load("ann/birds")\nmodel.sample(' in body


def test_it_says_sizes_data_and_figures_but_no_folders_of_its_maker():
    _, body = parts(write_card(Bundle(CODEC, PRIOR, ABOUT), "ann/birds", "cc0-1.0", picture=False))
    assert "64×64 pixels into 16×16 codes of 1,024 and back (1.5M parameters)" in body
    assert "An absorbing prior over these codes, a Transformer of 8 layers (0.7M parameters)" in body
    assert "| prior, bits, on the validation split | 6.012 |" in body
    assert "| codec, steps trained | 12,000 |" in body
    assert f"`{PRIOR.fingerprint}`" in body
    assert "Trained on `birds`" in body
    assert "/home" not in body
    assert "![" not in body


def test_a_prior_on_other_pictures_than_its_codec_says_so():
    about = ABOUT | {"prior_data": "/home/ann/owls"}
    _, body = parts(write_card(Bundle(CODEC, PRIOR, about), "ann/owls", "cc0-1.0", picture=False))
    assert "The codec was trained on `birds`. The prior was trained on `owls`." in body


def test_a_codec_alone_does_not_promise_samples():
    header, body = parts(
        write_card(Bundle(CODEC, None, {"image_size": 64}), "ann/birds", "mit", picture=False)
    )
    assert "pipeline_tag" not in header
    assert "model.reconstruct(" in body
    assert "model.sample(" not in body


def test_an_imported_model_says_where_it_came_from():
    about = {"image_size": 64, "imported": {"layout": "official", "files": ["vqgan.th", "absorbing.th"]}}
    assert "Imported from `vqgan.th` and `absorbing.th`" in write_card(
        Bundle(CODEC, PRIOR, about), "a/b", "mit", picture=False
    )
