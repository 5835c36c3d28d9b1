"""Every upstream layout comes out under the same names."""

import io

import pytest
import torch

from unmask.errors import WeightsError
from unmask.third_party import layouts


def state_dict_file(state: dict[str, torch.Tensor]) -> bytes:
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


# Pairs of torch-fidelity's names and TensorFlow's: one for each kind of branch and each place in it.
INCEPTION = {
    "Conv2d_1a_3x3": "conv",
    "Conv2d_3b_1x1": "conv_3",
    "Mixed_5b.branch1x1": "mixed.conv",
    "Mixed_5c.branch5x5_2": "mixed_1.tower.conv_1",
    "Mixed_5d.branch3x3dbl_3": "mixed_2.tower_1.conv_2",
    "Mixed_5b.branch_pool": "mixed.tower_2.conv",
    "Mixed_6a.branch3x3": "mixed_3.conv",
    "Mixed_6a.branch3x3dbl_3": "mixed_3.tower.conv_2",
    "Mixed_6b.branch7x7_1": "mixed_4.tower.conv",
    "Mixed_6e.branch7x7dbl_5": "mixed_7.tower_1.conv_4",
    "Mixed_7a.branch3x3_2": "mixed_8.tower.conv_1",
    "Mixed_7a.branch7x7x3_4": "mixed_8.tower_1.conv_3",
    "Mixed_7b.branch3x3_2a": "mixed_9.tower.mixed.conv",
    "Mixed_7b.branch3x3_2b": "mixed_9.tower.mixed.conv_1",
    "Mixed_7c.branch3x3dbl_2": "mixed_10.tower_1.conv_1",
    "Mixed_7c.branch3x3dbl_3a": "mixed_10.tower_1.mixed.conv",
    "Mixed_7c.branch3x3dbl_3b": "mixed_10.tower_1.mixed.conv_1",
}
NORMALISATION = {"bn.bias": "beta", "bn.running_mean": "mean", "bn.running_var": "var"}


@pytest.mark.parametrize(("upstream", "ours"), INCEPTION.items())
def test_an_inception_state_dict_gets_tensorflows_names(upstream, ours):
    state = {f"{upstream}.bn.weight": torch.ones(2), "fc.weight": torch.zeros(1)}
    state |= {f"{upstream}.{part}": torch.zeros(1) for part in ("conv.weight", *NORMALISATION)}
    names = {f"{ours}.{part}" for part in ("weight", *NORMALISATION.values())}
    assert layouts.read("inception.pth", state_dict_file(state)).keys() == names


def test_an_inception_that_scales_after_normalising_is_refused():
    state = {"Conv2d_1a_3x3.bn.weight": torch.tensor([1.0, 1.1])}
    with pytest.raises(WeightsError, match="not the Inception of 2015-12-05"):
        layouts.read("inception.pth", state_dict_file(state))


def test_a_trunk_keeps_torchvisions_numbers_and_loses_its_classifier():
    state = {"features.0.weight": torch.zeros(1), "classifier.6.bias": torch.zeros(1)}
    assert layouts.read("vgg16.pth", state_dict_file(state)).keys() == {"trunk.0.weight"}


def test_a_head_becomes_one_weight_a_channel():
    state = {"lin3.model.1.weight": torch.arange(4.0).reshape(1, 4, 1, 1)}
    read = layouts.read("vgg.pth", state_dict_file(state))
    assert torch.equal(read["heads.3"], torch.arange(4.0))


def test_a_tensor_of_an_unknown_network_is_named():
    with pytest.raises(WeightsError, match=r"net\.pth cannot be read: it holds 'layer1\.0\.conv1\.weight'"):
        layouts.read("net.pth", state_dict_file({"layer1.0.conv1.weight": torch.zeros(1)}))


@pytest.mark.parametrize("ending", [".ckpt", ".pt", ".pth", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"\x80\x02K\x01.", b"PK\x03\x04" + bytes(40), bytes(100)])
def test_a_file_of_another_kind_is_refused_in_a_sentence(ending, content):
    with pytest.raises(WeightsError, match=f"weights{ending} cannot be read"):
        layouts.read(f"weights{ending}", content)


def test_an_unknown_ending_is_refused_with_the_known_ones():
    with pytest.raises(WeightsError, match=r"weights\.h5 .*\.ckpt, \.pt, \.pth, \.safetensors"):
        layouts.read("weights.h5", b"")
