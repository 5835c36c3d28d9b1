"""What an edit shows while it is drawn."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from tests.untrained import FACTOR, K, untrained
from unmask.generation.edits import MARGIN, inpaint, selected
from unmask.pipeline import Pipeline

SEAM = 3


@pytest.fixture
def model():
    return Pipeline(untrained(edge=8), torch.device("cpu")).editor


@pytest.fixture
def picture():
    pixels = np.random.default_rng(0).integers(0, 256, (100, 130, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def test_a_preview_decodes_what_changes_and_leaves_the_rest_as_it_was(model, picture):
    decoded = []
    watched = replace(model, decode=lambda codes: (decoded.append(codes.shape[1:]), model.decode(codes))[1])
    edit = selected(watched, picture, (60, 40, 16, 8), SEAM)
    num_codes = edit.patch.masked.size
    codes = torch.full((2, num_codes), K)
    one, other = (np.asarray(seen) for seen in edit.preview(codes))
    (rows, columns) = decoded[0]
    assert rows <= 8 // FACTOR + 2 + 2 * MARGIN
    assert columns <= 16 // FACTOR + 2 + 2 * MARGIN
    assert rows * columns < num_codes
    outside = np.ones(one.shape[:2], bool)
    outside[40 - SEAM : 48 + SEAM, 60 - SEAM : 76 + SEAM] = False
    assert np.array_equal(one[outside], np.asarray(picture)[outside])
    assert (one[40:48, 60:76] == 128).all()  # nothing is known yet
    assert np.array_equal(one, other)


@pytest.mark.parametrize(("guidance", "twice"), [(1.0, ""), (2.0, " × 2 for guidance")])
def test_guidance_by_what_surrounds_a_part_is_announced(model, picture, capsys, guidance, twice):
    inpaint(model, picture, (60, 40, 4, 4), count=1, steps=1, guidance=guidance, progress=True)
    assert re.search(rf"drawing: at most \d+ windows × 1 passes{twice}, about", capsys.readouterr().err)


def test_a_preview_of_a_whole_picture_is_what_is_drawn(model, picture):
    edit = selected(model, picture, (0, 0, 130, 100), SEAM)
    codes = torch.randint(K + 1, (2, edit.patch.masked.size), generator=torch.Generator().manual_seed(0))
    for seen, drawn in zip(edit.preview(codes), edit.show(codes), strict=True):
        assert np.array_equal(np.asarray(seen), np.asarray(drawn))
