"""A compiled prior says what the prior says; here on the CPU, where torch.compile can be seen to be right."""

from functools import partial

import pytest
import torch

from tests.untrained import untrained
from unmask.errors import ConfigError
from unmask.pipeline import Pipeline
from unmask.prior.compiled import Compiled
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Text, Transformer
from unmask.rng import generator

pytestmark = pytest.mark.slow

K, GRID, CPU = 12, (4, 4), torch.device("cpu")


@pytest.fixture(autouse=True)
def nothing_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()


@pytest.fixture
def by(monkeypatch):
    """Choose what turns graphs into code, and count the graphs."""
    compile_, graphs = torch.compile, []

    def choose(backend):
        def counted(graph, inputs):
            graphs.append(graph)
            return torch._dynamo.lookup_backend(backend)(graph, inputs)

        monkeypatch.setattr(torch, "compile", partial(compile_, backend=counted))
        return graphs

    return choose


def asked(prior, batch, rng, share):
    """Codes and words, some masked, and the positions wanted, which are these."""
    words = torch.randint(K + 1, K + 8, (batch, prior.text.length), generator=rng)
    codes = torch.randint(K, (batch, prior.num_positions), generator=rng)
    where = torch.rand(batch, prior.row_length, generator=rng) < share
    return torch.cat([words, codes], dim=1).masked_fill(where, K), where


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's, of what its compiler imports
def test_logits_are_the_priors_for_any_batch_from_one_graph(by, rng):
    config = PriorConfig(width=16, depth=1, heads=2, positions="rotary", qk_norm=True)
    prior = Transformer(config, K, GRID, generator(0, "prior"), Text(3, 7)).eval()
    graphs, compiled, made = by("inductor"), Compiled(prior), []
    for batch, share in ((5, 0.4), (3, 0.5), (2, 0.3)):
        codes, where = asked(prior, batch, rng, share)
        torch.testing.assert_close(compiled(codes, where), prior(codes, where), rtol=0, atol=1e-5)
        made.append(len(graphs))
    assert made[0] == made[-1] > 0


def test_samples_are_those_of_torch_and_say_what_computed_them(by):
    model, graphs = untrained(words=("dark", "red")), by("aot_eager")
    plain, compiled = (Pipeline(model, CPU, backend, "32") for backend in ("torch", "compile"))
    one, other = (each.sample(3, "red", steps=3, guidance=2) for each in (plain, compiled))
    assert [picture.tobytes() for picture in one] == [picture.tobytes() for picture in other]
    assert graphs
    assert compiled.fingerprint == f"{plain.fingerprint}-compile"
    assert Pipeline(model, CPU, "compile", "bf16").fingerprint == f"{plain.fingerprint}-compile-bf16"


def test_where_nothing_can_be_compiled_the_error_says_what_to_type(monkeypatch, rng):
    def without_compiler(graph, inputs):
        raise RuntimeError("no C++ compiler was found")

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=without_compiler))
    prior = Transformer(PriorConfig(width=8, depth=1, heads=1), K, GRID, generator(0)).eval()
    with pytest.raises(ConfigError, match=r"here: no C\+\+ compiler was found\n.*--backend torch"):
        Compiled(prior)(*asked(prior, 2, rng, 0.5))


def test_autoregressive_priors_are_not_compiled():
    with pytest.raises(ConfigError, match="code after code"):
        Pipeline(untrained("autoregressive"), CPU, "compile")
