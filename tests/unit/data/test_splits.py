import pytest

from unmask.data.splits import split, split_of
from unmask.errors import DataError

GROUPS = [f"group {number}" for number in range(2000)]


def test_the_share_held_out_is_the_share_asked_for():
    held_out = sum(split_of(group, 0.05) == "validation" for group in GROUPS)
    deviation = (2000 * 0.05 * 0.95) ** 0.5
    assert abs(held_out - 100) < 4 * deviation


def test_a_larger_share_keeps_what_a_smaller_one_held_out():
    small = {group for group in GROUPS if split_of(group, 0.05) == "validation"}
    large = {group for group in GROUPS if split_of(group, 0.2) == "validation"}
    assert small < large


def test_every_picture_is_on_exactly_one_side():
    rows = split(GROUPS, 0.05)
    assert sorted(rows["train"] + rows["validation"]) == list(range(2000))


def test_pictures_of_one_group_stay_together():
    groups = [f"group {number % 7}" for number in range(70)]
    rows = split(groups, 0.5)
    assert not {groups[row] for row in rows["train"]} & {groups[row] for row in rows["validation"]}


def test_order_and_company_do_not_matter():
    alone = {group for group in GROUPS if split_of(group, 0.05) == "validation"}
    shuffled = [*GROUPS[::-1], "newcomer"]
    together = {shuffled[row] for row in split(shuffled, 0.05)["validation"]}
    assert together - {"newcomer"} == alone


@pytest.mark.parametrize("count", range(2, 11))
@pytest.mark.parametrize("validation", [0.01, 0.05, 0.5, 0.99])
def test_a_small_set_has_pictures_on_both_sides(count, validation):
    rows = split(GROUPS[:count], validation)
    assert rows["train"]
    assert rows["validation"]


def test_the_one_that_crosses_is_the_nearest_to_the_border():
    """It would be the next to cross if the share were changed little by little."""
    for count in range(2, 11):
        groups = GROUPS[:count]
        [last_to_be_held_out] = split(groups, 0.999999)["train"]
        shares = [share / 1000 for share in range(1, 1000)]
        while_any = [s for s in shares if any(split_of(group, s) == "train" for group in groups)]
        assert all(split_of(groups[last_to_be_held_out], share) == "train" for share in while_any)


def test_nothing_is_held_out_when_nothing_is_asked_for():
    assert split(["a", "b"], 0.0) == {"train": [0, 1], "validation": [], "pairs": []}
    assert split(["a"], 0.0) == {"train": [0], "validation": [], "pairs": []}


@pytest.mark.parametrize("groups", [["a"], ["a", "a", "a"]])
def test_copies_of_one_picture_cannot_be_split(groups):
    with pytest.raises(DataError, match=r"--images\.validation 0"):
        split(groups, 0.05)


def test_the_rule_never_changes():
    """Held-out pictures of old runs must stay held out: these sides are part of the file format."""
    held_out = [group for group in "abcdefgh" if split_of(group, 0.3) == "validation"]
    assert held_out == ["a", "e", "f", "h"]


def test_pairs_are_held_out_of_what_is_trained_on_alone():
    rows = split(GROUPS, 0.05)
    a_trained, a_held_out = rows["train"][0], rows["validation"][0]
    with_pairs = split(GROUPS, 0.05, {a_trained, a_held_out})
    assert with_pairs["pairs"] == [a_trained]
    assert with_pairs["train"] == rows["train"][1:]
    assert with_pairs["validation"] == rows["validation"]
