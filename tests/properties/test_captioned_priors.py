"""Words that settle codes: a prior that reads them comes near the entropies that are known."""

import math

import numpy as np
import pytest
import torch

from unmask.config import PriorTraining
from unmask.data.codes import Codes, Stamp
from unmask.diffusion.guidance import Conditioned
from unmask.generation.prompts import Words
from unmask.models import prior_from, vocabulary_from
from unmask.prior.config import PriorConfig
from unmask.storage.bundles import Part
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine
from unmask.training.prior_task import PriorTask

K, N, SURE = 4, 4, 0.85
LABELS = ("red house", "green", "blue")  # label i makes every code i with probability SURE, else any other


def entropy(p):
    return -sum(x * math.log2(x) for x in p if x)


GIVEN = entropy([SURE] + [(1 - SURE) / (K - 1)] * (K - 1))  # bits per code when the label is known


def joint():
    """(labels, K^N) probabilities of all codes of each label."""
    digits = np.stack(np.unravel_index(np.arange(K**N), (K,) * N))
    likely = np.where(digits == np.arange(len(LABELS))[:, None, None], SURE, (1 - SURE) / (K - 1))
    return likely.prod(1) / len(LABELS)


WITHOUT = entropy(joint().sum(0)) / N
CAPTION = entropy(joint().ravel()) - entropy(joint().sum(0))  # bits of a label when all codes are known


@pytest.fixture(scope="module")
def labelled():
    """20,000 pictures to train on, a tenth of them without a caption, and 2,000 of validation."""
    draws, count = np.random.default_rng(0), 22_000
    labels = draws.integers(len(LABELS), size=count)
    others = (labels[:, None] + draws.integers(1, K, size=(count, N))) % K
    rows = np.where(draws.random((count, N)) < SURE, labels[:, None], others).astype(np.uint16)
    captions = [
        None if number % 10 == 3 and number < 20_000 else LABELS[label] for number, label in enumerate(labels)
    ]
    stamp = Stamp(
        codec="", pixels=("", ""), data="", image_size=2, grid=(2, 2), codebook_size=K, flips=False,
        num_train=20_000, num_validation=2_000,
    )  # fmt: skip
    return Codes(stamp, rows[:, None], captions)


def trained(labelled, kind, positions="rotary"):
    task = PriorTask(
        PriorTraining(
            prior=PriorConfig(kind=kind, width=32, depth=2, heads=4, init="gpt2", positions=positions),
            diffusion=DiffusionConfig(steps=10_000, stratified=True, validation_draws=9, text_share=0.2),
            optim=OptimConfig(lr=3e-3, batch=128, warmup=20, cooldown=100, ema_decay=0.9, ema_every=1),
            loop=LoopConfig(steps=500),
        ),
        Engine(EngineConfig(device="cpu", threads=1, precision="32")),
        labelled,
        codec=Part({}, {}),
        decode=lambda codes: codes[:, None].expand(-1, 3, -1, -1).float() / K,
        about={},
    )
    for step in range(500):
        task.step(step)
    return task


def test_an_absorbing_prior_learns_every_conditional(labelled):
    task = trained(labelled, "absorbing")
    found = task.validate()
    assert WITHOUT - 4 * found["standard_error"] < found["bits"] < 1.05 * WITHOUT
    assert GIVEN - 0.05 < found["bits_given_caption"] < 1.05 * GIVEN
    assert CAPTION - 0.1 < found["bits_per_caption"] < CAPTION + 0.1
    assert GIVEN < 0.8 * WITHOUT
    assert 0.7 * math.log2(len(LABELS)) > CAPTION

    part = task.bundle(500, found).prior
    vocabulary, prior = vocabulary_from(part), prior_from(part)
    assert vocabulary.words == ("blue", "green", "house", "red")
    words = Words(vocabulary, prior.mask_id).ids("red")  # the beginning of a caption will do
    masked = torch.full((1, N), prior.mask_id)
    p = Conditioned(prior, words=words)(masked, masked == prior.mask_id).softmax(1)
    assert p[:, 0].tolist() == pytest.approx([SURE] * N, abs=0.05)
    assert task.pictures()["samples"].size > (0, 0)


def test_an_autoregressive_prior_reads_the_caption_first(labelled):
    task = trained(labelled, "autoregressive", positions="learned")
    found = task.validate()
    assert WITHOUT - 4 * found["standard_error"] < found["bits"] < 1.05 * WITHOUT
    assert GIVEN - 0.05 < found["bits_given_caption"] < 1.05 * GIVEN
    assert "bits_per_caption" not in found
    assert task.pictures()["samples"].size > (0, 0)
