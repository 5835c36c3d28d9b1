import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.diffusion.draws import at_share, draw, restrict
from unmask.diffusion.settings import Settings

K = 5
logits = st.lists(st.integers(-40, 40), min_size=K, max_size=K, unique=True).map(
    lambda tenths: torch.tensor([tenths]) / 10
)


def kept(restricted):
    return set(restricted.isfinite().nonzero()[:, 1].tolist())


@given(logits, st.integers(1, K + 3))
def test_top_k_keeps_the_k_likeliest(row, k):
    wanted = sorted(range(K), key=lambda code: -row[0, code])[:k]
    assert kept(restrict(row.double(), k, 1.0)) == set(wanted)


@given(logits, st.floats(0.01, 0.99))
def test_top_p_keeps_the_fewest_codes_that_hold_the_share(row, top_p):
    """Against all sets of codes: of the smallest ones that hold the share, the one that holds most."""
    p = row.double().softmax(1)[0].tolist()
    sets = [set(s) for n in range(1, K + 1) for s in itertools.combinations(range(K), n)]
    holding = [s for s in sets if sum(p[code] for code in s) >= top_p]
    best = min(holding, key=lambda s: (len(s), -sum(p[code] for code in s)))
    assert kept(restrict(row.double(), None, top_p)) == best


@given(logits, st.integers(1, K), st.floats(0.01, 0.99))
def test_the_share_is_of_what_the_top_k_leave(row, k, top_p):
    first = restrict(row.double(), k, 1.0)
    assert kept(restrict(row.double(), k, top_p)) == kept(restrict(first, None, top_p))


@pytest.mark.parametrize(
    ("top_k", "top_p", "temperature"), [(None, 1.0, 1.0), (3, 1.0, 0.7), (None, 0.6, 1.5), (4, 0.9, 1.0)]
)
def test_codes_are_drawn_by_their_probabilities_within_what_is_kept(top_k, top_p, temperature):
    """χ² over at most 5 codes on 20,000 draws; its 99.99 % point at 4 degrees of freedom is 24."""
    row, count = torch.tensor([[0.3, -1.0, 1.2, 0.0, 0.9]]), 20_000
    settings = Settings(temperature=temperature, top_k=top_k, top_p=top_p)
    images, zeros = torch.arange(count), torch.zeros(count, dtype=torch.int64)
    codes = draw(row.expand(count, K), (images, zeros, zeros), torch.ones(count), settings, seed=1)
    expected = count * (restrict(row.double(), top_k, top_p) / temperature).softmax(1)[0]
    seen = codes.bincount(minlength=K)
    possible = expected > 0
    assert (seen[~possible] == 0).all()
    assert ((seen - expected)[possible] ** 2 / expected[possible]).sum() < 24
    flat = torch.full((K,), count / K)
    assert ((seen - flat) ** 2 / flat).sum() > 200


def test_a_draw_depends_on_every_part_of_its_address():
    """Of 2,000 rows alike with addresses one apart, about as many agree as any two draws do: one in five."""
    count, settings = 2000, Settings()
    images, zeros = torch.arange(count), torch.zeros(count, dtype=torch.int64)
    row = torch.zeros(count, K)

    def drawn(image=0, position=0, before=0, seed=0):
        address = images + image, zeros + position, zeros + before
        return draw(row, address, torch.ones(count), settings, seed=seed)

    assert torch.equal(drawn(), drawn())
    assert torch.equal(drawn(image=1)[:-1], drawn()[1:])
    for other in (drawn(image=1), drawn(position=1), drawn(before=1), drawn(seed=1)):
        agreeing = (other == drawn()).float().mean().item()
        assert agreeing == pytest.approx(1 / K, abs=4 * math.sqrt(1 / K * (1 - 1 / K) / count))


def test_a_pair_of_temperatures_is_linear_in_the_share_masked():
    left = torch.tensor([1.0, 0.5, 0.0])
    assert at_share((1.2, 0.4), left).tolist() == pytest.approx([1.2, 0.8, 0.4])
    assert at_share(0.9, left).tolist() == pytest.approx([0.9] * 3)
