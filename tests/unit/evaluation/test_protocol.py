"""What stands beside a metric."""

from unmask.data.config import ImagesConfig
from unmask.evaluation.protocol import RESIZE, resizing


def test_a_model_of_random_crops_is_compared_with_random_crops():
    assert resizing(ImagesConfig(), "train") == RESIZE
    crops = ImagesConfig(crop="random", scale=(1.5, 2.5))
    assert resizing(crops, "all") == RESIZE
    assert resizing(crops, "train").startswith("a random crop of each, its edge 1/1.5 to 1/2.5")
