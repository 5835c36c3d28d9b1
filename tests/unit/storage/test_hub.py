"""Names that the hub itself would refuse."""

import pytest

from unmask.errors import BundleError
from unmask.storage import hub


@pytest.mark.parametrize("name", ["run--1/best", "ann/birds.git", f"ann/{'a' * 97}"])
def test_a_name_that_nothing_on_the_hub_can_have_is_a_folder_that_is_not_there(name):
    assert hub.is_name(name)
    with pytest.raises(BundleError, match=f"there is no folder {name}, and nothing on the hub"):
        hub.snapshot(name)
