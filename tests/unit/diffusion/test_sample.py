import pytest
import torch

from unmask.diffusion.first_pass import RememberedStart
from unmask.diffusion.sample import sample_codes
from unmask.diffusion.settings import Settings

GRID, N, K = (3, 5), 15, 6
CURVE = {"ratio": [0.1, 1.0], "nats": [0.5, 1.5]}
WAYS = [
    *({"schedule": schedule, "order": order} for schedule in ("even", "cosine", "arccos", "optimal")
      for order in ("random", "halton", "raster", "confidence", "margin")),
    {"order": "entropy"},
    {"remask": 0.5},
    {"order": "halton", "remask": 1.0, "remask_cap": 0.1},
    {"order": "confidence", "schedule": "cosine", "remask": 0.3},
]  # fmt: skip


class Neighbours:
    """A denoiser that likes codes next to those it knows."""

    mask_id = K

    def __init__(self):
        self.rows = 0

    def __call__(self, codes, where):
        self.rows += len(codes)
        known = (codes[:, :, None] == torch.arange(K)).float().mean(1)  # (B, K)
        return (20 * known)[:, None].expand(-1, N, -1)[where]


def sample(images=range(6), **settings):
    steps = None if settings.get("order") == "entropy" else 4
    config = Settings(steps=steps, **settings)
    device = torch.device("cpu")
    return sample_codes(Neighbours(), images, GRID, config, seed=2, device=device, curve=CURVE)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))
def test_every_way_fills_every_picture_the_same_in_any_company(way):
    codes = sample(**way)
    assert codes.shape == (6, N)
    assert (codes < K).all()
    assert torch.equal(sample(range(3, 5), **way), codes[3:5])


def test_the_ways_differ():
    drawn = {tuple(sample(**way).flatten().tolist()) for way in WAYS}
    assert len(drawn) == len(WAYS)


def test_without_steps_there_are_as_many_as_codes():
    counting, device = Neighbours(), torch.device("cpu")
    config = Settings(schedule="cosine")
    sample_codes(counting, range(2), GRID, config, seed=0, device=device)
    assert counting.rows == 2 * N


def test_more_steps_than_codes_are_as_many_as_codes_when_each_reveals_one():
    counting, device = Neighbours(), torch.device("cpu")
    config = Settings(schedule="arccos", steps=1000)
    sample_codes(counting, range(2), GRID, config, seed=0, device=device)
    assert counting.rows == 2 * N


def test_the_remembered_start_answers_as_the_denoiser_does():
    plain, start = Neighbours(), RememberedStart(Neighbours())
    codes = torch.full((4, N), K)
    codes[1, 3] = codes[3, 0] = 2
    where = (codes == K) & (torch.arange(N) % 2 == 0)
    for _ in range(2):
        torch.testing.assert_close(start(codes, where), plain(codes, where))
        torch.testing.assert_close(start(codes[::2], where[::2]), plain(codes[::2], where[::2]))
        torch.testing.assert_close(start(codes[1::2], where[1::2]), plain(codes[1::2], where[1::2]))
