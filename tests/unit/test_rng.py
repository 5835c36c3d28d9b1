import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from unmask.rng import derive, generator, initialise

addresses = st.lists(st.integers(-3, 3) | st.text("a1/:", max_size=3) | st.just("a/int:1"), max_size=4)


class TestADerivedNumber:
    def test_is_the_same_in_every_version(self):
        """Seeds people have written down must go on meaning the same pictures."""
        assert derive(0) == 4246866556266386882
        assert derive(0, "flip", 3) == 2886359899688214252
        assert derive(7, 1, 2) == 2926733792251898170

    @given(one=addresses, other=addresses)
    def test_depends_on_every_part_of_the_address(self, one, other):
        assume(one != other)
        assert derive(0, *one) != derive(0, *other)

    def test_depends_on_the_seed(self):
        assert len({derive(seed, "flip", 3) for seed in range(-500, 500)}) == 1000

    def test_tells_a_number_from_its_name(self):
        assert derive(0, 1) != derive(0, "1")
        assert derive(0, "a", "b") != derive(0, "a/str:b")

    def test_fits_torch_and_uses_all_63_bits_evenly(self):
        numbers = [derive(0, "position", position) for position in range(4000)]
        assert all(0 <= number < 2**63 for number in numbers)
        for bit in range(63):
            ones = sum(number >> bit & 1 for number in numbers)
            assert abs(ones - 2000) < 5 * math.sqrt(1000)  # five standard errors: 63 bits are looked at


class TestAGenerator:
    def test_draws_the_same_for_the_same_use_and_another_for_another(self):
        first, same, other = (torch.rand(8, generator=generator(0, use)) for use in ("mask", "mask", "flip"))
        assert torch.equal(first, same)
        assert not torch.equal(first, other)

    def test_leaves_the_global_one_alone(self):
        before = torch.get_rng_state()
        torch.rand(8, generator=generator(0, "mask"))
        assert torch.equal(torch.get_rng_state(), before)


class Network(nn.Module):
    """One of each layer that is drawn, one of them without a bias, and one that is not drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(16, 64, 3)
        self.inner = nn.Sequential(nn.Linear(64, 128), nn.GroupNorm(8, 128), nn.Linear(128, 32, bias=False))
        self.codes = nn.Embedding(100, 32)


class TestInitialising:
    def test_makes_a_network_a_function_of_its_seed(self):
        one, same, other = Network(), Network(), Network()
        for network, seed in ((one, 1), (same, 1), (other, 2)):
            initialise(network, generator(seed, "network"))
        for name, tensor in one.state_dict().items():
            assert torch.equal(tensor, same.state_dict()[name])
            assert name.startswith("inner.1") or not torch.equal(tensor, other.state_dict()[name])

    def test_leaves_the_global_generator_alone(self, rng):
        network = Network()
        before = torch.get_rng_state()
        initialise(network, rng)
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize(
        ("name", "inputs"),
        [
            ("convolution.weight", 144),
            ("convolution.bias", 144),
            ("inner.0.weight", 64),
            ("inner.2.weight", 128),
        ],
    )
    def test_draws_from_the_range_that_torch_draws_from(self, rng, name, inputs):
        """Uniform on ±1/√inputs, for which torch's own draw at the making of a layer stands witness."""
        network = Network()
        bound = 1 / math.sqrt(inputs)
        for tensor in (network.get_parameter(name).clone(), self.drawn(network, rng, name)):
            assert tensor.abs().max() <= bound
            standard_error = bound / math.sqrt(3 * tensor.numel())
            assert abs(tensor.mean()) < 4 * standard_error
            assert abs(tensor.abs().mean() - bound / 2) < 4 * standard_error

    def test_draws_embeddings_from_the_standard_normal(self, rng):
        codes = self.drawn(Network(), rng, "codes.weight")
        assert abs(codes.mean()) < 4 / math.sqrt(codes.numel())
        assert abs(codes.var() - 1) < 4 * math.sqrt(2 / codes.numel())

    def test_does_not_touch_what_torch_sets_to_constants(self, rng):
        assert torch.equal(self.drawn(Network(), rng, "inner.1.weight"), torch.ones(128))

    @staticmethod
    def drawn(network: nn.Module, rng: torch.Generator, name: str) -> torch.Tensor:
        initialise(network, rng)
        return network.get_parameter(name).detach()
