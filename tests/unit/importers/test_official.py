"""The authors' files, in the layout of their release and their paper's appendix, become models of ours."""

from pathlib import Path

import pytest
import torch

from unmask.errors import BundleError, WeightsError
from unmask.importers import official
from unmask.importers.official import import_official
from unmask.models import codec_from, prior_from

WIDTH, E, K = 32, 16, 24
# Each block with the widths of what goes in and out, in units of the first, in the order of their release.
ENCODER = (
    "conv 3>1, res 1>1, res 1>1, down 1, res 1>1, res 1>1, down 1, res 1>2, res 2>2, down 2, res 2>2, "
    "res 2>2, down 2, res 2>4, attn 4, res 4>4, attn 4, res 4>4, attn 4, res 4>4, norm 4, conv 4>E"
)
GENERATOR = (
    "conv E>4, res 4>4, attn 4, res 4>4, res 4>4, attn 4, res 4>4, attn 4, up 4, res 4>2, res 2>2, up 2, "
    "res 2>2, res 2>2, up 2, res 2>1, res 1>1, up 1, res 1>1, res 1>1, norm 1, conv 1>3"
)


def blocks(table):
    for number, entry in enumerate(table.split(", ")):
        kind, widths = entry.split()
        yield number, kind, widths.split(">")


def side(foreign, name, table, width, code_width):
    """Names and shapes of an encoder or a generator."""
    shapes = {}
    for number, kind, units in blocks(table):
        block = f"{name}.blocks.{number}"
        edge = number in (0, 21)
        cin, *rest = (code_width if u == "E" else 3 if edge and u == "3" else width * int(u) for u in units)
        if kind == "res":
            shapes |= foreign.residual(block, cin, rest[0], "conv_out", always=True)
        elif kind == "attn":
            shapes |= foreign.attention(block, cin)
        elif kind in ("down", "up"):
            shapes |= foreign.layer(f"{block}.conv", cin, cin, 3, 3)
        elif kind == "norm":
            shapes |= foreign.layer(block, cin)
        else:
            shapes |= foreign.layer(block, rest[0], cin, 3, 3)
    return shapes


def autoencoder(foreign, width=WIDTH, code_width=E, codes=K, quantizer="nearest"):
    shapes = side(foreign, "ae.encoder", ENCODER, width, code_width)
    shapes |= side(foreign, "ae.generator", GENERATOR, width, code_width)
    if quantizer == "nearest":
        return shapes | {"ae.quantize.embedding.weight": (codes, code_width)}
    shapes |= foreign.layer("ae.quantize.proj", codes, code_width, 1, 1)
    return shapes | {"ae.quantize.embed.weight": (codes, code_width)}


def log_scales(foreign, width=WIDTH):
    """The head that some files have for likelihoods in pixels."""
    first = foreign.layer("ae.generator.logsigma.0", width, width, 3, 3)
    return first | foreign.layer("ae.generator.logsigma.2", 3, width, 1, 1)


def around(foreign):
    """What stands in a VQGAN's file beside the autoencoder."""
    shapes = (
        log_scales(foreign) | foreign.layer("disc.main.0", 8, 3, 4, 4) | {"disc.main.3.running_var": (16,)}
    )
    return shapes | {"perceptual.lin0.model.1.weight": (1, 64, 1, 1)}


def prior(foreign, kind, *, width=128, depth=2, codes=K, positions=16, history=257):
    prefix, tokens = {"absorbing": ("_denoise_fn.", codes + 1), "autoregressive": ("net.", codes)}[kind]
    shapes = foreign.transformer(
        prefix, tokens=tokens, codes=codes, positions=positions, width=width, depth=depth
    )
    shapes[f"{prefix}start_tok"] = (1, 1, width)
    if kind == "autoregressive":
        masks = {f"net.blocks.{i}.attn.mask": (1, 1, positions, positions) for i in range(depth)}
        return shapes | masks
    return shapes | {"Lt_history": (history,), "Lt_count": (history,), "loss_history": (history,)}


@pytest.fixture
def saved(tmp_path):
    """A function that writes a state dict and says where."""

    def save(state, name="file.th"):
        torch.save(state, tmp_path / name)
        return tmp_path / name

    return save


@pytest.fixture(params=["nearest", "gumbel"])
def vqgan(request, foreign):
    """An autoencoder's tensors."""
    return foreign.randomly(autoencoder(foreign, quantizer=request.param))


def run(network, name, table, x):
    """A row of blocks, one after the other."""
    steps = {"conv": network.conv, "res": network.residual, "attn": network.attention, "norm": network.norm}
    steps |= {
        "down": lambda x, block: network.down(x, f"{block}.conv"),
        "up": lambda x, block: network.up(x, f"{block}.conv"),
    }
    for number, kind, _ in blocks(table):
        x = steps[kind](x, f"{name}.blocks.{number}")
    return x


def test_the_layout_written_here_has_the_published_sizes(foreign):
    def count(shapes):
        return sum(torch.Size(shape).numel() for shape in shapes.values())

    assert count(autoencoder(foreign, 128, 256, 1024) | log_scales(foreign, 128)) == 65_779_974
    size = {"width": 512, "depth": 24, "codes": 1024, "positions": 256}
    parameters = {
        k: v for k, v in prior(foreign, "absorbing", **size).items() if k.startswith("_denoise_fn.")
    }
    assert count(parameters) == 76_838_912


def test_the_imported_codec_computes_what_the_layout_says(foreign, vqgan, saved, rng):
    model = import_official(saved(vqgan | foreign.randomly(around(foreign))))
    codec, network = codec_from(model.codec).double(), foreign.Network(vqgan, shortcut="conv_out")
    images = torch.rand(2, 3, 64, 64, generator=rng, dtype=torch.float64)
    latents = run(network, "ae.encoder", ENCODER, images)
    assert latents.shape == (2, E, 4, 4)
    assert torch.allclose(codec.latents(images), latents, atol=1e-5)

    if "ae.quantize.proj.weight" in vqgan:
        codes = network.conv(latents, "ae.quantize.proj").argmax(1)
        codebook = network.state["ae.quantize.embed.weight"]
    else:
        codes = network.nearest(latents, "ae.quantize.embedding.weight")
        codebook = network.state["ae.quantize.embedding.weight"]
    assert len(codes.unique()) > 2
    assert torch.equal(codec_from(model.codec).encode(images.float()), codes)

    pictures = run(network, "ae.generator", GENERATOR, codebook[codes].permute(0, 3, 1, 2))
    assert 0.1 < pictures.std() < 10
    assert torch.allclose(codec.pixels(codec.quantizer.lookup(codes)).double(), pictures, atol=1e-5)


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
@pytest.mark.parametrize("history", [257, 1001])
def test_the_imported_prior_computes_what_the_layout_says(foreign, saved, rng, kind, history):
    state = foreign.randomly(prior(foreign, kind, history=history))
    codec = saved(foreign.randomly(autoencoder(foreign)), "vqgan_ema_1.th")
    model = import_official(codec, saved(state, f"{kind}_ema_2.th"))
    imported, network = prior_from(model.prior).double(), foreign.Network(state)
    assert (imported.config.kind, imported.config.heads, imported.grid) == (kind, 2, (4, 4))
    assert model.about["image_size"] == 64

    codes = torch.randint(K, (3, 16), generator=rng)
    if kind == "absorbing":
        codes = codes.masked_fill(torch.rand(3, 16, generator=rng) < 0.5, K)
        x, prefix = network.state["_denoise_fn.tok_emb.weight"][codes], "_denoise_fn."
    else:
        start = network.state["net.start_tok"].expand(3, 1, -1)
        x, prefix = torch.cat([start, network.state["net.tok_emb.weight"][codes[:, :-1]]], dim=1), "net."
    logits = network.transformer(x, prefix, heads=2, causal=kind == "autoregressive")
    where = torch.rand(3, 16, generator=rng) < 0.7
    assert 0.1 < logits.std() < 10
    assert torch.allclose(imported(codes, where).double(), logits[where], atol=1e-5)


def test_the_number_of_heads_can_be_said(foreign, saved):
    codec = saved(foreign.randomly(autoencoder(foreign)), "vqgan.th")
    model = import_official(codec, saved(foreign.randomly(prior(foreign, "absorbing"))), heads=8)
    assert model.prior.config["heads"] == 8


@pytest.fixture
def refusal(monkeypatch):
    """What is said of a state dict as a VQGAN or, beside a good one, as a prior."""

    def refuse(**states):
        monkeypatch.setattr(official, "read_state_dict", lambda path: states[path.name])
        with pytest.raises(WeightsError) as caught:
            import_official(*map(Path, states))
        return str(caught.value)

    return refuse


def test_every_tensor_that_is_missing_or_misshapen_is_named(foreign, refusal):
    state = foreign.randomly(autoencoder(foreign))
    for names, changed in foreign.broken(state, list(state)):
        said = refusal(vqgan=changed)
        assert [name for name in names if name not in said] == []


def test_every_tensor_of_a_gumbel_quantiser_that_is_missing_or_misshapen_is_named(foreign, refusal):
    state = foreign.randomly(autoencoder(foreign, quantizer="gumbel"))
    for names, changed in foreign.broken(state, [name for name in state if ".quantize." in name]):
        said = refusal(vqgan=changed)
        assert [name for name in names if name not in said] == []


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
def test_every_tensor_of_a_prior_that_is_missing_or_misshapen_is_named(foreign, refusal, kind):
    codec, state = foreign.randomly(autoencoder(foreign)), foreign.randomly(prior(foreign, kind))
    unused = ("history", "count", ".mask", *(["start_tok"] if kind == "absorbing" else []))
    for names, changed in foreign.broken(state, [name for name in state if not name.endswith(unused)]):
        said = refusal(vqgan=codec, prior=changed)
        assert [name for name in names if name not in said] == []


@pytest.mark.parametrize(
    "name", ["ae.encoder.blocks.22.weight", "ae.generator.blocks.3.conv3.weight", "disc.head.weight", "step"]
)
def test_a_tensor_that_nobody_knows_is_named(foreign, refusal, name):
    state = foreign.randomly(autoencoder(foreign)) | {name: torch.zeros(3)}
    assert f"holds unknown {name}" in refusal(vqgan=state)


def test_a_surplus_tensor_of_a_prior_is_named(foreign, refusal):
    codec, state = foreign.randomly(autoencoder(foreign)), foreign.randomly(prior(foreign, "absorbing"))
    said = refusal(vqgan=codec, prior=state | {"_denoise_fn.time_emb.weight": torch.zeros(3)})
    assert "holds unknown _denoise_fn.time_emb.weight" in said


def test_files_that_are_no_pair_or_change_places_are_refused(foreign, refusal):
    codec = foreign.randomly(autoencoder(foreign))
    other = foreign.randomly(prior(foreign, "absorbing", codes=K + 1))
    assert "25 codes, the codec of 24" in refusal(vqgan=codec, prior=other)
    assert "lacks ae.encoder.blocks.0" in refusal(vqgan=other, prior=codec)
    assert "lacks _denoise_fn.tok_emb.weight (absorbing) or net." in refusal(vqgan=codec, prior=codec)


def test_weights_that_are_no_numbers_are_refused(foreign, saved):
    state = foreign.randomly(autoencoder(foreign))
    state["ae.encoder.blocks.0.bias"][0] = torch.nan
    with pytest.raises(BundleError, match=r"not all numbers: encoder\.0\.bias"):
        import_official(saved(state))
