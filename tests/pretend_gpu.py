"""A pretend GPU: CPU tensors that behave as if they lived on a device of their own.

    with PretendGPU() as gpu:
        model = Pipeline(untrained(), gpu.device)
        model.sample(3)
    assert gpu.waits < 40

An operation that mixes its tensors with the CPU's raises, as on a GPU, where only numbers without dimensions
and indices may mix. How often the host had to wait for the device is counted. ``float64=False`` is a device
without it, as Apple's are. It has no streams, no generators of its own and no inference mode.
"""

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self
from unittest import mock

import torch
import torch.utils.backend_registration as registration
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

KIND = "pretend"
COPIES = {"aten::_to_copy", "aten::copy_", "aten::_copy_from", "aten::set_"}
WAITING = {  # what a host can only do, or shape, when it knows values
    "aten::_local_scalar_dense",
    "aten::_unique2",
    "aten::bincount",
    "aten::equal",
    "aten::is_nonzero",
    "aten::masked_select",
    "aten::nonzero",
    "aten::repeat_interleave",
    "aten::unique_consecutive",
    "aten::unique_dim",
}
INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class _Backend(registration._DummyBackendModule):
    """What torch asks of a kind of device."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def synchronize(self, *_: object) -> None:
        return None


registration._setup_privateuseone_for_python_backend(rename=KIND, backend_module=_Backend())


class PretendGPU(TorchDispatchMode):
    """Within the block ``device`` exists; ``waits`` counts how often the host waited for it."""

    device = torch.device(KIND, 0)
    present: "PretendGPU | None" = None  # backward passes run in threads of their own, which know no mode

    def __init__(self, *, float64: bool = True) -> None:
        super().__init__()
        self.float64, self.waits = float64, 0
        self._patch = mock.patch.object(torch, "Generator", _Generator)

    def __enter__(self) -> Self:
        PretendGPU.present = self
        self._swapped = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        self._patch.start()
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._patch.stop()
        torch.__future__.set_swap_module_params_on_conversion(self._swapped)
        PretendGPU.present = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of an operation, on the device if a tensor of it or the caller says so."""
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        here = [tensor for tensor in tensors if isinstance(tensor, PretendTensor)]
        target, name = kwargs.get("device"), func._schema.name
        if not here and not _is_pretend(target):
            return func(*args, **kwargs)
        lands = bool(here) if target is None else _is_pretend(target)
        if name == "aten::copy_":
            lands = isinstance(args[0], PretendTensor)
        if here and name not in COPIES:
            _check_mixture(name, tensors)
        self.waits += bool(here) and (not lands or _waits(name, args))
        raw_args, raw_kwargs = tree_map(_raw, (args, kwargs))
        if _is_pretend(target):
            raw_kwargs["device"] = torch.device("cpu")
        result = func(*raw_args, **raw_kwargs)
        if name.endswith("_") and not name.endswith("__") and isinstance(args[0], Tensor):
            return args[0]
        return tree_map(self._placed, result) if lands else result

    def _placed(self, result: Any) -> Any:
        if not isinstance(result, Tensor) or isinstance(result, PretendTensor):
            return result
        if not self.float64 and result.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return PretendTensor(result)


class _Generator(torch.Generator):
    """A generator of the CPU, whatever is asked for."""

    def __new__(cls, device: Any = "cpu") -> "_Generator":
        return super().__new__(cls, "cpu" if _is_pretend(device) else device)


class PretendTensor(Tensor):
    """A tensor on the device, of which ``raw`` has the values."""

    raw: Tensor

    @staticmethod
    def __new__(cls, raw: Tensor) -> "PretendTensor":
        made: PretendTensor = Tensor._make_wrapper_subclass(
            cls, raw.size(), strides=raw.stride(), dtype=raw.dtype, device=PretendGPU.device
        )
        return made

    def __init__(self, raw: Tensor) -> None:
        self.raw = raw

    def data_ptr(self) -> int:
        """Where it lies, by which a checkpoint knows tensors of the same memory."""
        return self.raw.data_ptr()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copy = self.detach().clone()
        memo[id(self)] = nn.Parameter(copy, self.requires_grad) if isinstance(self, nn.Parameter) else copy
        return memo[id(self)]

    def tolist(self) -> Any:
        """Torch has none for tensors of other makes."""
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert PretendGPU.present is not None, "its tensors are used within its block"
        return PretendGPU.present.run(func, args, kwargs or {})


def _raw(leaf: Any) -> Any:
    return leaf.raw if isinstance(leaf, PretendTensor) else leaf


def _is_pretend(device: Any) -> bool:
    return device is not None and torch.device(device).type == KIND


def _waits(name: str, args: Any) -> bool:
    """Whether the host has to know values: of bools as indices, how many are true."""
    indices = [leaf for leaf in tree_leaves(args[1:2]) if isinstance(leaf, Tensor)]
    return name in WAITING or (name in INDEXING and any(each.dtype == torch.bool for each in indices))


def _check_mixture(name: str, tensors: Iterable[Tensor]) -> None:
    strangers = [each for each in tensors if not isinstance(each, PretendTensor) and each.dim() > 0]
    indices = all(stranger.dtype in (torch.int64, torch.bool) for stranger in strangers)
    if strangers and not (name in INDEXING and indices):
        found = [(tuple(each.shape), str(each.device)) for each in tensors]
        raise RuntimeError(f"{name} mixes devices: {found}")
