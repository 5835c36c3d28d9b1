import math

import pytest

from unmask.errors import ConfigError
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (OptimConfig, {"batch": 0}),
        (OptimConfig, {"accumulate": 0}),
        (OptimConfig, {"ema_every": 0}),
        (OptimConfig, {"ema_decay": 1.0}),
        (OptimConfig, {"warmup": -1}),
        (OptimConfig, {"cooldown": -1}),
        (OptimConfig, {"clip": -1.0}),
        (OptimConfig, {"clip": math.nan}),
        (OptimConfig, {"lr": 0.0}),
        (OptimConfig, {"lr": math.nan}),
        (OptimConfig, {"lr": math.inf}),
        (OptimConfig, {"beta1": 1.5}),
        (OptimConfig, {"beta2": -0.1}),
        (LoopConfig, {"steps": 0}),
        (LoopConfig, {"log_every": 0}),
        (LoopConfig, {"validate_every": 0}),
        (LoopConfig, {"save_every": 0}),
        (LoopConfig, {"keep": 0}),
        (LoopConfig, {"patience": -1}),
        (EngineConfig, {"threads": -1}),
        (DiffusionConfig, {"steps": 0}),
        (DiffusionConfig, {"validation_draws": 0}),
        (DiffusionConfig, {"label_smoothing": 1.0}),
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_an_error_that_names_it(kind, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "-")):
        kind(**wrong)
