"""What an edit may change and what not: known codes, untouched pixels, and how likely a candidate is."""

import re

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image

from tests.untrained import FACTOR, K, untrained
from unmask.data.patches import cut, fade, frame, selection
from unmask.diffusion.canvas import Canvas
from unmask.diffusion.fill import fill
from unmask.diffusion.inpaint import refill
from unmask.diffusion.schedule import make_plan
from unmask.diffusion.settings import Settings
from unmask.errors import UnmaskError
from unmask.pipeline import Pipeline
from unmask.rng import generator

SIZE = 16  # pixels of a training picture
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Table:
    """A denoiser without training: any table from masked pictures to logits is a valid one."""

    mask_id = 3

    def __init__(self):
        self.logits = 2 * torch.randn((4,) * 4 + (4, 3), generator=generator(0, "table"), dtype=torch.float64)

    def __call__(self, codes, where):
        return self.logits[tuple(codes.T)][where]


def pipeline(kind):
    """A model of random weights, for pictures of 16×16 pixels and 4×4 codes."""
    bundle = untrained(kind)
    bundle.prior.tensors["head.weight"] *= 4  # opinions, so that candidates differ in likelihood
    return Pipeline(bundle, torch.device("cpu"))


@pytest.fixture(scope="module")
def model():
    return pipeline("absorbing")


def photo(width, height, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def levels(pictures):
    """Their pixels alone: pictures that are equal were also drawn in the same way."""
    return [picture.tobytes() for picture in pictures]


def changed(before, after):
    """(H, W) bool: the pixels that are not the same."""
    assert before.size == after.size
    return (np.asarray(before) != np.asarray(after)).any(2)


def near(selected, distance):
    """(H, W) bool: the pixels within so many rows and columns of a selected one."""
    result = np.zeros_like(selected)
    for y, x in np.argwhere(selected):
        result[max(y - distance, 0) : y + distance + 1, max(x - distance, 0) : x + distance + 1] = True
    return result


sizes = st.tuples(st.integers(SIZE - FACTOR + 1, 41), st.integers(SIZE - FACTOR + 1, 41))


@st.composite
def selections(draw):
    """A size and some pixels of it: specks and rectangles, in the middle, at edges and in corners."""
    width, height = draw(sizes)
    selected = np.zeros((height, width), np.bool_)
    for _ in range(draw(st.integers(1, 3))):
        x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
        selected[y : y + draw(st.integers(1, 12)), x : x + draw(st.integers(1, 12))] = True
    return (width, height), selected


@FEW
@given(selections(), st.integers(0, 9), st.integers(0, 3))
def test_pixels_beyond_the_seam_are_bit_identical_and_selected_ones_are_new(model, region, seam, seed):
    size, selected = region
    before = photo(*size, seed)
    for after in model.inpaint(before, Image.fromarray(selected), count=2, steps=2, seam=seam, seed=seed):
        differs = changed(before, after)
        assert not (differs & ~near(selected, seam)).any()
        assert differs[selected].mean() > 0.5  # random pixels seldom are what was drawn


@FEW
@given(sizes, st.tuples(*[st.integers(0, 9)] * 4).filter(any), st.integers(0, 6))
def test_an_extended_picture_keeps_its_pixels_but_for_the_seam(model, size, margins, seam):
    before, (left, top, right, bottom) = photo(*size), margins
    options = {"left": left, "top": top, "right": right, "bottom": bottom}
    (after,) = model.extend(before, **options, count=1, steps=2, seam=seam)
    assert after.size == (size[0] + left + right, size[1] + top + bottom)
    inside = after.crop((left, top, left + size[0], top + size[1]))
    new = np.ones(after.size[::-1], np.bool_)
    new[top : top + size[1], left : left + size[0]] = False
    along = near(new, seam)[top : top + size[1], left : left + size[0]]
    assert not (changed(before, inside) & ~along).any()


def test_a_picture_smaller_than_the_training_can_be_extended_to_its_size(model):
    (after,) = model.extend(photo(9, 12), right=7, bottom=4, count=1)
    assert after.size == (16, 16)


@given(sizes, st.tuples(*[st.integers(0, 9)] * 4))
def test_what_is_added_on_the_left_and_above_leaves_the_pictures_codes_whole(size, margins):
    """Codes begin where the picture does, and what is more than asked for is cut off again."""
    (width, height), (left, top, right, bottom) = size, margins
    larger, mask, box = frame(photo(*size), margins, FACTOR)
    x, y = box[0] + left, box[1] + top
    assert x % FACTOR == y % FACTOR == 0
    assert larger.crop((x, y, x + width, y + height)) == photo(*size)
    assert larger.crop(box).size == (left + width + right, top + height + bottom)
    selected = np.ones(mask.size[::-1], np.bool_)
    selected[y : y + height, x : x + width] = False
    assert np.array_equal(np.asarray(mask) == 255, selected)


@given(selections(), st.sampled_from([1, 3, 4]), st.integers(0, 9))
def test_a_code_is_masked_exactly_if_one_of_its_pixels_is_selected(region, factor, seam):
    size, selected = region
    patch = cut(np.asarray(photo(*size)), selected, factor=factor, window=(2, 3), seam=seam)
    h, w = patch.masked.shape
    top, left = patch.rows.start, patch.columns.start
    masked = {(top + y * factor, left + x * factor) for y, x in np.argwhere(patch.masked)}
    assert masked == {(y - y % factor, x - x % factor) for y, x in np.argwhere(selected)}
    part = np.asarray(photo(*size))[patch.rows, patch.columns]
    beyond = [(0, h * factor - part.shape[0]), (0, w * factor - part.shape[1]), (0, 0)]
    assert np.array_equal(patch.pixels, np.pad(part, beyond, "edge"))
    assert fade(selected, seam).sum() == pytest.approx(patch.share.sum()), "all of the seam is in the patch"


@given(selections(), st.integers(0, 3))
def test_what_lies_beyond_the_patch_has_no_part_in_an_edit(region, seed):
    """Denoised within the patch, every masked position hears the same as on the whole canvas."""
    (width, height), selected = region
    window = (2, 3)

    class Windows:
        mask_id = 5
        weights = torch.randn(6 * 6, 6 * 5, generator=generator(0, "weights"), dtype=torch.float64)

        def __call__(self, codes, where):
            seen = torch.nn.functional.one_hot(codes, 6).flatten(1).double()
            return (seen @ self.weights).view(*codes.shape, 5)[where]

    levels = np.random.default_rng(seed).integers(0, 5, (height, width, 1), dtype=np.uint8)
    patch = cut(levels.repeat(3, 2), selected, factor=1, window=window, seam=0)

    def said(levels, masked):
        codes = torch.from_numpy(np.where(masked, 5, levels[:, :, 0]).astype(np.int64)).view(1, -1)
        return Canvas(Windows(), window, masked.shape, Settings())(codes, codes == 5)

    assert torch.allclose(said(patch.pixels, patch.masked), said(levels, selected), atol=1e-12)


def test_a_small_hole_in_a_large_picture_is_little_work():
    selected = np.zeros((900, 1200), np.bool_)
    selected[500:520, 700:730] = True
    patch = cut(np.zeros((900, 1200, 3), np.uint8), selected, factor=4, window=(16, 16), seam=8)
    assert patch.masked.shape == (15 + 5 + 15, 15 + 8 + 15)


def test_the_share_of_the_new_falls_evenly_from_the_selection_to_nothing():
    selected = np.zeros((9, 12), np.bool_)
    selected[4, 2] = True
    assert fade(selected, 3)[4].tolist() == pytest.approx([0.5, 0.75, 1, 0.75, 0.5, 0.25, 0, 0, 0, 0, 0, 0])
    assert np.array_equal(fade(selected, 0), selected)


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.integers(1, 5), st.integers(0, 5))
def test_known_codes_never_change_and_the_chain_begins_with_the_number_of_masked_ones(codes, count, seed):
    codes = torch.tensor(codes)
    masks = int((codes == 3).sum())
    if masks:
        drawn = refill(Table(), codes.expand(count, -1), (2, 2), Settings(), seed=seed).codes
        assert torch.equal(drawn[:, codes != 3], codes[codes != 3].expand(count, -1))
        assert (drawn < 3).all()
        plan = make_plan(range(count), (2, 2), Settings(steps=masks), masked=codes == 3, seed=seed)
        assert torch.equal(drawn, fill(Table(), codes.expand(count, -1), plan, Settings(), seed=seed))


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.integers(1, 5), st.integers(0, 5))
def test_remasking_takes_back_nothing_that_was_given(codes, count, seed):
    codes = torch.tensor(codes)
    if (codes == 3).any():
        drawn = refill(Table(), codes.expand(count, -1), (2, 2), Settings(remask=1), seed=seed).codes
        assert torch.equal(drawn[:, codes != 3], codes[codes != 3].expand(count, -1))
        assert (drawn < 3).all()


def test_with_remasking_a_code_counts_as_it_was_drawn_last():
    """Of a table in which codes ignore each other that is the likelihood of what came out."""
    table, start = Table(), torch.tensor([3, 1, 3, 3])
    table.logits[:] = table.logits[(1, 1, 1, 1)]
    drawn = refill(table, start.expand(50, -1), (2, 2), Settings(remask=1), seed=4)
    log_p = table.logits[(1, 1, 1, 1)].log_softmax(1)[[0, 2, 3]]
    wanted = log_p.gather(1, drawn.codes[:, [0, 2, 3]].T).sum(0)
    assert drawn.log_p == pytest.approx(wanted, abs=1e-5)


def test_canvases_and_edits_can_take_codes_back(model):
    picture, box = photo(20, 17), (3, 3, 9, 9)
    plain, taken_back = (
        [
            levels(model.inpaint(picture, box, seed=3, remask=remask)),
            levels(model.extend(picture, right=8, seed=3, remask=remask)),
            levels([model.canvas((32, 16), seed=3, remask=remask)]),
        ]
        for remask in (0.0, 1.0)
    )
    assert all(one != other for one, other in zip(plain, taken_back, strict=True))


@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("temperature", [0.4, 1.0])
def test_a_candidates_likelihood_is_that_of_its_codes_as_they_were_revealed(batch, temperature):
    """By replaying every picture alone, from the plan and the codes drawn, at temperature 1."""
    table, start, count = Table(), torch.tensor([3, 1, 3, 3]), 7
    settings = Settings(steps=2, temperature=temperature)
    drawn = refill(table, start.expand(count, -1), (2, 2), settings, seed=4, batch=batch)
    plan = make_plan(range(count), (2, 2), settings, masked=start == 3, seed=4)
    for codes, steps, log_p in zip(drawn.codes, plan, drawn.log_p, strict=True):
        state, total = start.clone(), 0.0
        for step in (2, 1):
            now = (steps == step) & (state == 3)
            total += table.logits[tuple(state)].log_softmax(1)[now].gather(1, codes[now][:, None]).sum()
            state[now] = codes[now]
        assert log_p == pytest.approx(total.item())
    assert drawn.log_p.std() > 0.1


def test_ranked_candidates_are_the_same_ones_with_the_likeliest_first(model):
    picture, box = photo(20, 17), (3, 3, 9, 9)
    plain = model.inpaint(picture, box, count=6, seed=3)
    ranked = model.inpaint(picture, box, count=6, seed=3, rank=True)
    order = [plain.index(candidate) for candidate in ranked]
    assert sorted(order) == list(range(6))
    assert order != sorted(order)

    patch = cut(np.asarray(picture), selection(box, picture.size), factor=FACTOR, window=(4, 4), seam=2)
    codes = model.codec.encode(torch.from_numpy(patch.pixels).permute(2, 0, 1)[None] / 255)[0]
    codes[torch.from_numpy(patch.masked)] = K
    grid = patch.masked.shape
    denoise = Canvas(model.prior, (4, 4), grid, Settings())
    drawn = refill(denoise, codes.flatten().expand(6, -1), grid, Settings(), seed=3)
    assert drawn.log_p[order].tolist() == sorted(drawn.log_p.tolist(), reverse=True)


def test_the_same_seed_gives_the_same_candidates_however_many_are_asked_for(model):
    four, two = (model.inpaint(photo(16, 16), (0, 0, 8, 8), count=count, seed=1) for count in (4, 2))
    assert four[:2] == two
    assert len({candidate.tobytes() for candidate in four}) > 1
    assert levels(model.inpaint(photo(16, 16), (0, 0, 8, 8), count=2, seed=2)) != levels(two)


def test_a_mask_replaces_what_is_nearer_to_white_and_never_what_is_transparent():
    levels = Image.fromarray(np.array([[0, 127, 128, 255]], np.uint8))
    assert selection(levels, (4, 1)).tolist() == [[False, False, True, True]]
    levels.putalpha(Image.fromarray(np.array([[255, 255, 255, 0]], np.uint8)))
    assert selection(levels, (4, 1)).tolist() == [[False, False, True, False]]
    assert selection(Image.fromarray(np.array([[False, True]])), (2, 1)).tolist() == [[False, True]]


def test_guidance_that_moves_begins_with_the_first_code_of_an_edit():
    """In one step, all codes are the first, however many of a window are known."""
    bundle = untrained(words=("cat", "dog"))
    bundle.prior.tensors["head.weight"] *= 4
    model = Pipeline(bundle, torch.device("cpu"))
    drawn = {
        guidance: levels(
            model.inpaint(photo(16, 16), (0, 0, 8, 8), "cat", steps=1, guidance=guidance, seam=0)
        )
        for guidance in ((6.0, 1.0), 6.0, 2.0)
    }
    assert drawn[6.0, 1.0] == drawn[6.0] != drawn[2.0]


def test_a_box_is_clipped_to_the_picture():
    assert selection((-1, 1, 3, 9), (4, 3)).tolist() == [
        [False] * 4,
        [True, True, False, False],
        [True, True, False, False],
    ]


def test_a_picture_is_edited_upright_and_opaque(model):
    turned = photo(16, 24)
    turned.putalpha(Image.linear_gradient("L").resize((16, 24)))
    exif = turned.getexif()
    exif[ExifTags.Base.Orientation] = 6  # to be turned to the right
    after = model.inpaint(turned, (0, 0, 4, 4), count=1, seam=0)[0]
    white = Image.new("RGB", turned.size, "white")
    white.paste(turned, mask=turned.getchannel("A"))
    upright = white.transpose(Image.Transpose.ROTATE_270)
    assert after.size == (24, 16)
    assert after.mode == "RGB"
    assert changed(upright, after)[:4, :4].any()
    assert not changed(upright, after)[4:].any()


def test_everything_selected_is_a_picture_from_nothing(model):
    """Nothing of the original is left: another one gives the same."""
    one, other = (model.inpaint(photo(19, 16, seed), (0, 0, 19, 16), count=1)[0] for seed in (0, 1))
    assert one == other


@pytest.mark.parametrize("size", [(16, 16), (33, 16), (17, 22)])
def test_a_canvas_has_the_size_asked_for_and_its_seed_settles_it(model, size):
    picture = model.canvas(size, steps=3, seed=5)
    assert picture.size == size
    assert picture == model.canvas(size, steps=3, seed=5)
    assert levels([picture]) != levels([model.canvas(size, steps=3, seed=6)])


MASK = Image.new("L", (20, 20), "black")


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda m: m.canvas((12, 40)), "12×40 pixels are too few: the model was trained on 16×16"),
        (lambda m: m.canvas((10**6, 10**6)), "more than the 89,478,485 pixels allowed"),
        (lambda m: m.canvas((16, 16), steps=0), "steps 0"),
        (lambda m: m.canvas((32, 32), stride=5), "stride 5 is not in 1..4"),
        (lambda m: m.canvas((32, 32), windows=0), "windows 0"),
        (lambda m: m.canvas((32, 32), temperature=-1), "temperature -1"),
        (lambda m: m.canvas((32, 32), remask=1.5), "remask 1.5"),
        (lambda m: m.inpaint(photo(20, 20), (0, 0, 5, 5), remask=float("nan")), "remask nan"),
        (lambda m: m.inpaint(photo(20, 12), (0, 0, 5, 5)), "20×12 pixels are too few"),
        (lambda m: m.inpaint(photo(21, 20), MASK), "the mask has 20×20 pixels, but the image has 21×20"),
        (lambda m: m.inpaint(photo(20, 20), MASK), "the mask selects nothing"),
        (lambda m: m.inpaint(photo(20, 20), (20, 0, 5, 5)), "the box 20,0,5,5 holds no pixel of the image"),
        (lambda m: m.inpaint(photo(20, 20), (-9, 0, 9, 5)), "holds no pixel"),
        (lambda m: m.inpaint(photo(20, 20), (3, 3, -2, 5)), "holds no pixel"),
        (lambda m: m.inpaint(photo(20, 20), (3, 3, 2, 5), seam=-1), "a seam of -1 pixels"),
        (lambda m: m.inpaint(photo(20, 20), (3, 3, 2, 5), seam=21), "a seam of 21 pixels is not in 0..20"),
        (lambda m: m.inpaint(photo(20, 20), (3, 3, 2, 5), count=0), "0 images"),
        (lambda m: m.extend(photo(20, 20)), "extend nothing"),
        (lambda m: m.extend(photo(20, 20), right=9, left=-2), "-2, 0, 9, 0 pixels"),
        (lambda m: m.extend(photo(20, 20), right=10**9), "more than the 89,478,485 pixels allowed"),
        (lambda m: m.extend(photo(5, 20), right=5), "10×20 pixels are too few"),
    ],
)
def test_a_mistake_is_one_sentence(model, act, sentence):
    with pytest.raises(UnmaskError, match=re.escape(sentence)) as refused:
        act(model)
    assert "bomb" not in str(refused.value)  # what is drawn is none


@pytest.mark.parametrize(
    "act",
    [
        lambda m: m.canvas((32, 16)),
        lambda m: m.inpaint(photo(16, 16), (0, 0, 5, 5)),
        lambda m: m.extend(photo(16, 16), top=8),
    ],
)
def test_an_autoregressive_prior_says_that_it_cannot_fill_in(act):
    with pytest.raises(UnmaskError, match="autoregressive"):
        act(pipeline("autoregressive"))
