"""Drawing and encoding in bfloat16, and what stays float32."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from tests.untrained import untrained
from unmask.data.config import ImagesConfig
from unmask.distributed import Processes
from unmask.errors import DataError
from unmask.pipeline import Pipeline
from unmask.training.inputs import encode_data

PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def models():
    return {how: Pipeline(untrained(), torch.device("cpu"), "torch", how) for how in ("32", "bf16")}


def test_logits_of_bfloat16_are_close_and_float32(models):
    """A mantissa of 8 bits: each of a few products is off by 2⁻⁹ at most."""
    codes, where = torch.full((2, 16), 16), torch.ones(2, 16, dtype=torch.bool)
    codes[:, ::2] = 3
    exact, rounded = (models[how].sampler.denoiser(codes, where) for how in ("32", "bf16"))
    assert torch.equal(exact, models["32"].prior(codes, where))
    assert rounded.dtype == torch.float32
    assert not torch.equal(exact, rounded)
    torch.testing.assert_close(rounded, exact, rtol=0, atol=0.03 * exact.abs().max().item())


def test_scores_are_of_float32(models):
    one, other = (models[how].score([PICTURE], draws=2).bits for how in ("32", "bf16"))
    assert one == other


def test_pictures_of_one_precision_are_not_taken_for_those_of_another(models):
    plain = Pipeline(untrained(), torch.device("cpu"))
    assert plain.fingerprint == models["32"].fingerprint
    assert models["bf16"].fingerprint == f"{plain.fingerprint}-bf16"


def test_a_picture_of_bfloat16_does_not_depend_on_its_batch(models):
    whole = models["bf16"].sample(5, steps=8)
    parts = [models["bf16"].sample(1, steps=8, first=number)[0] for number in range(5)]
    assert all(one == other for one, other in zip(whole, parts, strict=True))


def test_classifying_by_label_is_of_float32():
    words = untrained(words=("dark", "red"))
    one, other = (
        Pipeline(words, torch.device("cpu"), "torch", how).classify([PICTURE], ["red", "dark"])
        for how in ("32", "bf16")
    )
    assert one == other


def test_what_never_computes_in_bfloat16_has_the_same_name_in_any_precision():
    for model in (untrained("autoregressive"), replace(untrained(), prior=None)):
        one, other = (Pipeline(model, torch.device("cpu"), "torch", how) for how in ("32", "bf16"))
        assert one.fingerprint == other.fingerprint


def test_auto_is_asked_again_of_another_device(monkeypatch):
    monkeypatch.setattr(
        "unmask.generation.sampler.wants_bfloat16",
        lambda precision, device: (precision, device) == ("auto", "cpu"),
    )
    monkeypatch.setattr("unmask.pipeline.require_device", torch.device)
    model = Pipeline(untrained(), torch.device("cpu"), "torch", "auto")
    assert model.fingerprint.endswith("-bf16")
    here = model.sampler.denoiser
    model.to("meta")
    assert not model.fingerprint.endswith("-bf16")
    assert model.sampler.denoiser is not here


def test_codes_of_bfloat16_are_nearly_those_of_float32_and_kept_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    smooth = np.linspace(0, 255, 40 * 16 * 16 * 3).reshape(40, 16, 16, 3).astype(np.uint8)
    np.save(tmp_path / "pictures.npy", smooth)

    def encoded(precision, out=None):
        data, processes = str(tmp_path / "pictures.npy"), Processes("cpu")
        codes = encode_data(untrained(), data, ImagesConfig(size=16), processes, out, precision)
        return codes.split("train").read(range(20))

    exact, rounded = encoded("32"), encoded("bf16")
    assert 0.8 < (rounded == exact).float().mean() < 1
    assert torch.equal(encoded("32"), exact)
    assert torch.equal(encoded("bf16"), rounded)
    assert torch.equal(encoded("bf16", tmp_path / "named.codes"), rounded)
    with pytest.raises(DataError, match="holds codes of other images or settings"):
        encoded("32", tmp_path / "named.codes")
