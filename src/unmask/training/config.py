"""Settings of a training. Free of torch, so that ``--help`` is instant."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from unmask.devices import Device, Precision
from unmask.errors import ConfigError, require_at_least, require_share


@dataclass(frozen=True, kw_only=True)
class OptimConfig:
    """Optimiser, learning rate, batch size, and the moving average of the weights (EMA)."""

    kind: Literal["adam", "muon"] = "adam"
    """adam: the paper's. muon: Muon for a prior's hidden matrices, Adam for the rest."""
    lr: float = 1.8e-5
    """Learning rate. The paper's: 4.5e-6 times the batch size for codecs, 1e-4 or 2e-4 for priors."""
    beta1: float = 0.9
    """β₁ of Adam."""
    beta2: float = 0.999
    """β₂ of Adam."""
    weight_decay: float = 0.0
    """muon: decoupled weight decay of the hidden matrices. Adam has none."""
    batch: int = 4
    """Batch size per process and pass."""
    accumulate: int = 1
    """Gradient accumulation: passes per step."""
    warmup: int = 0
    """Steps over which the learning rate rises linearly from 0."""
    cooldown: int = 0
    """Last steps, over which the learning rate falls linearly to 0. 0: no cool-down, as in the paper."""
    clip: float = 0.0
    """Gradient clipping: maximum norm. 0: off."""
    ema_decay: float = 0.995
    """Decay of the EMA weights, which are validated, saved and sampled from."""
    ema_every: int = 10
    """Steps between updates of the EMA weights."""

    def __post_init__(self) -> None:
        require_at_least(1, "optim", self, "batch", "accumulate", "ema_every")
        require_at_least(0, "optim", self, "warmup", "cooldown", "clip", "weight_decay")
        if not 0 < self.lr < math.inf:
            raise ConfigError(f"optim.lr={self.lr} is not a positive number")
        require_share("optim", self, "beta1", "beta2", "ema_decay")


@dataclass(frozen=True, kw_only=True)
class LoopConfig:
    """Number of steps, logging, validation and checkpoints."""

    steps: int = 2_200_000
    """Total steps. If below the preset's, warm-up, cool-down and the validation interval shrink in
    proportion, unless they are given too."""
    seed: int = 0
    """Seed of the initial weights, the order of the data and all sampling."""
    log_every: int = 100
    """Steps between log entries."""
    validate_every: int = 5_000
    """Steps between validations, by which the best model is chosen."""
    save_every: int = 2_500
    """Steps between checkpoints: a killed run loses no more than this."""
    keep: int = 2
    """Number of checkpoints to keep."""
    patience: int = 0
    """Early stopping: stop after this many validations in a row without a new best. 0: never."""

    def __post_init__(self) -> None:
        require_at_least(1, "loop", self, "steps", "log_every", "validate_every", "save_every", "keep")
        require_at_least(0, "loop", self, "patience")


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Device, precision and threads. For several processes, run the same command under torchrun."""

    device: Annotated[Device, arg(aliases=["--device"])] = "auto"
    """auto: a GPU if there is one."""
    precision: Precision = "auto"
    """auto: bfloat16 where the device supports it (GPUs since 2020, CPUs with avx512_bf16), else float32."""
    threads: int = 0
    """CPU threads per process. 0: all cores, or the number that torchrun sets."""

    def __post_init__(self) -> None:
        require_at_least(0, "engine", self, "threads")


@dataclass(frozen=True, kw_only=True)
class DiffusionConfig:
    """Loss and validation of the absorbing prior."""

    steps: int = 256
    """T, the number of diffusion steps in the loss and in the reported bound."""
    loss: Annotated[Literal["reweighted", "elbo", "mlm"], arg(aliases=["--loss"])] = "reweighted"
    """reweighted: weights (T − t + 1)/T (the paper). elbo: the bound itself. mlm: mean over masked codes."""
    masking: Literal["random", "fixed"] = "random"
    """random: each code independently with probability t/T. fixed: exactly that share of the codes."""
    times: Literal["uniform", "cosine"] = "uniform"
    """Distribution of t. uniform: the paper. cosine: more often nearly all masked (MaskGIT); needs mlm."""
    stratified: bool = False
    """Stratified t: spread over 1..T within a batch (beyond the paper)."""
    text_share: float = 0.1
    """Weight of the captions in the loss, if there are captions; the codes have the rest."""
    label_smoothing: float = 0.0
    """Label smoothing (beyond the paper)."""
    validation_draws: int = 8
    """Masks per validation image when the bound is estimated."""

    def __post_init__(self) -> None:
        require_at_least(1, "diffusion", self, "steps", "validation_draws")
        require_share("diffusion", self, "label_smoothing", "text_share")
        if self.times == "cosine" and (self.loss != "mlm" or self.masking != "random"):
            raise ConfigError(
                f"diffusion.times=cosine needs mlm and random masking, not {self.loss}, {self.masking}",
                hint="type: --loss mlm --diffusion.masking random",
            )
