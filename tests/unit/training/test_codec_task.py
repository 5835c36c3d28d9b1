import math

import pytest
import torch

from unmask.codec.config import CodecConfig, LossConfig, QuantizerConfig
from unmask.codec.losses import generator_loss
from unmask.config import CodecTraining
from unmask.data.config import ImagesConfig
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part
from unmask.training.codec_task import CodecTask
from unmask.training.config import EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine

CODEC = CodecConfig(
    width=8,
    multipliers=(1, 2),
    blocks=1,
    attention=(2,),
    code_width=4,
    groups=4,
    quantizer=QuantizerConfig(codebook_size=16, kmeans_batches=2, recycle_after=2),
)
LOSS = LossConfig(perceptual="off", adversarial_start=0, discriminator_width=8, discriminator_layers=1)
OPTIM = OptimConfig(lr=1e-2, batch=4, ema_every=1, ema_decay=0.5)
KEPT = Bundle(
    codec=Part(config={}, tensors={}),
    prior=Part(config={}, tensors={"tokens": torch.ones(2)}),
    sampling={"recommended": {"sample": {"steps": 8}}},
)


@pytest.fixture
def make_task(pixels):
    def make(codec=CODEC, loss=LOSS, optim=OPTIM, steps=6, precision="32", **more):
        parts = (pixels.split("train"), pixels.split("validation"))
        images, loop = ImagesConfig(size=16), LoopConfig(steps=steps)
        settings = CodecTraining(images=images, codec=codec, loss=loss, optim=optim, loop=loop)
        engine = Engine(EngineConfig(device="cpu", threads=1, precision=precision))
        return CodecTask(settings, engine, *parts, about={}, **more)

    return make


def weights_of(task):
    return {name: tensor.clone() for name, tensor in task.state()["codec"].items()}


def test_one_pass_has_the_gradients_of_differentiating_every_loss_by_itself(make_task, rng):
    """λ and the total gradient equal those of the textbook way: L_rec, L_G and the total, one by one."""
    loss = LossConfig(**vars(LOSS) | {"augment": False, "adaptive_max": math.inf})
    task = make_task(loss=loss)
    codec, discriminator = task._codec, task._discriminator
    images = torch.rand(4, 3, 16, 16, generator=rng)

    metrics, _ = task._pass(images, 0, False, generator(1))
    ours = {name: p.grad.clone() for name, p in codec.named_parameters()}

    codec.zero_grad()
    output, quantized = codec(images, 0, generator(1))
    rec, adversarial = (images - output).abs().mean(), generator_loss(discriminator(output), "hinge")
    last = codec.decoder[-1].weight
    (g_rec,) = torch.autograd.grad(rec, last, retain_graph=True)
    (g_adv,) = torch.autograd.grad(adversarial, last, retain_graph=True)
    weight = g_rec.norm() / (g_adv.norm() + 1e-4)
    (rec + weight * adversarial + quantized.loss).backward()

    torch.testing.assert_close(metrics["lambda"], weight)
    for name, parameter in codec.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, msg=name)


def test_accumulated_passes_step_along_the_mean_of_their_gradients(make_task):
    """Without an adversary, 2 passes of 4 pictures move the weights as one pass of 8 does."""
    loss = LossConfig(perceptual="off", adversarial="off")
    codec = CodecConfig(**vars(CODEC) | {"quantizer": QuantizerConfig(codebook_size=16)})
    moved = []
    for batch, accumulate in ((8, 1), (4, 2)):
        optim = OptimConfig(**vars(OPTIM) | {"batch": batch, "accumulate": accumulate})
        task = make_task(codec=codec, loss=loss, optim=optim)
        task.step(0)
        moved.append(weights_of(task))
    for name, tensor in moved[0].items():
        torch.testing.assert_close(tensor, moved[1][name], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("precision", ["32", "bf16"])
@pytest.mark.parametrize("kind", ["nearest", "gumbel", "fsq"])
def test_a_restored_task_goes_on_bit_for_bit(make_task, kind, precision):
    quantizer = QuantizerConfig(**vars(CODEC.quantizer) | {"kind": kind, "levels": (4, 4)})
    codec = CodecConfig(**vars(CODEC) | {"quantizer": quantizer})
    whole = make_task(codec=codec, precision=precision)
    whole.begin()
    for step in range(5):
        whole.step(step)
        if step == 2:
            state = whole.state()
            halfway = {key: _copy(value) for key, value in state.items()}
    resumed = make_task(codec=codec, precision=precision)
    resumed.load(halfway)
    for step in range(3, 5):
        resumed.step(step)
    assert _equal(whole.state(), resumed.state())


def test_a_checkpoint_of_the_last_version_is_read_in_todays_words(make_task):
    """It called the discriminator a critic, and kept the quantiser's idle codes beside it."""
    whole = make_task()
    for step in range(3):
        whole.step(step)
    state = {key: _copy(value) for key, value in whole.state().items()}
    old = {key.replace("discriminator", "critic"): value for key, value in state.items()}
    old |= old.pop("quantizer")
    resumed = make_task()
    resumed.load(old)
    assert "idle" in old
    assert _equal(resumed.state(), state)


def test_the_adversary_waits_for_its_step(make_task):
    task = make_task(loss=LossConfig(**vars(LOSS) | {"adversarial_start": 2}))
    discriminator = [p.clone() for p in task._discriminator.parameters()]
    names = [set(task.step(step)) for step in range(3)]
    assert "lambda" not in names[0] | names[1]
    assert "lambda" in names[2]
    assert any(
        not torch.equal(a, b) for a, b in zip(discriminator, task._discriminator.parameters(), strict=True)
    )


@pytest.mark.parametrize("augment", [True, False])
@pytest.mark.parametrize("adaptive_max", [1.0, math.inf])
@pytest.mark.parametrize("adversarial", ["hinge", "logistic"])
def test_every_switch_of_the_papers_ablation_runs(make_task, augment, adaptive_max, adversarial):
    switches = {"augment": augment, "adaptive_max": adaptive_max, "adversarial": adversarial}
    task = make_task(loss=LossConfig(**vars(LOSS) | switches))
    metrics = task.step(0)
    assert all(torch.isfinite(value) for value in metrics.values())
    assert metrics["lambda"] <= adaptive_max


def test_validation_is_on_held_out_pictures_with_averaged_weights(make_task, pixels):
    task = make_task()
    task.step(0)
    before = task.validate()
    with torch.no_grad():
        for parameter in task._codec.parameters():
            parameter.fill_(torch.nan)  # the weights in training are not what is measured
    assert task.validate() == before
    assert before["rec"] == before["l1"]
    assert task._validation.names == pixels.split("validation").names


def test_the_best_codec_is_chosen_by_fid_where_that_is_measured(make_task):
    assert make_task().objective == "rec"
    task = make_task(inception=Blind())
    assert task.objective == "fid"
    assert task.objective in task.validate()


class Blind(torch.nn.Module):
    """Stands for Inception, and sees the mean colour alone."""

    def forward(self, levels):
        return levels.float().mean((1, 2, 3))[:, None].expand(-1, 2048)


def test_kmeans_is_told_from_the_first_batches_and_codes_are_counted(make_task):
    task = make_task()
    start = task._codec.quantizer.codebook.clone()
    task.begin()
    assert not torch.equal(task._codec.quantizer.codebook, start)
    task.step(0)
    assert 0 < task.metrics()["codes_used"] <= 1
    assert task.metrics()["codes_used"] == 0, "asking starts a new window"


def test_a_bundle_holds_the_average_and_how_it_came_about(make_task):
    task = make_task()
    task.step(0)
    model = task.bundle(1, {"rec": 0.5})
    assert model.about["codec_step"] == 1
    assert torch.equal(model.codec.tensors["decoder.0.weight"], task._ema.module.decoder[0].weight)


def _copy(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _equal(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a == b


def test_an_adversarial_step_can_be_taken_in_bfloat16(make_task):
    """λ is differentiated from the very outputs that pass through the mixed precision."""
    task = make_task(precision="bf16")
    task.begin()
    metrics = task.step(0)
    assert all(math.isfinite(value) for value in metrics.values())
    assert metrics["lambda"] > 0
    assert all(tensor.dtype != torch.bfloat16 for tensor in task.state()["codec"].values())


def test_metrics_are_means_over_accumulated_passes(make_task):
    optim = OptimConfig(**vars(OPTIM) | {"accumulate": 2, "batch": 2})
    task, seen = make_task(optim=optim), []
    real = task._pass
    task._pass = lambda *given: seen.append(real(*given)) or seen[-1]
    metrics = task.step(0)
    for name, value in metrics.items():
        assert value == pytest.approx(sum(one[name].item() for one, _ in seen) / 2)
    assert len({one["rec"].item() for one, _ in seen}) == 2


def test_a_code_is_idle_for_a_step_however_many_passes_it_has(make_task):
    """Two passes of 2 pictures count and recycle as one of 4 does."""
    loss = LossConfig(perceptual="off", adversarial="off")
    idle = []
    for batch, accumulate in ((4, 1), (2, 2)):
        optim = OptimConfig(**vars(OPTIM) | {"batch": batch, "accumulate": accumulate})
        task = make_task(loss=loss, optim=optim)
        task.step(0)
        idle.append(task._codec.quantizer.idle)
    assert torch.equal(*idle)
    assert idle[0].max() == 1


@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_training_the_decoder_alone_leaves_every_code_as_it_is(make_task, rng, precision):
    """Bit for bit: encoder, codebook and codes, in training and in the average; all else changes."""
    task = make_task(precision=precision, kept=KEPT)
    images = torch.rand(4, 3, 16, 16, generator=rng)
    before, discriminator, codes = (
        weights_of(task),
        task._discriminator.state_dict(),
        task._codec.encode(images),
    )
    discriminator = {name: tensor.clone() for name, tensor in discriminator.items()}
    task.begin()
    for step in range(4):  # codes idle for two steps would be recycled
        task.step(step)
    for weights in (weights_of(task), task._ema.module.state_dict()):
        changed = {name for name, tensor in weights.items() if not torch.equal(tensor, before[name])}
        assert {name.partition(".")[0] for name in changed} == {"decoder"}
        assert changed == {name for name in before if name.startswith("decoder")}
    assert torch.equal(task._ema.module.encode(images), codes)
    assert any(
        not torch.equal(tensor, discriminator[name])
        for name, tensor in task._discriminator.state_dict().items()
    )


def test_prior_and_settings_go_with_a_codec_whose_codes_stay(make_task):
    made = make_task(kept=KEPT).bundle(0, {})
    assert (made.prior, made.sampling) == (KEPT.prior, KEPT.sampling)
    assert made.codec is not KEPT.codec
