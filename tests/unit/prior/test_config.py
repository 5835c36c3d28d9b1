import pytest

from unmask.errors import ConfigError
from unmask.prior.config import PriorConfig


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"depth": 0},
        {"heads": 0},
        {"width": 30, "heads": 4},
        {"dropout": 1.0},
        {"positions": "rotary", "width": 12, "heads": 2},
    ],
    ids=str,
)
def test_impossible_priors_are_refused_by_the_name_of_the_setting(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        PriorConfig(**wrong)
