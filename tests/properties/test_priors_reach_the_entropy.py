"""A distribution whose entropy is known: a prior can come near it, and never below."""

import math

import numpy as np
import pytest

from unmask.config import PriorTraining
from unmask.data.codes import Codes, Stamp
from unmask.prior.config import PriorConfig
from unmask.storage.bundles import Part
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine
from unmask.training.prior_task import PriorTask

pytestmark = pytest.mark.slow

K, N, STAY = 5, 9, 0.8
CHANGE = (1 - STAY) / (K - 1)
STEP_BITS = -STAY * math.log2(STAY) - (K - 1) * CHANGE * math.log2(CHANGE)
ENTROPY = (math.log2(K) + (N - 1) * STEP_BITS) / N  # bits per code


def markov_chain(count, seed):
    """(count, N) codes: the first uniform, each next the same with probability STAY, else another."""
    draws = np.random.default_rng(seed)
    codes = np.empty((count, N), np.uint16)
    codes[:, 0] = draws.integers(K, size=count)
    for i in range(1, N):
        moved = (codes[:, i - 1] + draws.integers(1, K, size=count)) % K
        codes[:, i] = np.where(draws.random(count) < STAY, codes[:, i - 1], moved)
    return codes


@pytest.fixture(scope="module")
def chains():
    stamp = Stamp(
        codec="", pixels=("", ""), data="", image_size=3, grid=(3, 3), codebook_size=K, flips=False,
        num_train=20_000, num_validation=2_000,
    )  # fmt: skip
    rows = np.concatenate([markov_chain(stamp.num_train, 0), markov_chain(stamp.num_validation, 1)])
    return Codes(stamp, rows[:, None])


@pytest.mark.parametrize(
    ("kind", "loss"),
    [("absorbing", "reweighted"), ("absorbing", "elbo"), ("absorbing", "mlm"), ("autoregressive", "elbo")],
)
def test_a_trained_prior_comes_within_five_percent_of_the_entropy(chains, kind, loss):
    task = PriorTask(
        PriorTraining(
            prior=PriorConfig(kind=kind, width=32, depth=2, heads=4, init="gpt2"),
            diffusion=DiffusionConfig(steps=10_000, loss=loss, stratified=True, validation_draws=9),
            optim=OptimConfig(lr=3e-3, batch=128, warmup=20, cooldown=200, ema_decay=0.9, ema_every=1),
            loop=LoopConfig(steps=800),
        ),
        Engine(EngineConfig(device="cpu", threads=1, precision="32")),
        chains,
        codec=Part({}, {}),
        decode=lambda codes: codes,
        about={},
    )
    before = task.validate()["bits"]
    for step in range(800):
        task.step(step)
    after = task.validate()
    assert before > 1.5 * ENTROPY
    assert after["bits"] < 1.05 * ENTROPY
    assert after["bits"] > ENTROPY - 4 * after["standard_error"]
