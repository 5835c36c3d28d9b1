"""Our LPIPS is LPIPS."""

import warnings
from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F

from unmask.codec.perceptual import Perceptual

NETS = ["vgg", "alex"]


@pytest.fixture(scope="module", params=NETS)
def net(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def perceptual(net, fetched) -> Perceptual:
    module = Perceptual(net)
    module.load_state_dict(fetched(f"lpips-{net}"))
    return module


@pytest.fixture(scope="module")
def reference(net, fetched, oracle) -> torch.nn.Module:
    """The package ``lpips`` with its own heads; its trunk, which it would download, is given to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it asks torchvision in an old-fashioned way
        module = oracle("lpips").LPIPS(net=net, pnet_rand=True, verbose=False)
    tensors = fetched(f"lpips-{net}")
    numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith("trunk")})
    convolutions = [layer for layer in module.net.modules() if isinstance(layer, torch.nn.Conv2d)]
    for layer, number in zip(convolutions, numbers, strict=True):
        parts = ("weight", "bias")
        layer.load_state_dict({part: tensors[f"trunk.{number}.{part}"] for part in parts})
    return module


@pytest.fixture
def pairs(photographs, rng) -> tuple[torch.Tensor, torch.Tensor]:
    """Photographs beside what a codec might make of them: noise, blur, a shift, another picture."""
    x = photographs[:, :, 90:162, 80:170] / 255  # (4, 3, 72, 90)
    noise = (x[0] + 0.1 * torch.randn(x[0].shape, generator=rng)).clamp(0, 1)
    blur = F.avg_pool2d(x[1], 5, stride=1, padding=2)
    return x, torch.stack([noise, blur, x[2].roll(3, dims=-1), x[0]])


def test_distances_equal_the_reference_on_photographs(perceptual, reference, pairs):
    x, y = pairs
    with torch.no_grad():
        ours, theirs = perceptual(x, y), reference(x, y, normalize=True).flatten()
    assert ours.shape == (4,)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-5)
    assert theirs.min() > 0.01  # far enough from 0 for the comparison to mean something


def test_gradients_equal_the_reference(perceptual, reference, pairs, rng):
    """Where they are defined: in float64 no rectifier opens in one alone, with noise no two pixels tie."""
    x, y = (images.double() for images in pairs)
    y = y + 1e-3 * torch.rand(y.shape, generator=rng, dtype=torch.float64)
    ours, theirs = (deepcopy(module).double() for module in (perceptual, reference))
    gradients = []
    for distance in (ours, lambda x, y: theirs(x, y, normalize=True)):
        seen = y.clone().requires_grad_()
        distance(x, seen).sum().backward()
        gradients.append(seen.grad)
    assert torch.allclose(*gradients, rtol=1e-9, atol=1e-12)
    assert gradients[1].abs().max() > 1e-4


def test_equal_pictures_are_at_distance_zero_and_order_does_not_matter(perceptual, pairs):
    x, y = pairs
    with torch.no_grad():
        assert torch.equal(perceptual(x, x), torch.zeros(4))
        assert torch.allclose(perceptual(x, y), perceptual(y, x))


def test_features_have_length_one_everywhere(perceptual, pairs):
    seen = perceptual.features(pairs[0])
    assert len(seen) == 5
    assert all(feature.shape[1] == len(head) for feature, head in zip(seen, perceptual.heads, strict=True))
    lengths = torch.cat([feature.norm(dim=1).flatten() for feature in seen])
    assert torch.allclose(lengths, torch.ones(()), atol=1e-4)


def test_the_parameters_are_frozen(perceptual, pairs):
    x, y = pairs
    perceptual.train()
    perceptual(x, y.clone().requires_grad_()).sum().backward()
    assert all(
        not parameter.requires_grad and parameter.grad is None for parameter in perceptual.parameters()
    )


def test_channels_last_changes_nothing_but_the_memory(perceptual, pairs):
    x, y = pairs
    last = {"memory_format": torch.channels_last}
    with torch.no_grad():
        assert torch.allclose(perceptual(x, y), perceptual(x.to(**last), y.to(**last)), atol=1e-6)


def test_autocast_leaves_the_distance_in_float32(perceptual, pairs):
    x, y = pairs
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        rough = perceptual(x, y)
    with torch.no_grad():
        assert torch.allclose(rough, perceptual(x, y), rtol=0.05)
    assert rough.dtype == torch.float32
    assert not torch.equal(rough, rough.bfloat16().float()), "it is not rounded on the way"


@pytest.mark.parametrize("name", NETS)
def test_where_the_network_sees_nothing_gradients_are_zero_not_nan(name):
    blind = Perceptual(name)
    for parameter in blind.parameters():
        parameter.zero_()
    x = torch.zeros(1, 3, 64, 64, requires_grad=True)
    blind(x, torch.ones(1, 3, 64, 64)).sum().backward()
    assert torch.equal(x.grad, torch.zeros_like(x))


def test_before_its_weights_are_loaded_every_distance_is_nan():
    x = torch.zeros(2, 3, 64, 64)
    assert Perceptual("alex")(x, x).isnan().all()


def test_making_one_draws_nothing_from_the_global_generator():
    before = torch.get_rng_state()
    Perceptual("vgg")
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_of_the_other_network_are_refused(fetched):
    with pytest.raises(RuntimeError, match="trunk"):
        Perceptual("alex").load_state_dict(fetched("lpips-vgg"))
