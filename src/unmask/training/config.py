"""What training can be told. Free of torch, so that ``--help`` is instant."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from unmask.devices import Device, Precision
from unmask.errors import ConfigError, require_at_least, require_share


@dataclass(frozen=True, kw_only=True)
class OptimConfig:
    """How weights move: the optimiser, a running average of the weights, batches."""

    kind: Literal["adam", "muon"] = "adam"
    """adam: the paper's. muon: orthogonalised momentum for a prior's hidden matrices, Adam for the rest."""
    lr: float = 1.8e-5
    """Learning rate. The paper's: for codecs 4.5e-6 times the batch, for priors 1e-4 or 2e-4."""
    beta1: float = 0.9
    beta2: float = 0.999
    weight_decay: float = 0.0
    """Muon's: the share of a hidden matrix that a step at learning rate 1 would take away."""
    batch: int = 4
    """Pictures a step and process; with accumulation, pictures a pass."""
    accumulate: int = 1
    """Passes whose gradients are added up for one step."""
    warmup: int = 0
    """Steps over which the learning rate rises from nothing."""
    cooldown: int = 0
    """Last steps over which the learning rate falls to nothing. 0: constant to the end, as in the paper."""
    clip: float = 0.0
    """Largest norm of the gradient. 0: no limit."""
    ema_decay: float = 0.995
    """Share of the running average that each update keeps; the average is what is validated and saved."""
    ema_every: int = 10
    """Steps between updates of the running average."""

    def __post_init__(self) -> None:
        require_at_least(1, "optim", self, "batch", "accumulate", "ema_every")
        require_at_least(0, "optim", self, "warmup", "cooldown", "clip", "weight_decay")
        if not 0 < self.lr < math.inf:
            raise ConfigError(f"optim.lr={self.lr} is not a positive number")
        require_share("optim", self, "beta1", "beta2", "ema_decay")


@dataclass(frozen=True, kw_only=True)
class LoopConfig:
    """How long to train, and how often to look up from it."""

    steps: int = 2_200_000
    """Steps in all. Of fewer than the preset's, warm-up, cool-down and the time between validations become
    shorter alike, where they are not given."""
    seed: int = 0
    """Settles the weights at the start, the order of the pictures and every draw."""
    log_every: int = 100
    """Steps between lines of metrics."""
    validate_every: int = 5_000
    """Steps between validations, by which the best model is chosen."""
    save_every: int = 2_500
    """Steps between checkpoints; a run that is killed loses no more than this."""
    keep: int = 2
    """Checkpoints to keep."""
    patience: int = 0
    """Stop after this many validations in a row without a new best. 0: never."""

    def __post_init__(self) -> None:
        require_at_least(1, "loop", self, "steps", "log_every", "validate_every", "save_every", "keep")
        require_at_least(0, "loop", self, "patience")


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Where to compute. Several processes: start the same command under torchrun."""

    device: Annotated[Device, arg(aliases=["--device"])] = "auto"
    """auto: a GPU if there is one."""
    precision: Precision = "auto"
    """auto: bfloat16 where the device has it (GPUs since 2020, CPUs with avx512_bf16), float32 elsewhere."""
    threads: int = 0
    """CPU threads of a process. 0: all cores, or what torchrun gives each of several."""

    def __post_init__(self) -> None:
        require_at_least(0, "engine", self, "threads")


@dataclass(frozen=True, kw_only=True)
class DiffusionConfig:
    """What the absorbing prior is trained for, and how it is measured."""

    steps: int = 256
    """T, the steps of the chain whose bound is optimised and reported."""
    loss: Annotated[Literal["reweighted", "elbo", "mlm"], arg(aliases=["--loss"])] = "reweighted"
    """reweighted: (T − t + 1)/T (the paper). elbo: the bound itself. mlm: the mean over masked codes."""
    masking: Literal["random", "fixed"] = "random"
    """random: each code on its own with probability t/T. fixed: exactly that share of them."""
    times: Literal["uniform", "cosine"] = "uniform"
    """uniform: every time as often (the paper). cosine: nearly all masked more often (MaskGIT); needs mlm."""
    stratified: bool = False
    """Spread the times of a batch over 1..T (beyond the paper)."""
    text_share: float = 0.1
    """The captions' share of the loss, where pictures have captions."""
    label_smoothing: float = 0.0
    """Share of each target spread over all codes (beyond the paper)."""
    validation_draws: int = 8
    """Passes for each picture of the validation split when the bound is measured."""

    def __post_init__(self) -> None:
        require_at_least(1, "diffusion", self, "steps", "validation_draws")
        require_share("diffusion", self, "label_smoothing", "text_share")
        if self.times == "cosine" and (self.loss != "mlm" or self.masking != "random"):
            raise ConfigError(
                f"diffusion.times=cosine needs mlm and random masking, not {self.loss}, {self.masking}",
                hint="type: --loss mlm --diffusion.masking random",
            )
