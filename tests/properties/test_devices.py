"""Nothing is bound to the CPU: on a pretend GPU everything runs, draws the same and seldom waits.

Apple's GPUs have no float64, in which metrics are computed: it is for the CPU alone.
"""

from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image

from tests.pretend_gpu import PretendGPU
from tests.untrained import SMALL_CODEC, untrained
from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import LossConfig, QuantizerConfig
from unmask.codec.losses import usage
from unmask.codec.perceptual import Perceptual
from unmask.config import CodecTraining, PriorTraining
from unmask.data.config import ImagesConfig
from unmask.data.pixels import PixelSet
from unmask.diffusion.likelihood import likelihood_of
from unmask.evaluation import inception
from unmask.evaluation.features import Extractor
from unmask.evaluation.fid import Moments
from unmask.evaluation.neighbours import nearest_pictures
from unmask.evaluation.pixel_likelihood import ScaleHead, pixel_nats
from unmask.evaluation.reconstruction import measure_reconstructions
from unmask.pipeline import Pipeline
from unmask.prior.config import PriorConfig
from unmask.rng import generator, hashed
from unmask.sweeps.evaluate import evaluate
from unmask.training.codec_task import CodecTask
from unmask.training.config import DiffusionConfig, EngineConfig, LoopConfig, OptimConfig
from unmask.training.engine import Engine
from unmask.training.prior_task import PriorTask
from unmask.training.train import train_codec, train_prior

PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8))
CURVE = {"ratio": [0.1, 0.5, 1.0], "nats": [1.0, 2.0, 2.5]}
DRAWING = {
    "sample": lambda model: model.sample(3, steps=8),
    "optimal": lambda model: model.sample(3, steps=4, schedule="optimal", temperature=(1.2, 0.5)),
    "confidence": lambda model: model.sample(3, steps=4, order="confidence", top_k=5, top_p=0.9),
    "margin": lambda model: model.sample(3, steps=4, order="margin"),
    "entropy": lambda model: model.sample(3, order="entropy"),
    "remask": lambda model: model.sample(3, steps=6, order="halton", remask=1.0),
    "both": lambda model: model.sample(3, steps=4, order="confidence", remask=0.5),
    "guide": lambda model: model.sample(2, steps=4, guide=model, guidance=2.0),
    "canvas": lambda model: [model.canvas((24, 20), steps=4)],
    "windows": lambda model: [model.canvas((24, 20), steps=4, windows=2)],
    "inpaint": lambda model: model.inpaint(PICTURE, (4, 4, 8, 8), count=2, rank=True),
    "guided edit": lambda model: model.inpaint(PICTURE, (4, 4, 8, 8), count=2, guidance=2.0),
    "extend": lambda model: model.extend(PICTURE, right=6, count=2),
    "vary": lambda model: model.vary(PICTURE, count=2, steps=3),
    "unlikely": lambda model: model.vary(PICTURE, strength=0.3, unlikely=True, count=2, steps=3),
    "reconstruct": lambda model: model.reconstruct([PICTURE]),
    "preview": lambda model: model.preview(torch.arange(16)[None]),
}
GUIDED = {"steps": 4, "guidance": 3.0, "negative": "dog"}
BY_PROMPT = {
    "prompt": lambda model: model.sample(2, "red cat", steps=4),
    "prompts": lambda model: model.sample(3, ["red cat", "dog"], **GUIDED),
    "captions": lambda model: model.sample(2, steps=4, guidance=2.0),
    "interpolated": lambda model: model.sample(2, "cat", steps=4, guidance=(3.0, 1.0)),
    "canvas": lambda model: [model.canvas((24, 20), "cat", **GUIDED)],
    "along": lambda model: [model.canvas((40, 16), ["cat", "red dog"], **GUIDED)],
    "along, by windows": lambda model: [model.canvas((40, 16), ["cat", "dog"], windows=2, **GUIDED)],
    "inpaint": lambda model: model.inpaint(PICTURE, (4, 4, 8, 8), "red", count=2, rank=True, **GUIDED),
    "extend": lambda model: model.extend(PICTURE, "dog", right=6, count=2, **GUIDED),
    "vary": lambda model: model.vary(PICTURE, "cat", unlikely=True, count=2, **GUIDED),
    "guide": lambda model: model.sample(2, "cat", steps=4, guide=model, guidance=2.0),
}


@pytest.fixture(params=[True, False], ids=["float64", "no float64"])
def gpu(request):
    with PretendGPU(float64=request.param) as gpu:
        yield gpu


def pipeline(kind, device, words=()):
    bundle = untrained(kind, words=words)
    bundle.about["curve"] = CURVE
    if words:
        bundle.about["prior_captions"] = ["red cat", "dog"]
    bundle.prior.tensors["head.weight"] *= 4  # opinions, so that a difference in logits shows
    return Pipeline(bundle, torch.device(device))


def same(these, those):
    """Equal pictures, but for a level of 256 that the last bit of a convolution decides."""
    pairs = [[np.asarray(picture).astype(int) for picture in pair] for pair in zip(these, those, strict=True)]
    return all(np.abs(one - other).max() <= 1 for one, other in pairs)


class TestThePretendGPU:
    def test_refuses_to_mix_devices(self, gpu):
        there, here = torch.ones(3, device=gpu.device), torch.ones(3)
        with pytest.raises(RuntimeError, match="mixes devices"):
            there + here
        with pytest.raises(RuntimeError, match="mixes devices"):
            torch.cat([here, there])
        assert (there * 2.5 + torch.tensor(1.0)).sum().item() == 10.5
        assert there[torch.tensor([0, 2])].device == gpu.device

    def test_counts_what_the_host_waits_for(self, gpu):
        there = torch.arange(4).to(gpu.device)
        for wait in (there.cpu, there.sum().item, there.nonzero, there.tolist, lambda: there[there > 1]):
            before = gpu.waits
            wait()
            assert gpu.waits == before + 1
        before = gpu.waits
        there.clone().masked_fill_(there > 1, 0)[there].to(gpu.device)
        assert gpu.waits == before

    def test_has_float64_or_has_not(self):
        with PretendGPU() as gpu:
            assert torch.ones(2, device=gpu.device).double().cpu().dtype == torch.float64
        with PretendGPU(float64=False) as gpu:
            there = torch.ones(2, device=gpu.device)
            with pytest.raises(TypeError, match="no float64"):
                there.double()
            with pytest.raises(TypeError, match="no float64"):
                torch.ones(2).double().to(gpu.device)
            assert there.cpu().double().dtype == torch.float64


def test_a_hash_is_the_same_integer_everywhere(gpu):
    parts = torch.arange(50)[:, None], torch.arange(70)
    there = hashed(9, *(part.to(gpu.device) for part in parts))
    assert torch.equal(there.cpu(), hashed(9, *parts))


@pytest.mark.parametrize("way", DRAWING)
def test_everything_that_draws_draws_the_same_pictures(gpu, way):
    assert same(DRAWING[way](pipeline("absorbing", gpu.device)), DRAWING[way](pipeline("absorbing", "cpu")))


def captioned(kind, device):
    return pipeline(kind, device, ("cat", "dog", "red"))


@pytest.mark.parametrize("way", BY_PROMPT)
def test_everything_that_takes_a_prompt_draws_the_same_pictures(gpu, way):
    there, here = (captioned("absorbing", device) for device in (gpu.device, "cpu"))
    assert same(BY_PROMPT[way](there), BY_PROMPT[way](here))


def test_an_autoregressive_prior_draws_prompts_alike(gpu):
    there, here = (captioned("autoregressive", device) for device in (gpu.device, "cpu"))
    for prompt in ("red cat", ["cat", "dog"], None):
        assert same(*(model.sample(2, prompt, guidance=3.0, negative="dog") for model in (there, here)))


def test_pictures_are_captioned_alike(gpu):
    there, here = (captioned("absorbing", device) for device in (gpu.device, "cpu"))
    assert there.caption([PICTURE], draws=8) == here.caption([PICTURE], draws=8)


@pytest.mark.parametrize(
    ("kind", "by"), [("absorbing", "label"), ("absorbing", "picture"), ("autoregressive", "picture")]
)
def test_pictures_are_classified_alike(gpu, kind, by):
    there, here = (captioned(kind, device) for device in (gpu.device, "cpu"))
    (found,) = there.classify([PICTURE], ["red cat", "dog"], by=by, draws=3)
    (wanted,) = here.classify([PICTURE], ["red cat", "dog"], by=by, draws=3)
    assert found == pytest.approx(wanted, rel=1e-3)


def test_words_are_scored_alike(gpu):
    there, here = (captioned("absorbing", device).score([PICTURE], draws=4) for device in (gpu.device, "cpu"))
    assert there.bits == pytest.approx(here.bits)


def test_an_autoregressive_prior_draws_the_same_pictures_and_shows_them_meanwhile(gpu):
    there, here = (pipeline("autoregressive", device) for device in (gpu.device, "cpu"))
    seen = []
    pictures = there.sample(3, on_step=lambda codes: seen.append(there.preview(codes)[0]))
    assert same(pictures, here.sample(3))
    assert len(seen) == 16
    assert same([seen[-1]], pictures[:1])


@pytest.mark.parametrize(
    ("settings", "most"),
    [({}, 5), ({"order": "confidence"}, 5), ({"remask": 1.0}, 5), ({"order": "entropy", "steps": None}, 5)],
)
def test_a_pass_waits_five_times(settings, most):
    """What is blank, what is wanted (thrice: by the network twice), what is finished."""
    with PretendGPU() as gpu:
        model, waits = pipeline("absorbing", gpu.device), [0]
        model.sample(1, steps=2)  # the start is computed once
        gpu.waits = 0
        model.sample(5, on_step=lambda codes: waits.append(gpu.waits), **{"steps": 8, **settings})
    assert len(waits) > 2
    assert max(after - before for before, after in pairwise(waits[1:])) <= most


def test_an_autoregressive_prior_waits_for_no_code():
    with PretendGPU() as gpu:
        model, waits = pipeline("autoregressive", gpu.device), []
        model.sample(2, on_step=lambda codes: waits.append(gpu.waits))
    assert waits[0] == waits[-1]


@pytest.mark.parametrize("kind", ["absorbing", "autoregressive"])
def test_pictures_are_scored_alike(gpu, kind):
    there, here = (pipeline(kind, device) for device in (gpu.device, "cpu"))
    assert there.score([PICTURE], draws=4).bits == pytest.approx(here.score([PICTURE], draws=4).bits)
    codes = torch.arange(16).view(1, 16) % 16
    nats = likelihood_of(there.prior).code_nats(codes.to(gpu.device), 0, num_pairs=2)
    assert nats.dtype == torch.float64
    torch.testing.assert_close(
        nats, likelihood_of(here.prior).code_nats(codes, 0, num_pairs=2), rtol=1e-4, atol=1e-4
    )


def test_metrics_are_computed_alike(gpu, rng):
    codec, head = Autoencoder(SMALL_CODEC, generator(0)).eval().requires_grad_(False), ScaleHead(8)
    images, features = torch.rand(2, 3, 16, 16, generator=rng), torch.randn(5, 3, generator=rng)
    pictures = (255 * images).byte().permute(0, 2, 3, 1).numpy()
    pixels = PixelSet(list("ab"), np.arange(2), lambda rows: pictures[rows], list("ab"))

    def measured(device):
        codec.to(device), head.to(device)
        nats = pixel_nats(codec, head, images.to(device))
        moments = Moments.of(features.to(device))
        assert (nats.dtype, moments.scatter.dtype) == (torch.float64, torch.float64)
        used = usage(torch.arange(16).to(device))["perplexity"]
        l1 = measure_reconstructions(codec, pixels, batch=2)["l1"]
        return [*nats.flatten().tolist(), *moments.scatter.flatten().tolist(), used, l1]

    here = measured("cpu")
    assert measured(gpu.device) == pytest.approx(here, rel=1e-3)


def drawn(module):
    """A network with random weights."""
    for number, parameter in enumerate(module.parameters()):
        parameter.data.uniform_(0, 2 / parameter[0].numel(), generator=generator(number))
    return module


@pytest.fixture
def noise(tmp_path, rng):
    """The file of twelve pictures."""
    pictures = torch.randint(256, (12, 16, 16, 3), generator=rng, dtype=torch.uint8)
    np.save(tmp_path / "noise.npy", pictures.numpy())
    return str(tmp_path / "noise.npy")


@pytest.fixture
def on(gpu, monkeypatch, tmp_path):
    """The devices, the second time with nothing in the cache that the first has put there."""

    def devices():
        for name, device in (("gpu", gpu.device), ("cpu", torch.device("cpu"))):
            monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / name))
            yield device

    return devices


@pytest.mark.parametrize("by", ["lpips", "pixels"])
def test_neighbours_are_found_alike(on, noise, monkeypatch, by):
    weights = drawn(Perceptual("alex")).state_dict()
    monkeypatch.setattr("unmask.third_party.weights.require", {"lpips-alex": weights}.get)
    found = []
    for device in on():
        pixels = pipeline("absorbing", device).open(noise)
        (nearest,) = nearest_pictures([PICTURE], pixels, count=3, by=by, device=device)
        found.append([each.distance for each in nearest])
    assert found[0] == pytest.approx(found[1], rel=1e-2)  # of features in half precision


def test_samples_are_evaluated_alike(on, noise, monkeypatch, tmp_path):
    def few(device):
        def extract(images):
            return images.to(device).float().flatten(1)[:, :8]

        return Extractor("eight levels", extract)

    monkeypatch.setattr("unmask.sweeps.evaluate.inception_features", few)
    rows = []
    for number, device in enumerate(on()):
        place, metrics = tmp_path / str(number), ("fid", "kid", "prdc", "diversity")
        model = pipeline("absorbing", device)
        how = {"metrics": metrics, "count": 6, "k": 2, "replicates": 2, "split": "all", "steps": 3}
        (row,) = evaluate(model, noise, out=place, **how).rows
        rows.append({name: value for name, value in row.items() if isinstance(value, float)})
    assert {"fid", "kid", "coverage", "code_perplexity"} <= rows[0].keys()
    assert rows[0] == pytest.approx(rows[1], rel=1e-2, nan_ok=True)


class PretendEngine(Engine):
    """An engine on the pretend GPU, which Fabric does not know."""

    def __init__(self, config):
        super().__init__(config)
        self.device = PretendGPU.device

    def setup(self, module, optimizer):
        return module.to(self.device), optimizer

    def accumulate(self, module, waiting):
        return nullcontext()


LOOP = LoopConfig(steps=3, log_every=3, validate_every=3, save_every=3)
ENGINE = EngineConfig(device="cpu", threads=1, precision="32")
IMAGES = ImagesConfig(size=16, validation=0.2)
NEAREST = QuantizerConfig(codebook_size=16, kmeans_batches=2, recycle_after=1)
QUANTIZERS = {
    "nearest": NEAREST,
    "gumbel": QuantizerConfig(kind="gumbel", codebook_size=16),
    "fsq": QuantizerConfig(kind="fsq", codebook_size=16, levels=(4, 4)),
}
CODEC = CodecTraining(
    images=IMAGES,
    codec=SMALL_CODEC,
    loss=LossConfig(perceptual="off", adversarial_start=1, discriminator_width=8, discriminator_layers=1),
    optim=OptimConfig(lr=1e-3, batch=2, accumulate=2, clip=1.0),
    loop=LOOP,
    engine=ENGINE,
)
PRIOR = PriorTraining(
    images=IMAGES,
    prior=PriorConfig(width=16, depth=2, heads=2, dropout=0.1),
    diffusion=DiffusionConfig(validation_draws=2),
    optim=OptimConfig(lr=1e-3, batch=2, accumulate=2, clip=1.0),
    loop=LOOP,
    engine=ENGINE,
)


@pytest.fixture
def train(monkeypatch, tmp_path, rng):
    """A training on twelve pictures of noise: what it logs, and how often each step waited for a GPU."""
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path / "cache"))
    noise = torch.randint(256, (12, 16, 16, 3), generator=rng, dtype=torch.uint8)
    np.save(tmp_path / "noise.npy", noise.numpy())
    (tmp_path / "noise.labels.txt").write_text("dark noise\nlight\nnoise\n" * 4)

    def train(stage, folder, **more):
        task, waits = (CodecTask, []) if stage is train_codec else (PriorTask, [])
        step, gpu = task.step, PretendGPU.present

        def counted(self, number):
            before = gpu.waits if gpu else 0
            metrics = step(self, number)
            waits.append((gpu.waits if gpu else 0) - before)
            return metrics

        with monkeypatch.context() as patch:
            patch.setattr(task, "step", counted)
            if gpu:
                patch.setattr("unmask.training.train.Engine", PretendEngine)
            run = stage(data=str(tmp_path / "noise.npy"), out=tmp_path / folder, **more)
        return logged(run), waits

    return train


def logged(run):
    """Metrics by kind and name; a single picture of validation has no standard error."""
    rows = [row for row in run.read_log() if row["kind"] in ("train", "validation")]
    names = {name for row in rows for name in row} - {"kind", "time", "step"}
    return {(row["kind"], name): row[name] for row in rows for name in names if row.get(name) is not None}


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUANTIZERS)
def test_a_codec_trains_alike_and_no_step_waits(train, kind):
    """Adversarial loss from the second step on, accumulation, k-means, recycling, averages, validation."""
    preset = replace(CODEC, codec=replace(SMALL_CODEC, quantizer=QUANTIZERS[kind]))
    here, _ = train(train_codec, "cpu", preset=preset)
    with PretendGPU(float64=False):
        there, waits = train(train_codec, "gpu", preset=preset)
    assert there == pytest.approx(here, rel=1e-3, abs=1e-4)
    assert ("train", "discriminator") in here
    assert waits == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({}, 6),
        ({"prior": replace(PRIOR.prior, positions="rotary")}, 6),
        ({"prior": replace(PRIOR.prior, kind="autoregressive")}, 6),
        ({"optim": replace(PRIOR.optim, kind="muon")}, 6),
        ({"images": replace(IMAGES, captions="auto")}, 8),  # and for what is masked of the words
    ],
    ids=["absorbing", "rotary", "autoregressive", "muon", "captions"],
)
def test_a_prior_trains_alike_and_a_step_waits_for_what_is_masked(train, changes, most, tmp_path):
    """In two passes a step; an autoregressive one asks for every position."""
    train(train_codec, "codec", preset=replace(CODEC, loop=replace(LOOP, steps=1)))
    preset, codec = replace(PRIOR, **changes), str(tmp_path / "codec" / "last")
    here, _ = train(train_prior, "cpu", codec=codec, preset=preset)
    with PretendGPU(float64=False):
        there, waits = train(train_prior, "gpu", codec=codec, preset=preset)
    assert there == pytest.approx(here, rel=1e-3)
    assert max(waits) <= most


@pytest.mark.slow
def test_a_stopped_training_goes_on_as_if_it_had_not_been_stopped(train):
    preset = replace(CODEC, codec=replace(SMALL_CODEC, quantizer=NEAREST))
    with PretendGPU(float64=False):
        whole, _ = train(train_codec, "whole", preset=preset)
        train(train_codec, "part", preset=replace(preset, loop=replace(LOOP, steps=2)))
        rest, waits = train(train_codec, "part", preset=preset, resume=True)
    assert len(waits) == 1
    assert rest["validation", "rec"] == whole["validation", "rec"]


@pytest.mark.slow
def test_a_codec_trains_alike_by_lpips_and_is_validated_by_fid(train, monkeypatch):
    """Networks with random weights measure as well as those of others would."""
    layers = drawn(inception._inception()).state_dict()
    known = {"inception": layers, "lpips-vgg": drawn(Perceptual("vgg")).state_dict()}
    monkeypatch.setattr("unmask.third_party.weights.require", known.get)
    preset = replace(CODEC, loss=replace(CODEC.loss, perceptual="vgg"), validation_fid=True)
    here, _ = train(train_codec, "cpu", preset=preset)
    with PretendGPU(float64=False):
        there, waits = train(train_codec, "gpu", preset=preset)
    assert {("train", "lpips"), ("validation", "fid")} <= here.keys()
    assert there == pytest.approx(here, rel=1e-2)
    assert waits == [0, 0, 0]
