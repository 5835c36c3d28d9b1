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
