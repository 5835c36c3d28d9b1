"""Training that starts from a model: ours, or one that was imported."""

from dataclasses import replace

import pytest
import torch

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.rng import generator
from unmask.storage import bundles as bundle
from unmask.storage.bundles import Part
from unmask.third_party import weights
from unmask.training.runs import Run

STILL = ["--loop.steps", "1", "--optim.lr", "1e-12", "--loop.validate-every", "1", "--loop.save-every", "1"]
FAST = ["--engine.threads", "1", "--images.validation", "0.2", "--optim.batch", "4"]


def same_weights(one: Part, other: Part) -> bool:
    return all(torch.allclose(one.tensors[name], other.tensors[name], atol=1e-6) for name in one.tensors)


def test_a_codec_starts_from_a_codec_and_a_prior_from_a_prior(trained, model):
    shell, whole = trained, bundle.load(model)
    shell(
        "train", "codec", "discs.npy", "--preset", "tiny", "--init", model, *STILL, *FAST, "--out", "codec-on"
    )
    codec = bundle.load(shell.folder / "codec-on/last")
    assert same_weights(codec.codec, whole.codec)
    assert codec.about["image_size"] == 16
    assert codec.about["codec_started_from"] == str(model)

    words = ["discs.npy", "--preset", "tiny", "--init", model, *STILL, *FAST, "--out", "prior-on"]
    shell("train", "prior", model, *words)
    prior = bundle.load(shell.folder / "prior-on/last")
    assert prior.prior.config["dropout"] == 0.1  # the model's own settings, not the preset's
    assert same_weights(prior.prior, whole.prior)

    shell("train", "prior", "--resume", "prior-on", "--loop.steps", "2")
    assert Run.open(shell.folder / "prior-on").config["init"] == str(model.resolve())


def test_what_cannot_be_a_start_is_refused(trained, model):
    said = trained("train", "prior", "codec/best", "discs.npy", "--init", "codec/best", code=2)
    assert "only a codec, no prior to start from" in said
    said = trained("train", "codec", "--resume", "codec", "--init", model, code=2)
    assert "--init is for new ones" in said
    words = ["discs.npy", "--init", model, "--prior.width", "32", "--out", "wider", *FAST]
    assert "do not fit the settings" in trained("train", "prior", model, *words, code=2)


@pytest.fixture
def authors_files(tmp_path):
    """A small VQGAN and a prior in the layout of the paper's authors."""
    quantizer = QuantizerConfig(codebook_size=16)
    config = CodecConfig(
        width=32, multipliers=(1, 1, 1), blocks=1, attention=(4,), code_width=4, quantizer=quantizer
    )
    state = {}
    for name, tensor in Autoencoder(config, generator(0, "codec")).state_dict().items():
        side, _, rest = name.partition(".")
        name = {"encoder": "ae.encoder.blocks.", "decoder": "ae.generator.blocks."}.get(side, "") + rest
        if name == "codebook":
            state["ae.quantize.embedding.weight"] = torch.randn(tensor.shape, generator=generator(0, "codes"))
        elif ".qkv." in name:
            for part, chunk in zip("qkv", tensor.chunk(3), strict=True):
                state[name.replace(".qkv.", f".{part}.")] = chunk.clone()
        else:
            state[name.replace(".out.", ".proj_out.")] = tensor
    for name in [name.replace("conv1", "conv_out") for name in state if ".conv1." in name]:
        state[name] = torch.zeros((32, 32, 1, 1) if name.endswith("weight") else 32)
    torch.save(state, tmp_path / "vqgan_ema_7.th")
    torch.save(authors_prior(), tmp_path / "absorbing_ema_9.th")
    return ["--vqgan", "vqgan_ema_7.th", "--prior", "absorbing_ema_9.th"]


def authors_prior():
    prior = Transformer(PriorConfig(width=64, depth=1, heads=1), 16, (4, 4), generator(0, "prior"))
    names = {"tokens": "tok_emb", "positions": "pos_emb", "norm.": "ln_f.", "norm1": "ln1", "norm2": "ln2"}
    names |= {"attention.q": "attn.query", "attention.out": "attn.proj", "widen": "mlp.0", "narrow": "mlp.2"}
    state = {"_denoise_fn.start_tok": torch.zeros(1, 1, 64), "Lt_history": torch.zeros(1001)}
    for name, tensor in prior.state_dict().items():
        theirs = name
        for ours, other in names.items():
            theirs = theirs.replace(ours, other)
        if ".attention.kv." in name:
            for part, chunk in zip(("key", "value"), tensor.chunk(2), strict=True):
                state["_denoise_fn." + name.replace("attention.kv", f"attn.{part}")] = chunk.clone()
        else:
            state[f"_denoise_fn.{theirs}"] = tensor[None] if name == "positions" else tensor
    return state


def test_an_imported_model_is_used_like_any_other(shell, pictures, authors_files, fetched, tmp_path):
    said = shell("import", "official", *authors_files, "--out", "theirs")
    assert "for images of 16×16 pixels, in theirs" in said
    shell("sample", "theirs", "--count", "2", "--steps", "2", "--grid", "sheet.png")
    assert "bits per code" in shell("score", "theirs", pictures, "--draws", "4")
    shell("inpaint", "theirs", "sheet.png", "--box", "0,0,8,8", "--count", "1", "--steps", "2")
    shell("canvas", "theirs", "--size", "24x16", "--steps", "2")
    fetched("inception")
    (tmp_path / "cache/weights").mkdir(parents=True)
    (tmp_path / "cache/weights/inception.safetensors").symlink_to(weights.path("inception"))
    assert "kid" in shell("evaluate", "theirs", pictures, "--metrics", "kid", "--count", "6", "--steps", "2")
    words = [pictures, "--preset", "tiny", "--init", "theirs", *STILL, *FAST, "--out", "on"]
    shell("train", "prior", "theirs", *words)
    assert same_weights(bundle.load(tmp_path / "on/last").prior, bundle.load(tmp_path / "theirs").prior)


def test_an_import_that_fails_leaves_nothing_behind(shell, authors_files, tmp_path):
    words = ["import", "official", "--vqgan", "absorbing_ema_9.th", "--out", "theirs"]
    assert "is of another layout: it lacks ae.encoder.blocks.0" in shell(*words, code=2)
    assert not (tmp_path / "theirs").exists()


def test_a_decoder_is_trained_alone_and_the_prior_goes_with_it(trained, model, tmp_path):
    recommended = {"recommended": {"sample": {"steps": 8, "temperature": 0.9}}}
    bundle.save(replace(bundle.load(model), sampling=recommended), tmp_path / "whole")
    words = ["discs.npy", "--preset", "tiny", "--init", tmp_path / "whole", "--train", "decoder", *FAST]
    trained("train", "codec", *words, "--out", tmp_path / "sharp")
    sharp, whole = bundle.load(tmp_path / "sharp/last"), bundle.load(tmp_path / "whole")
    kept = [name for name in whole.codec.tensors if not name.startswith("decoder")]
    assert all(torch.equal(sharp.codec.tensors[name], whole.codec.tensors[name].float()) for name in kept)
    assert not torch.equal(*(part.codec.tensors["decoder.0.weight"].float() for part in (sharp, whole)))
    assert sharp.prior.fingerprint == whole.prior.fingerprint
    assert sharp.sampling == recommended
    assert "none was named" in trained("train", "codec", "discs.npy", "--train", "decoder", code=2)
