"""Our models for other programs and other people, from the command line."""

import os

import numpy as np
import onnxruntime
import pytest
from PIL import Image

import unmask
from unmask.errors import ConfigError


def test_a_folder_for_the_hub_is_a_model_with_a_card(shell, model, tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "sheet.png")
    words = ["--name", "ann/discs", "--licence", "cc0-1.0", "--picture", "sheet.png"]
    assert "hf upload ann/discs discs" in shell("export", model, "--to", "hub", *words, "--out", "discs")
    names = {path.name for path in (tmp_path / "discs").iterdir()}
    assert names == {"README.md", "samples.png", "unmask.json", "codec.safetensors", "prior.safetensors"}
    published = unmask.load(tmp_path / "discs", "cpu")
    assert published.fingerprint == unmask.load(model, "cpu").fingerprint
    assert published.about["licence"] == "cc0-1.0"


def test_a_halved_model_is_half_the_size_and_halved_again_the_same(shell, model, tmp_path):
    shell("export", model, "--to", "half", "--out", "half")
    shell("export", "half", "--to", "half", "--out", "again")
    weights = "prior.safetensors"
    assert (tmp_path / "half" / weights).stat().st_size < 0.7 * (model / weights).stat().st_size
    half, again = (unmask.load(tmp_path / name, "cpu") for name in ("half", "again"))
    assert half.fingerprint == again.fingerprint
    for name, tensor in unmask.load(model, "cpu").prior.state_dict().items():
        np.testing.assert_allclose(half.prior.state_dict()[name], tensor, rtol=1e-3, atol=1e-6)


def test_graphs_take_pictures_to_codes_and_back_and_fill_codes_in(shell, model, tmp_path):
    said = shell("export", model, "--to", "onnx", "--int8", "--out", "graphs")
    names = ["decoder.onnx", "encoder.onnx", "prior-int8.onnx", "prior.json", "prior.onnx"]
    assert sorted(path.name for path in (tmp_path / "graphs").iterdir()) == names
    assert "prior-int8.onnx" in said

    def run(name, **inputs):
        (output,) = onnxruntime.InferenceSession(tmp_path / "graphs" / name).run(None, inputs)
        return output

    images = np.random.default_rng(0).random((3, 3, 16, 16), np.float32)
    codes = run("encoder.onnx", images=images)
    assert run("decoder.onnx", codes=codes).shape == images.shape
    masked = codes.reshape(3, 16)
    masked[:, :5] = 16
    for name in ("prior.onnx", "prior-int8.onnx"):
        logits = run(name, codes=masked, places=np.tile(np.arange(5), (3, 1)))
        assert logits.shape == (3, 5, 16)


def test_an_onnx_back_end_draws_the_same_pictures(shell, model, tmp_path):
    shell("sample", model, "--count", "4", "--steps", "4", "--backend", "onnx")
    for number, picture in enumerate(unmask.load(model, "cpu", precision="32").sample(4, steps=4)):
        with Image.open(tmp_path / f"samples/00000{number}.png") as drawn:
            assert np.array_equal(np.asarray(drawn), np.asarray(picture))


def test_a_back_end_of_eight_bits_draws_canvases_and_fills_gaps(shell, model, tmp_path, monkeypatch):
    shell("canvas", model, "--size", "24x16", "--steps", "2", "--backend", "onnx-int8")
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))  # where the graph is by now
    rounded = unmask.load(model, "cpu", "onnx-int8")
    with Image.open(tmp_path / "canvas.png") as canvas:
        assert canvas.size == (24, 16)
        assert np.array_equal(np.asarray(canvas), np.asarray(rounded.canvas((24, 16), steps=2)))
        assert rounded.extend(canvas, right=4, count=1, steps=2)[0].size == (28, 16)
    assert rounded.fingerprint != unmask.load(model, "cpu").fingerprint  # their pictures are not mixed


def test_an_autoregressive_prior_has_no_onnx_back_end(autoregressive):
    with pytest.raises(ConfigError, match="which torch alone does"):
        unmask.load(autoregressive, "cpu", "onnx")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "hub"], "needs a name and a licence"),
        (["--to", "hub", "--int8"], "--int8 is for --to onnx"),
        (["--to", "onnx", "--name", "a/b"], "are for --to hub"),
        (["--to", "onnx", "--out", "."], "holds something else than graphs"),
        (["--to", "onnx", "--out", "codec.yaml"], "codec.yaml cannot be written: Not a directory"),
        (["--to", "onnx", "--out", "codec.yaml/graphs"], "codec.yaml/graphs cannot be written: "),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(shell, model, words, sentence):
    assert sentence in shell("export", model, "--out", "folder", *words, code=2)


def test_an_export_leaves_in_a_folder_what_is_not_its_own(shell, model, tmp_path):
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs/other.onnx").write_bytes(b"mine")
    (tmp_path / "graphs/prior.onnx").write_bytes(b"older")
    shell("export", model, "--to", "onnx", "--out", "graphs")
    assert (tmp_path / "graphs/other.onnx").read_bytes() == b"mine"
    assert (tmp_path / "graphs/prior.onnx").stat().st_size > 1000

    words = ["--name", "ann/discs", "--licence", "cc0-1.0"]
    shell("export", model, "--to", "hub", *words, "--out", "discs")
    (tmp_path / "discs/notes.txt").write_text("mine")
    shell("export", model, "--to", "hub", *words, "--out", "discs")
    shell("export", model, "--to", "half", "--out", "discs")
    assert (tmp_path / "discs/notes.txt").read_text() == "mine"
    unmask.load(tmp_path / "discs", "cpu")

    (tmp_path / "discs/README.md").write_text("# Mine")
    assert "not ours" in shell("export", model, "--to", "hub", *words, "--out", "discs", code=2)
    assert (tmp_path / "discs/README.md").read_text() == "# Mine"


@pytest.mark.parametrize("words", [["--to", "onnx"], ["--to", "half"]])
def test_an_export_does_not_replace_a_pipe(shell, model, tmp_path, words):
    os.mkfifo(tmp_path / "pipe")
    shell("export", model, *words, "--out", "pipe", code=2)
    assert (tmp_path / "pipe").is_fifo()
