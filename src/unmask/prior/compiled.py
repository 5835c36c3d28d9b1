"""A prior whose passes ``torch.compile`` has compiled."""

import torch
from torch import Tensor

from unmask.errors import ConfigError
from unmask.prior.transformer import Transformer, pack


class Compiled:
    """A ``diffusion.fill.Denoiser``: one graph for any number of rows and positions, compiled on first use.

    Others are compiled for all positions, for one of either, and for each precision and device.
    """

    def __init__(self, prior: Transformer) -> None:
        self.mask_id = prior.mask_id
        self._at = torch.compile(prior.at, dynamic=True)

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, N) codes with MASK and the (B, N) positions wanted to (where.sum(), K) logits, row-major."""
        from torch._dynamo.exc import BackendCompilerFailed  # seconds of imports, for those who compile

        places, real = pack(where)
        try:
            return self._at(codes, places)[real]
        except BackendCompilerFailed as error:  # no C++ compiler, no Triton, or one that is too old
            reason = str(error.inner_exception).partition("\n")[0]
            raise ConfigError(f"torch cannot compile here: {reason}", hint="--backend torch") from error
