"""Where bfloat16 is computed in."""

import pytest
import torch

from unmask.devices import wants_bfloat16


@pytest.mark.parametrize("has_it", [True, False])
def test_auto_is_bfloat16_where_the_device_multiplies_it_itself(monkeypatch, has_it):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: has_it or including_emulation
    )
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_it)
    assert [wants_bfloat16("auto", device) for device in ("cuda", "cpu", "mps")] == [has_it, has_it, False]
    for device in ("cuda", "cpu", "mps"):
        assert wants_bfloat16("bf16", device)
        assert not wants_bfloat16("32", device)
