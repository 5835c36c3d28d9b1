"""A canvas is the mean of its windows: against the naive loop over all of them, and at every edge."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.diffusion.canvas import Canvas, window_names
from unmask.diffusion.fill import fill
from unmask.diffusion.first_pass import RememberedStart
from unmask.diffusion.schedule import even_plan, make_plan
from unmask.diffusion.settings import Settings
from unmask.errors import ConfigError
from unmask.rng import generator

K = 3
MASK = K


class Windows:
    """A denoiser for small windows without training: one layer of random weights sees every code."""

    mask_id = MASK

    def __init__(self, window, seed=0):
        rng = generator(seed, "windows", *window)
        N = window[0] * window[1]
        # In float64, since a product of matrices in float32 depends on how many rows share a pass.
        self.weights = torch.randn(N * (K + 1), N * K, generator=rng, dtype=torch.float64)
        self.evaluated = []  # the windows of each pass

    def __call__(self, codes, where):
        assert codes.shape == where.shape
        self.evaluated.append(codes)
        seen = torch.nn.functional.one_hot(codes, K + 1).flatten(1).double()
        return (seen @ self.weights).view(*codes.shape, K)[where]

    @property
    def count(self):
        return sum(map(len, self.evaluated))


class Places:
    """A denoiser that sees no code: what it says of a position depends on its place in the window alone."""

    mask_id = MASK

    def __init__(self, window):
        self.logits = torch.randn(math.prod(window), K, generator=generator(0, "places"), dtype=torch.float64)

    def __call__(self, codes, where):
        return self.logits.expand(len(codes), -1, -1)[where]


class Naive:
    """The paper's words: apply the network to all subsets of the window's size, average at each position."""

    mask_id = MASK

    def __init__(self, denoise, window, grid, tops=None, lefts=None):
        self.denoise, self.window, self.grid = denoise, window, grid
        self.tops = tops or range(grid[0] - window[0] + 1)
        self.lefts = lefts or range(grid[1] - window[1] + 1)

    def __call__(self, codes, where):
        (h, w), (a, b) = self.window, self.grid
        total, number = torch.zeros(len(codes), a, b, K, dtype=torch.float64), torch.zeros(a, b, 1)
        canvas = codes.view(-1, a, b)
        for top, left in itertools.product(self.tops, self.lefts):
            window = canvas[:, top : top + h, left : left + w].flatten(1)
            logits = self.at(top, left)(window, torch.ones_like(window, dtype=torch.bool))
            part = logits.double().softmax(1).view(-1, h, w, K)
            total[:, top : top + h, left : left + w] += part
            number[top : top + h, left : left + w] += 1
        return (total / number).log().flatten(1, 2)[where]

    def at(self, top, left):
        """Whom the window there asks."""
        return self.denoise


@st.composite
def geometries(draw):
    """Windows from a single code up, grids from exactly one window up."""
    window = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    grid = tuple(edge + draw(st.integers(0, 5)) for edge in window)
    return window, grid


def boards(grid, count, seed, share=0.6):
    """Codes with about that share of MASK, and some of the masked positions."""
    rng = generator(seed, "boards")
    N = grid[0] * grid[1]
    codes = torch.randint(0, K, (count, N), generator=rng)
    codes[torch.rand(count, N, generator=rng) < share] = MASK
    codes[:, -1] = MASK  # at the least one, in a corner
    where = (codes == MASK) & (torch.rand(count, N, generator=rng) < 0.4)
    where[:, -1] = True
    return codes, where


@given(geometries(), st.integers(1, 5), st.integers(0, 3))
def test_an_exact_canvas_says_what_the_naive_loop_says(geometry, batch, seed):
    window, grid = geometry
    codes, where = boards(grid, 3, seed)
    naive = Naive(Windows(window), window, grid)(codes, where)
    assert torch.allclose(
        Canvas(Windows(window), window, grid, Settings(), batch=batch)(codes, where), naive, atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("grid", [(3, 9), (9, 3), (5, 5)], ids=str)
@pytest.mark.parametrize("batch", [2, 16])
def test_each_window_asks_the_denoiser_at_its_place(grid, batch):
    """Of three along the longer side: the naive mean, in which the middle of a window says whom to ask."""
    window, (codes, where) = (2, 3), boards(grid, 2, seed=0)
    axis = int(grid[1] >= grid[0])
    everyone = [Windows(window, seed) for seed in range(3)]

    class Row(Naive):
        def at(self, top, left):
            middle = (top, left)[axis] + window[axis] / 2
            return everyone[int(3 * middle / grid[axis])]

    said = Canvas(everyone, window, grid, Settings(), batch=batch)(codes, where)
    assert torch.allclose(said, Row(None, window, grid)(codes, where), atol=1e-6, rtol=0)
    assert not torch.allclose(said, Naive(everyone[0], window, grid)(codes, where), atol=0.1)


def test_a_denoiser_whose_windows_hold_nothing_wanted_is_not_asked():
    window, grid, (near, far) = (2, 2), (2, 12), (Windows((2, 2), seed) for seed in range(2))
    codes, corner = torch.full((1, 24), MASK), torch.arange(24)[None] == 0
    assert torch.equal(
        Canvas([near, far], window, grid, Settings())(codes, corner),
        Canvas(near, window, grid, Settings())(codes, corner),
    )
    assert far.count == 0


@pytest.mark.parametrize(("grid", "steps"), [((5, 8), 40), ((2, 9), 5), ((6, 3), 1)])
def test_an_exact_canvas_is_filled_as_the_naive_loop_fills_it_with_fewer_windows(grid, steps):
    window, N = (2, 3), grid[0] * grid[1]
    masked, plan = torch.full((4, N), MASK), even_plan(range(4), N, steps, seed=1)
    shortcut, naive = Windows(window), Windows(window)
    drawn = fill(Canvas(shortcut, window, grid, Settings()), masked, plan, Settings(temperature=0.8), seed=1)
    assert torch.equal(
        drawn, fill(Naive(naive, window, grid), masked, plan, Settings(temperature=0.8), seed=1)
    )
    assert len(drawn.unique(dim=0)) == 4  # pictures of their own
    assert shortcut.count < naive.count


def test_only_windows_that_hold_a_wanted_position_are_evaluated():
    """An inner position of a canvas without repetitions lies in h·w windows, a corner in one."""
    window, grid, denoise = (2, 3), (6, 8), Windows((2, 3))
    codes = torch.randint(0, K, (1, 48), generator=generator(0, "codes"))
    assert len(window_names(codes.view(1, 6, 8), window).unique()) == 5 * 6
    for place, around in ((3 * 8 + 4, 6), (0, 1), (47, 1), (4, 3)):
        where = torch.zeros(1, 48, dtype=torch.bool)
        where[0, place] = True
        denoise.evaluated.clear()
        Canvas(denoise, window, grid, Settings())(codes, where)
        assert denoise.count == around


def test_equal_windows_are_evaluated_once_and_passes_are_bounded():
    window, grid, denoise = (2, 2), (20, 30), Windows((2, 2))
    masked = torch.full((3, 600), MASK)
    everywhere = torch.ones_like(masked, dtype=torch.bool)
    Canvas(denoise, window, grid, Settings())(masked, everywhere)
    assert denoise.count == 1  # of 3 · 19 · 29

    masked[:, 0] = torch.tensor([0, 1, 2])
    denoise.evaluated.clear()
    Canvas(denoise, window, grid, Settings(), batch=3)(masked, everywhere)
    assert [len(windows) for windows in denoise.evaluated] == [3, 1]
    assert len(torch.cat(denoise.evaluated).unique(dim=0)) == 4


@given(geometries(), st.integers(0, 5))
def test_windows_have_one_name_exactly_if_they_are_equal(geometry, seed):
    (h, w), grid = geometry
    canvas = torch.randint(0, 2, (2, *grid), generator=generator(seed, "canvas"))
    names = window_names(canvas, (h, w)).flatten()
    contents = canvas.unfold(1, h, 1).unfold(2, w, 1).reshape(len(names), -1)
    assert torch.equal(names[:, None] == names, (contents[:, None] == contents).all(2))


@given(geometries(), st.integers(1, 4), st.none() | st.integers(1, 6), st.integers(0, 3))
def test_every_position_has_a_distribution_whatever_the_stride_and_the_number_of_windows(
    geometry, stride, windows, seed
):
    window, grid = geometry
    codes, where = boards(grid, 2, seed)
    canvas = Canvas(
        Windows(window),
        window,
        grid,
        Settings(stride=min(stride, *window), windows=windows),
        seed=seed,
        batch=3,
    )
    for wanted in (where, torch.ones_like(where)):
        logits = canvas(codes, wanted)
        assert len(logits) == wanted.sum()
        assert torch.allclose(logits.exp().sum(1), torch.ones(1, dtype=torch.float64))


def test_a_stride_keeps_the_last_windows():
    """On 7×9 codes with windows of 3×4 two apart, rows begin at 0 2 4 and columns at 0 2 4 and, flush, 5."""
    window, grid = (3, 4), (7, 9)
    codes, where = boards(grid, 2, seed=0)
    naive = Naive(Windows(window), window, grid, tops=[0, 2, 4], lefts=[0, 2, 4, 5])(codes, where)
    denoise = Windows(window)
    assert torch.allclose(
        Canvas(denoise, window, grid, Settings(stride=2))(codes, where), naive, atol=1e-6, rtol=0
    )
    assert denoise.count <= 2 * 12


def test_a_subset_asks_few_windows_and_all_of_them_are_all():
    window, grid = (3, 3), (12, 12)
    codes, where = boards(grid, 1, seed=0)
    exact, few, all_of_them = Windows(window), Windows(window), Windows(window)
    mean = Canvas(exact, window, grid, Settings())(codes, where)
    some = Canvas(few, window, grid, Settings(windows=20))(codes, where)
    assert 20 <= few.count < exact.count / 2
    assert not torch.allclose(mean, some)
    assert torch.equal(Canvas(all_of_them, window, grid, Settings(windows=1000))(codes, where), mean)

    corner = torch.zeros_like(where)
    corner[0, 0] = True
    few.evaluated.clear()
    Canvas(few, window, grid, Settings(windows=20))(codes, corner)
    assert few.count == 1


def test_a_subset_is_the_same_where_surroundings_are_masked():
    """Guidance compares predictions with them and without: by other windows, it would exaggerate noise."""
    window, grid = (2, 2), (9, 9)
    codes, where = boards(grid, 1, seed=0)
    canvas = Canvas(Places(window), window, grid, Settings(windows=5))
    blank = codes.masked_fill(~where, canvas.mask_id)
    assert torch.equal(canvas(codes, where), canvas(blank, where))


def test_a_subset_depends_on_the_seed_but_not_on_the_batch():
    window, grid = (2, 2), (9, 9)
    codes, where = boards(grid, 3, seed=0)
    canvas = Canvas(Windows(window), window, grid, Settings(windows=5), seed=1)
    alone = torch.cat([canvas(codes[i : i + 1], where[i : i + 1]) for i in range(3)])
    assert torch.allclose(canvas(codes, where), alone, atol=1e-12)
    assert not torch.allclose(
        Canvas(Windows(window), window, grid, Settings(windows=5), seed=2)(codes, where), alone
    )


def test_every_pass_asks_a_subset_of_its_own():
    """Codes that number their places tell which windows were asked; what is wanted tells passes apart."""

    class Asked:
        mask_id = 81

        def __call__(self, codes, where):
            self.asked = set(codes[:, 0].tolist())
            return torch.zeros(int(where.sum()), 81)

    denoise, asked = Asked(), []
    canvas = Canvas(denoise, (4, 4), (9, 9), Settings(windows=3))
    for others in (0, 1, 1, 2):
        wanted = torch.zeros(1, 81, dtype=torch.bool)
        wanted[0, 40 : 41 + others] = True  # the middle, which 16 windows hold, and its neighbours
        canvas(torch.arange(81)[None], wanted)
        asked.append(denoise.asked)
    assert all(len(places) >= 3 for places in asked)
    assert asked[1] == asked[2]
    assert asked[0] != asked[1] != asked[3]


def test_a_canvas_of_one_window_is_filled_as_the_window_is():
    window, denoise = (3, 2), Windows((3, 2))
    masked, plan = torch.full((50, 6), MASK), even_plan(range(50), 6, 4, seed=2)
    plain = fill(denoise, masked, plan, Settings(temperature=0.7), seed=2)
    assert torch.equal(
        fill(Canvas(denoise, window, window, Settings()), masked, plan, Settings(temperature=0.7), seed=2),
        plain,
    )


def test_temperature_applies_to_the_mixture():
    """Greedy is the likeliest code of the mean, not of any one window."""
    window, grid = (2, 3), (4, 5)
    codes, where = boards(grid, 2, seed=3)
    mean = Naive(Windows(window), window, grid)(codes, where).argmax(1)
    plan = torch.where(where, 2, 1)
    seen = []
    canvas = Canvas(Windows(window), window, grid, Settings())
    fill(canvas, codes, plan, Settings(temperature=0), seed=0, on_step=lambda now: seen.append(now.clone()))
    assert torch.equal(seen[0][where], mean)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"stride": 0}, "stride 0"), ({"stride": 3}, "leave gaps"), ({"windows": 0}, "windows 0")],
)
def test_options_without_a_meaning_are_refused(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Canvas(Windows((2, 3)), (2, 3), (6, 6), Settings(**options))


@pytest.mark.parametrize(
    ("steps", "options", "evaluated"),
    [
        (768, {}, 7122),
        (768, {"stride": 4}, 1939),
        (768, {"windows": 8}, 3518),
        (64, {}, 2065),
        (64, {"stride": 8}, 313),
    ],
)
def test_windows_are_as_few_as_the_documentation_says(steps, options, evaluated):
    """docs/editing.md: a canvas of 768×256 pixels, codes of 16, windows of 16×16 codes."""

    class Uniform:
        mask_id, evaluated = 32, 0

        def __call__(self, codes, where):
            self.evaluated += len(codes)
            return torch.zeros(int(where.sum()), 32)

    denoise, grid, settings = Uniform(), (16, 48), Settings(steps=steps, **options)
    canvas = Canvas(RememberedStart(denoise), (16, 16), grid, settings)
    plan = make_plan(range(1), grid, settings, seed=0)
    fill(canvas, torch.full((1, 768), 32), plan, settings, seed=0)
    assert denoise.evaluated == evaluated
