import torch
from PIL import Image

from unmask.studio.api import _changes
from unmask.studio.tasks import Previews, warm_up


def test_warming_up_goes_for_both_kinds_of_priors(model, autoregressive):
    warm_up(model)
    warm_up(autoregressive)


def test_only_pictures_whose_codes_changed_are_made_and_sent_again():
    shown = []

    def show(codes):
        shown.append(codes.tolist())
        return [Image.new("L", (8, 8), 9 * int(row.sum())) for row in codes]

    previews, codes = Previews(show), torch.tensor([[1, 2], [3, 4], [5, 6]])
    first = previews(codes)
    codes[1, 0] = 9  # as samplers do, in place
    second = previews(codes)
    assert shown == [[[1, 2], [3, 4], [5, 6]], [[9, 4]]]
    assert previews(codes) == second
    assert len(shown) == 2
    sent = _changes(tuple(first), tuple(second))
    assert [each is None for each in sent] == [True, False, True]
    assert None not in _changes((), tuple(first))
    assert len(previews(codes[:2])) == 2  # another batch


def test_pictures_take_turns_so_that_the_first_are_soon_there():
    shown = []

    def show(codes):
        shown.append(codes.flatten().tolist())
        return [Image.new("RGB", (4, 4), (int(code), 0, 0)) for code in codes.flatten()]

    previews, codes = Previews(show), torch.arange(6).view(6, 1)
    sent = _changes((), tuple(previews(codes)))
    assert [each is None for each in sent] == [False] * 4 + [True] * 2
    assert all(previews(codes))
    previews(codes)
    for _ in range(2):
        codes += 10
        previews(codes)
    assert shown == [[0, 1, 2, 3], [4, 5], [10, 11, 12, 13], [24, 25, 20, 21]]
