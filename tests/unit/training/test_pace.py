"""How long the parts of a training take."""

from dataclasses import replace

import pytest

from unmask.codec.config import LossConfig
from unmask.presets import codec_preset
from unmask.training import pace
from unmask.training.codec_task import CodecTask


@pytest.mark.parametrize(("adversarial", "first"), [("off", 0), ("hinge", 7)])
def test_steps_are_measured_with_the_discriminator_that_most_of_them_have(adversarial, first, monkeypatch):
    taken, step = [], CodecTask.step
    monkeypatch.setattr(CodecTask, "step", lambda task, number: (taken.append(number), step(task, number))[1])
    tiny = codec_preset("tiny")
    loss = LossConfig(
        adversarial=adversarial, adversarial_start=7, discriminator_width=8, discriminator_layers=1
    )
    pace.codec_pace(replace(tiny, loss=replace(loss, perceptual=tiny.loss.perceptual)))
    assert taken == [*range(first, first + 1 + pace.MEASURED)]
