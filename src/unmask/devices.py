"""Where to compute: the devices that this machine has. Free of torch until one is asked for."""

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from unmask.errors import ConfigError

if TYPE_CHECKING:
    import torch

Device = Literal["auto", "cpu", "cuda", "mps"]
"""What commands and trainings can be told; auto: a GPU if there is one."""


def require_device(name: str) -> "torch.device":
    """The device called ``name``, such as cuda or cuda:1, for auto the best; refused if it is not here."""
    import torch

    here = _devices()
    with suppress(RuntimeError):  # by which torch says that there is no kind of that name
        device = torch.device(next(iter(here)) if name == "auto" else name)
        if (device.index or 0) < here.get(device.type, 0):
            return device
    fastest = f"--device auto  takes the fastest of {', '.join(here)}"
    raise ConfigError(f"this machine has no device {name} that torch can use", hint=fastest)


def _devices() -> dict[str, int]:
    """How many there are of each kind, the fastest kind first."""
    import torch

    mps = torch.backends.mps.is_available()
    numbers = {"cuda": torch.cuda.device_count(), "mps": int(mps), "cpu": 1}
    return {kind: number for kind, number in numbers.items() if number}
