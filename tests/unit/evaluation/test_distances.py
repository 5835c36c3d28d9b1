"""Chunked search finds what a search among all exact distances finds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.evaluation import distances
from unmask.evaluation.distances import nearest
from unmask.rng import generator


def by_hand(queries, base, k):
    every = (queries.double()[:, None] - base.double()).square().sum(2)
    return every.sort(dim=1, stable=True).values[:, :k]


@given(
    st.integers(1, 40), st.integers(1, 60), st.integers(1, 12), st.integers(3, 30), st.sampled_from([0, 300])
)
def test_the_nearest_are_those_among_all_distances(num_queries, num_base, k, chunk, offset):
    k = min(k, num_base)
    rng = generator(0, num_queries, num_base, k, chunk)
    queries, base = (offset + torch.randn(n, 5, generator=rng) for n in (num_queries, num_base))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "CHUNK", chunk)
        found = nearest(queries, base, k)
    torch.testing.assert_close(found.squares, by_hand(queries, base, k), rtol=1e-12, atol=0)
    again = (queries.double()[:, None] - base.double()[found.indices]).square().sum(2)
    torch.testing.assert_close(again, found.squares, rtol=1e-12, atol=0)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(3, 30))
def test_a_set_is_searched_among_itself_from_both_ends(count, k, chunk):
    features, k = torch.randn(count, 5, generator=generator(0, count, k, chunk)), min(k, count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "CHUNK", chunk)
        found, wanted = nearest(features, features, k), nearest(features, features.clone(), k)
    assert torch.equal(found.squares, wanted.squares)
    assert torch.equal(found.indices, wanted.indices)
    assert torch.equal(found.indices[:, 0], torch.arange(count))


def test_blocks_hold_so_many_values_however_wide_their_rows_are(monkeypatch):
    monkeypatch.setattr(distances, "BLOCK", 1000)
    monkeypatch.setattr(distances, "CHUNK", 20)
    sizes = [[rows.stop - rows.start for rows in distances.chunks(50, width)] for width in (5, 100, 9999)]
    assert sizes == [[20, 20, 10], [10] * 5, [1] * 50]


def test_pairs_are_measured_so_many_values_at_a_time(rng, monkeypatch):
    """One pair at a time of rows that are wider than that."""
    features, taken = torch.randn(4, 8, generator=rng), []
    monkeypatch.setattr(distances, "CANDIDATES", 7)
    monkeypatch.setattr(torch, "split", lambda x, size: taken.append(size) or x.split(size))
    i, j = torch.tensor([0, 1, 2]), torch.tensor([3, 3, 3])
    wanted = (features[:3].double() - features[3].double()).square().sum(1)
    assert torch.equal(distances.between(features, i, features, j), wanted)
    assert taken == [1, 1]


def test_neighbours_that_fast_products_cannot_tell_apart_are_told_apart(rng):
    """Fifty rows within a millionth of each other, far from the others that set the centre."""
    base = torch.cat([torch.randn(200, 32, generator=rng), torch.full((50, 32), 500.0)])
    base[200:] += 1e-3 * torch.randn(50, 32, generator=rng)
    queries = base[200:220]
    found = nearest(queries, base, 3)
    torch.testing.assert_close(found.squares, by_hand(queries, base, 3), rtol=1e-12, atol=0)
    assert torch.equal(found.indices[:, 0], torch.arange(200, 220))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16])
def test_features_of_few_bits_are_measured_exactly(rng, dtype):
    base = torch.randint(0, 255, (90, 12), generator=rng).to(dtype)
    found = nearest(base[:9], base, 4)
    torch.testing.assert_close(found.squares, by_hand(base[:9], base, 4), rtol=1e-12, atol=0)
    assert (found.squares[:, 0] == 0).all()
