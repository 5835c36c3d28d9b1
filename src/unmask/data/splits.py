"""Which images are held out: decided by their content, never by their place.

A picture's group (a hash of its content, unless its source knows better) is hashed to a number in [0, 1); the
groups below the validation share are held out. So renaming, moving, copying or adding pictures moves no other
picture across the split, and copies of one picture are never on both sides of it.

A source may also name pairs: pictures of groups that are trained on, in a style in which they are not. They
are held out too, apart from the validation pictures, whose groups are not trained on at all.
"""

import hashlib
from collections.abc import Collection, Sequence
from typing import Literal

from unmask.errors import DataError

Split = Literal["train", "validation"]
Part = Literal[Split, "pairs"]


class SingleImageError(DataError):
    """That there is nothing to split; what to type instead depends on the command."""

    def __init__(self, hint: str | None = None) -> None:
        message = "a single image, or copies of a single one, cannot be both trained on and held out"
        super().__init__(message, hint=hint)


def split_of(group: str, validation: float) -> Split:
    """The side of the split on which a group falls when ``validation`` of all groups are held out."""
    return "validation" if _place(group) < validation else "train"


def split(
    groups: Sequence[str], validation: float, pairs: Collection[int] = frozenset()
) -> dict[Part, list[int]]:
    """Positions in ``groups`` of the pictures of each part, ascending; ``pairs`` are positions too.

    A pair whose group is held out belongs to the validation pictures.

    Where the rule would leave one side of a small set empty, the group nearest to the border crosses it. With
    ``validation`` 0 all pictures are for training.
    """
    sides = {group: split_of(group, validation) for group in groups}
    if validation > 0 and len(set(sides.values())) < 2:
        if len(sides) < 2:
            raise SingleImageError("hold none out:  --images.validation 0")
        nearest = min(sides, key=lambda group: abs(_place(group) - validation))
        sides[nearest] = "train" if sides[nearest] == "validation" else "validation"
    rows: dict[Part, list[int]] = {"train": [], "validation": [], "pairs": []}
    for row, group in enumerate(groups):
        rows["pairs" if row in pairs and sides[group] == "train" else sides[group]].append(row)
    return rows


def _place(group: str) -> float:
    digest = hashlib.blake2b(b"split/" + group.encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48
