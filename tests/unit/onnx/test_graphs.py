"""Graphs say what the networks say, and samplers cannot tell them apart."""

import importlib
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.diffusion.fill import fill
from unmask.diffusion.schedule import even_plan
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError, DataError
from unmask.onnx import denoiser, export
from unmask.onnx.denoiser import GraphDenoiser, make_denoiser
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Text, Transformer
from unmask.rng import generator

pytestmark = pytest.mark.slow

K, GRID, N = 12, (4, 4), 16


def slopes(count: int, rng: torch.Generator) -> torch.Tensor:
    """(count, N) codes that rise by 0 to 2 a row and a column, round and round."""
    first, down, right = (torch.randint(n, (count, 1, 1), generator=rng) for n in (K, 3, 3))
    rows, columns = torch.arange(4)[None, :, None], torch.arange(4)[None, None, :]
    return ((first + down * rows + right * columns) % K).flatten(1)


@pytest.fixture(scope="module", params=[1, 2], ids=["codes", "patches"])
def prior(request) -> Transformer:
    """A prior that has learnt slopes."""
    rng = generator(0, "train")
    config = PriorConfig(width=64, depth=2, heads=4, positions="rotary", qk_norm=True, merge=request.param)
    prior = Transformer(config, K, GRID, generator(0, "prior"))
    optimizer = torch.optim.Adam(prior.parameters(), 3e-3)
    for _ in range(150):
        x0 = slopes(64, rng)
        masked = torch.rand(x0.shape, generator=rng) < torch.rand(64, 1, generator=rng)
        loss = F.cross_entropy(prior(x0.masked_fill(masked, K), masked), x0[masked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return prior.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def codec() -> Autoencoder:
    config = CodecConfig(
        width=16,
        multipliers=(1, 2),
        blocks=1,
        attention=(2,),
        code_width=8,
        groups=8,
        pixel_range=(-1.0, 1.0),
        quantizer=QuantizerConfig(codebook_size=32),
    )
    codec = Autoencoder(config, generator(0, "codec"))
    torch.nn.init.normal_(codec.quantizer.codebook, generator=generator(0, "codebook"))
    return codec.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def folder(prior, codec, tmp_path_factory) -> Path:
    """A folder with every graph."""
    folder = tmp_path_factory.mktemp("graphs")
    export.export_codec(codec, 16, folder)
    export.export_prior(prior, folder)
    export.round_prior(folder)
    return folder


def run(path, **inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (output,) = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
    return torch.from_numpy(output)


def bits(denoise, x0):
    """The bound in bits per code: the mean over all mask counts of what a masked code costs."""
    order = torch.rand(x0.shape, generator=generator(0, "masks")).argsort(1).argsort(1)
    costs = []
    for count in range(1, N + 1):
        masked = order < count
        costs.append(F.cross_entropy(denoise(x0.masked_fill(masked, K), masked), x0[masked]).item())
    return sum(costs) / N / math.log(2)


@pytest.mark.parametrize("batch", [1, 5])
def test_encoder_and_decoder_agree_with_their_networks(codec, folder, batch, rng):
    images = torch.rand(batch, 3, 16, 16, generator=rng)
    codes = codec.encode(images)
    assert len(codes.unique()) > 2
    assert torch.equal(run(folder / "encoder.onnx", images=images), codes)
    pictures = codec.decode(codes)
    assert pictures.std() > 0.01
    assert torch.allclose(run(folder / "decoder.onnx", codes=codes), pictures, atol=1e-4)


@pytest.mark.parametrize("batch", [1, 5])
def test_the_denoiser_agrees_with_the_prior_at_the_positions_wanted(prior, folder, batch, rng):
    codes = slopes(batch, rng).masked_fill(torch.rand(batch, N, generator=rng) < 0.6, K)
    where = (codes == K) & (torch.rand(batch, N, generator=rng) < 0.7)
    logits = GraphDenoiser(folder / "prior.onnx", K)(codes, where)
    assert logits.shape == (where.sum(), K)
    assert torch.allclose(logits, prior(codes, where), atol=1e-4)


def test_eight_bits_keep_the_bound_within_a_hundredth(prior, folder, rng):
    x0 = slopes(64, rng)
    exact = bits(prior, x0)
    assert exact < 0.6 * math.log2(K)  # it has learnt something that rounding could spoil
    assert abs(bits(GraphDenoiser(folder / "prior-int8.onnx", K), x0) / exact - 1) < 0.01
    assert (folder / "prior-int8.onnx").stat().st_size < 0.5 * (folder / "prior.onnx").stat().st_size


def test_samples_are_those_of_the_prior_itself(prior, folder):
    plan = even_plan(range(8), N, 6, seed=0)
    start = torch.full((8, N), K)
    drawn = fill(GraphDenoiser(folder / "prior.onnx", K), start, plan, Settings(), seed=0)
    assert torch.equal(drawn, fill(prior, start, plan, Settings(), seed=0))


class TestTheGraphOfABackEnd:
    @pytest.fixture(autouse=True)
    def cache(self, monkeypatch, tmp_path, folder):
        """An empty cache folder; exports are copies of graphs made before."""
        monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
        self.exports = []

        def copied(name):
            def write(*arguments):
                self.exports.append(name)
                (arguments[-1] / name).write_bytes((folder / name).read_bytes())

            return write

        monkeypatch.setattr(denoiser, "export_prior", copied("prior.onnx"))
        monkeypatch.setattr(denoiser, "round_prior", copied("prior-int8.onnx"))
        self.folder = tmp_path / "graphs"

    def test_is_made_once_for_a_fingerprint(self, prior, rng):
        codes = torch.full((2, N), K)
        for fingerprint in ("one", "one", "two"):
            logits = make_denoiser(prior, fingerprint, "onnx")(codes, codes == K)
            assert torch.allclose(logits, prior(codes, codes == K), atol=1e-4)
        assert self.exports == ["prior.onnx"] * 2

    def test_is_made_again_when_it_was_damaged(self, prior):
        make_denoiser(prior, "one", "onnx-int8")
        (graph,) = self.folder.rglob("*.onnx")
        assert graph.name == "prior-int8.onnx"
        graph.write_bytes(graph.read_bytes()[:-1])
        make_denoiser(prior, "one", "onnx-int8")
        assert self.exports == ["prior.onnx", "prior-int8.onnx"] * 2

    def test_is_made_again_when_the_recipe_changes(self, prior, monkeypatch):
        for recipe in (1, 1, 2):
            monkeypatch.setattr(denoiser, "RECIPE", recipe)
            make_denoiser(prior, "one", "onnx")
        assert self.exports == ["prior.onnx"] * 2

    def test_needs_a_cache_folder_that_can_be_written(self, prior, monkeypatch, tmp_path):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "file"))
        with pytest.raises(DataError, match="cannot hold a graph: Not a directory"):
            make_denoiser(prior, "one", "onnx")

    def test_does_not_exist_for_autoregressive_models(self):
        autoregressive = Transformer(PriorConfig(kind="autoregressive", width=8, depth=1, heads=1), K, GRID)
        with pytest.raises(ConfigError, match="code after code"):
            make_denoiser(autoregressive, "one", "onnx")


def test_without_the_packages_it_says_what_to_install(monkeypatch, prior, tmp_path):
    find = importlib.util.find_spec
    monkeypatch.setattr(export, "find_spec", lambda name: None if name == "onnxscript" else find(name))
    with pytest.raises(ConfigError, match=r"wants the packages onnxscript\n.*pip install 'unmask\[onnx\]'"):
        export.export_prior(prior, tmp_path)


def test_a_graph_knows_words(tmp_path, rng):
    config, text = PriorConfig(width=32, depth=2, heads=2, positions="rotary"), Text(3, 7)
    prior = Transformer(config, K, GRID, generator(0, "words"), text).eval().requires_grad_(False)
    export.export_prior(prior, tmp_path)
    words, codes = torch.randint(K + 1, K + 8, (4, 3), generator=rng), slopes(4, rng)
    rows = torch.cat([words, codes], dim=1)
    where = torch.rand(rows.shape, generator=rng) < 0.5
    said = GraphDenoiser(tmp_path / export.PRIOR, K)(rows.masked_fill(where, K), where)
    torch.testing.assert_close(said, prior(rows.masked_fill(where, K), where), atol=1e-5, rtol=0)
