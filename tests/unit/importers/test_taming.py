"""VQGANs of taming-transformers, and the GPT over their codes, become models of ours."""

from pathlib import Path

import pytest
import torch
import yaml

from unmask.errors import WeightsError
from unmask.importers import taming
from unmask.importers.taming import import_taming
from unmask.models import codec_from, prior_from

WIDTH, E, K, BLOCKS = 32, 16, 24, 1
F8 = ((1, 1, 2, 4), (3,))  # channels of the levels, and those with attention
F16 = ((1, 1, 2, 2, 4), (4,))


def vqgan(foreign, levels=F8, quantizer="nearest", prefix=""):
    """Names and shapes of a VQModel, or of a GumbelVQ."""
    multipliers, attended = levels
    widths = [WIDTH * multiplier for multiplier in multipliers]
    top = widths[-1]
    shapes = foreign.layer(f"{prefix}encoder.conv_in", WIDTH, 3, 3, 3)
    channels = WIDTH
    for level, width in enumerate(widths):
        name = f"{prefix}encoder.down.{level}"
        shapes |= stage(foreign, name, channels, width, BLOCKS, level in attended)
        channels = width
        if level < len(widths) - 1:
            shapes |= foreign.layer(f"{name}.downsample.conv", width, width, 3, 3)
    shapes |= middle(foreign, f"{prefix}encoder", top) | foreign.layer(f"{prefix}encoder.norm_out", top)
    shapes |= foreign.layer(f"{prefix}encoder.conv_out", E, top, 3, 3)
    shapes |= foreign.layer(f"{prefix}decoder.conv_in", top, E, 3, 3) | middle(
        foreign, f"{prefix}decoder", top
    )
    for level, width in reversed(list(enumerate(widths))):
        name = f"{prefix}decoder.up.{level}"
        shapes |= stage(foreign, name, channels, width, BLOCKS + 1, level in attended)
        channels = width
        if level:
            shapes |= foreign.layer(f"{name}.upsample.conv", width, width, 3, 3)
    shapes |= foreign.layer(f"{prefix}decoder.norm_out", WIDTH)
    shapes |= foreign.layer(f"{prefix}decoder.conv_out", 3, WIDTH, 3, 3)
    shapes |= foreign.layer(f"{prefix}quant_conv", E, E, 1, 1)
    shapes |= foreign.layer(f"{prefix}post_quant_conv", E, E, 1, 1)
    if quantizer == "nearest":
        return shapes | {f"{prefix}quantize.embedding.weight": (K, E)}
    shapes |= foreign.layer(f"{prefix}quantize.proj", K, E, 1, 1)
    return shapes | {f"{prefix}quantize.embed.weight": (K, E)}


def stage(foreign, name, channels, width, blocks, attended):
    shapes = {}
    for number in range(blocks):
        shapes |= foreign.residual(f"{name}.block.{number}", channels, width, "nin_shortcut", always=False)
        shapes |= foreign.attention(f"{name}.attn.{number}", width) if attended else {}
        channels = width
    return shapes


def middle(foreign, side, width):
    blocks = (
        foreign.residual(f"{side}.mid.{name}", width, width, "nin_shortcut", always=False)
        for name in ("block_1", "block_2")
    )
    return next(blocks) | foreign.attention(f"{side}.mid.attn_1", width) | next(blocks)


def gpt(foreign, *, positions=20):
    shapes = foreign.transformer("transformer.", tokens=K, codes=K, positions=positions, width=32, depth=2)
    masks = {f"transformer.blocks.{block}.attn.mask": (1, 1, positions, positions) for block in range(2)}
    return shapes | masks | vqgan(foreign, prefix="first_stage_model.")


def settings(**params):
    return {
        "model": {
            "target": "taming.models.vqgan.VQModel",
            "params": {"ddconfig": {"resolution": 32}} | params,
        }
    }


def gpt_settings(**params):
    first_stage = {"target": "taming.models.vqgan.VQModel", "params": {"ddconfig": {"resolution": 32}}}
    heads = {"target": "taming.modules.transformer.mingpt.GPT", "params": {"n_head": 4}}
    whole = {"first_stage_config": first_stage, "transformer_config": heads, "sos_token": 3}
    return {"model": {"params": whole | {"cond_stage_config": "__is_unconditional__"} | params}}


@pytest.fixture
def files(tmp_path):
    """A function that writes a checkpoint as Lightning does, and its configuration."""

    def write(state, config):
        torch.save({"epoch": 3, "global_step": 7, "state_dict": state}, tmp_path / "last.ckpt")
        (tmp_path / "model.yaml").write_text(yaml.safe_dump(config))
        return tmp_path / "last.ckpt", tmp_path / "model.yaml"

    return write


@pytest.fixture
def refusal(monkeypatch, tmp_path):
    """What is said of a state dict with a configuration."""

    def refuse(state, config, **options):
        (tmp_path / "model.yaml").write_text(yaml.safe_dump(config))
        monkeypatch.setattr(taming, "read_state_dict", lambda _: state)
        with pytest.raises(WeightsError) as caught:
            import_taming(Path("last.ckpt"), tmp_path / "model.yaml", **options)
        return str(caught.value)

    return refuse


def encode(network, levels, images, prefix=""):
    """Their encoder as its definition reads, with a swish before its last convolution."""
    side, (multipliers, attended) = f"{prefix}encoder", levels
    x = network.conv(2 * images - 1, f"{side}.conv_in")
    for level in range(len(multipliers)):
        x = blocks(network, x, f"{side}.down.{level}", BLOCKS, level in attended)
        if level < len(multipliers) - 1:
            x = network.down(x, f"{side}.down.{level}.downsample.conv")
    return network.conv(last(network, centre(network, x, side), side), f"{prefix}quant_conv")


def decode(network, levels, latents):
    multipliers, attended = levels
    x = network.conv(network.conv(latents, "post_quant_conv"), "decoder.conv_in")
    x = centre(network, x, "decoder")
    for level in reversed(range(len(multipliers))):
        x = blocks(network, x, f"decoder.up.{level}", BLOCKS + 1, level in attended)
        if level:
            x = network.up(x, f"decoder.up.{level}.upsample.conv")
    return (last(network, x, "decoder") + 1) / 2


def blocks(network, x, name, count, attended):
    for number in range(count):
        x = network.residual(x, f"{name}.block.{number}")
        x = network.attention(x, f"{name}.attn.{number}") if attended else x
    return x


def centre(network, x, side):
    x = network.attention(network.residual(x, f"{side}.mid.block_1"), f"{side}.mid.attn_1")
    return network.residual(x, f"{side}.mid.block_2")


def last(network, x, side):
    y = network.norm(x, f"{side}.norm_out")
    return network.conv(y * y.sigmoid(), f"{side}.conv_out")


@pytest.mark.parametrize(("levels", "quantizer"), [(F8, "nearest"), (F16, "nearest"), (F8, "gumbel")])
def test_the_imported_codec_computes_what_the_layout_says(foreign, files, rng, levels, quantizer):
    state = foreign.randomly(vqgan(foreign, levels, quantizer))
    loss = {"loss.discriminator.main.0.weight": torch.zeros(3), "loss.perceptual_loss.lin0": torch.zeros(3)}
    model = import_taming(*files(state | loss, settings()))
    codec, network = codec_from(model.codec).double(), foreign.Network(state, shortcut="nin_shortcut")
    assert codec.config.factor == 2 ** (len(levels[0]) - 1)
    assert model.about["image_size"] == 32

    images = torch.rand(2, 3, 64, 64, generator=rng, dtype=torch.float64)
    latents = encode(network, levels, images)
    assert torch.allclose(codec.latents(images), latents, atol=1e-5)

    if quantizer == "gumbel":
        codes = network.conv(latents, "quantize.proj").argmax(1)
        codebook = network.state["quantize.embed.weight"]
    else:
        codes = network.nearest(latents, "quantize.embedding.weight")
        codebook = network.state["quantize.embedding.weight"]
    assert len(codes.unique()) > 2
    assert torch.equal(codec_from(model.codec).encode(images.float()), codes)

    pictures = decode(network, levels, codebook[codes].permute(0, 3, 1, 2))
    assert 0.05 < pictures.std() < 10
    assert torch.allclose(codec.pixels(codec.quantizer.lookup(codes)).double(), pictures, atol=1e-5)


@pytest.mark.parametrize(
    "told", [{}, {"cond_stage_config": {"target": "…DummyCondStage"}, "unconditional": True, "sos_token": 0}]
)
def test_the_imported_gpt_computes_what_the_layout_says(foreign, files, rng, told):
    state, config = foreign.randomly(gpt(foreign)), gpt_settings(**told)
    model = import_taming(*files(state, config))
    prior, network = prior_from(model.prior).double(), foreign.Network(state, "nin_shortcut")
    assert (prior.causal, prior.grid, prior.config.heads) == (True, (4, 4), 4)
    images = torch.rand(1, 3, 32, 32, generator=rng, dtype=torch.float64)
    expected = encode(network, F8, images, "first_stage_model.")
    assert torch.allclose(codec_from(model.codec).double().latents(images), expected, atol=1e-5)

    codes = torch.randint(K, (3, 16), generator=rng)
    begun = torch.cat([torch.full((3, 1), config["model"]["params"]["sos_token"]), codes[:, :-1]], dim=1)
    x = network.state["transformer.tok_emb.weight"][begun]
    logits = network.transformer(x, "transformer.", heads=4, causal=True)
    everywhere = torch.ones(3, 16, dtype=torch.bool)
    assert 0.1 < logits.std() < 10
    assert torch.allclose(prior(codes, everywhere).double(), logits.flatten(0, 1), atol=1e-5)


def test_every_tensor_that_is_missing_or_misshapen_is_named(foreign, refusal):
    state = foreign.randomly(gpt(foreign))
    for names, changed in foreign.broken(state, [name for name in state if not name.endswith(".mask")]):
        said = refusal(changed, gpt_settings())
        assert [name for name in names if name not in said] == []


@pytest.mark.parametrize("name", ["encoder.down.0.block.0.temb_proj.weight", "quantize.used", "colorize"])
def test_a_tensor_that_nobody_knows_is_named(foreign, refusal, name):
    state = foreign.randomly(vqgan(foreign)) | {name: torch.zeros(3)}
    assert f"holds unknown {name}" in refusal(state, settings())


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"cond_stage_config": {"target": "taming.modules.util.Labelator"}}, "only unconditional"),
        ({"permuter_config": {"target": "taming.modules.transformer.permuter.Subsample"}}, "another order"),
        ({"sos_token": 24}, "begins with code 24"),
        ({"transformer_config": {}}, "lacks model.params.transformer_config.params.n_head"),
    ],
)
def test_a_prior_of_another_kind_is_refused(foreign, refusal, told, sentence):
    assert sentence in refusal(foreign.randomly(gpt(foreign)), gpt_settings(**told))


def test_the_codec_of_a_conditional_model_can_be_had_alone(foreign, files):
    state = foreign.randomly(gpt(foreign)) | {"cond_stage_model.encoder.conv_in.weight": torch.zeros(3)}
    config = gpt_settings(cond_stage_config={"target": "taming.models.vqgan.VQSegmentationModel"})
    model = import_taming(*files(state, config), codec_only=True)
    assert model.prior is None
    assert model.codec.config["family"] == "taming"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no model.params"),
        ("model: {params: {ddconfig: {}}}", "lacks model.params.ddconfig.resolution"),
        ("model: {params: {ddconfig: {resolution: large}}}", "no whole number"),
        ("model: [", "is no YAML"),
    ],
)
def test_a_configuration_that_says_nothing_is_refused(foreign, files, text, sentence):
    checkpoint, config = files(foreign.randomly(vqgan(foreign)), {})
    config.write_text(text)
    with pytest.raises(WeightsError, match=sentence):
        import_taming(checkpoint, config)
