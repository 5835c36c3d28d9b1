import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from unmask.rng import derive, generator, gumbel, hashed, initialise, integers, uniform

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


BITS = torch.arange(64)


def binary(numbers):
    """(…,) int64 to their (…, 64) bits."""
    return numbers[..., None] >> BITS & 1


def grid(parts=3, size=24):
    """Every address of so many parts below a size, as tensors that broadcast."""
    return [
        torch.arange(size).view([-1 if axis == part else 1 for axis in range(parts)]) for part in range(parts)
    ]


class TestAHash:
    def test_is_splitmix64(self):
        """Outputs 1 to 5 of the published generator with the seed 1234567."""
        published = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ]
        assert [z % 2**64 for z in hashed(1234567, torch.arange(1, 6)).tolist()] == published

    @given(st.integers(0, 2**63 - 1), st.lists(st.integers(0, 2**40), min_size=1, max_size=4))
    def test_takes_each_part_of_an_address_as_the_number_of_an_output(self, key, address):
        """Against integers without a limit, reduced to 64 bits by hand."""
        z = key
        for number in address:
            z = (z + number * 0x9E3779B97F4A7C15) % 2**64
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
            z ^= z >> 31
        parts = [torch.tensor([number]) for number in address]
        assert hashed(key, *parts).item() % 2**64 == z

    def test_does_not_depend_on_what_is_hashed_beside_it(self):
        whole = hashed(7, *grid())
        assert hashed(7, torch.tensor(3), torch.tensor(0), torch.tensor(21)) == whole[3, 0, 21]
        assert torch.equal(hashed(7, torch.tensor([[5]]), *grid(2)), hashed(7, *grid())[5])

    def test_of_other_addresses_is_another(self):
        seen = torch.cat([hashed(key, *grid()).flatten() for key in (0, 1, 2**62)])
        assert len(seen.unique()) == 3 * 24**3

    @pytest.mark.parametrize("part", [0, 1, 2])
    def test_changes_each_bit_as_often_as_not_when_one_bit_of_an_address_does(self, part, rng):
        """Avalanche: 24 bits flipped in 4,000 addresses each; a share has a standard error of 0.008."""
        address = torch.randint(2**20, (3, 4000), generator=rng)
        before = hashed(5, *address)
        for bit in range(24):
            flipped = [each ^ (1 << bit) * (place == part) for place, each in enumerate(address)]
            shares = binary(before ^ hashed(5, *flipped)).float().mean(0)
            assert (shares - 0.5).abs().max() < 5 * 0.5 / math.sqrt(4000)

    @pytest.mark.parametrize("shift", range(0, 64, 8))
    def test_is_spread_evenly(self, shift):
        """χ² over the 256 values of each byte; its 99.99 % point at 255 degrees of freedom is 347."""
        counts = (hashed(3, *grid(size=40)) >> shift & 255).flatten().bincount(minlength=256)
        assert ((counts - 250) ** 2 / 250).sum() < 347
        assert ((counts - 250) ** 2 / 250).sum() > 178  # nor more evenly than chance

    @pytest.mark.parametrize("part", [0, 1, 2])
    @pytest.mark.parametrize("shift", [0, 30, 60])
    def test_of_neighbouring_addresses_is_spread_evenly_over_pairs(self, part, shift):
        """χ² over 16 × 16 pairs of four bits, of addresses one apart in one part."""
        values = hashed(3, *grid(size=40)) >> shift & 15
        pairs = (16 * values.narrow(part, 0, 39) + values.narrow(part, 1, 39)).flatten()
        counts, expected = pairs.bincount(minlength=256), len(pairs) / 256
        assert ((counts - expected) ** 2 / expected).sum() < 347

    @pytest.mark.parametrize("part", [0, 1, 2])
    def test_has_no_bit_that_follows_one_of_a_neighbour(self, part):
        """All 64 × 64 correlations of bits of addresses one apart, the largest below 5.5 standard errors."""
        bits = 2.0 * binary(hashed(11, *grid())) - 1
        here, there = (bits.narrow(part, start, 23).reshape(-1, 64) for start in (0, 1))
        assert (here.T @ there / len(here)).abs().max() < 5.5 / math.sqrt(len(here))


class TestUniformNumbers:
    def test_are_uniform(self):
        """Kolmogorov and Smirnov: √n times the largest distance stays below 2.2 but once in 10,000 times."""
        numbers = uniform(0, "test", *grid(size=40)).double().flatten().sort().values
        steps = torch.arange(1, len(numbers) + 1) / len(numbers)
        assert (numbers - steps).abs().max() * math.sqrt(len(numbers)) < 2.2

    def test_of_neighbours_are_not_correlated(self):
        numbers = uniform(0, "test", *grid(size=40)).double() - 0.5
        for part in range(3):
            product = 12 * numbers.narrow(part, 0, 39) * numbers.narrow(part, 1, 39)
            assert abs(product.mean()) < 4 / math.sqrt(product.numel())

    def test_differ_by_seed_and_use(self):
        drawn = [uniform(seed, use, *grid()) for seed, use in ((0, "a"), (1, "a"), (0, "b"))]
        assert len(torch.stack(drawn).flatten().unique()) > 0.999 * 3 * 24**3

    def test_lie_within_0_and_1_whatever_the_bits(self, monkeypatch):
        bits = torch.tensor([0, 1, 2**62, 2**63 - 1])
        monkeypatch.setattr("unmask.rng.hashed", lambda key, *address: bits)
        numbers, noise = uniform(0, "test", bits), gumbel(0, "test", bits)
        assert numbers.tolist() == [2**-64, 2**-63, 0.5, 1 - 2**-24]
        expected = [-math.log(-math.log1p(-u)) for u in numbers.tolist()]
        assert noise.tolist() == pytest.approx(expected, rel=1e-6)


def test_gumbel_noise_has_its_mean_variance_and_tail():
    """Of 64,000 values some 64,000·(1 − exp(−exp(−8))) = 21.5 lie above 8."""
    noise = gumbel(0, "test", *grid(size=40)).double()
    error = math.pi / math.sqrt(6 * noise.numel())
    assert noise.mean().item() == pytest.approx(0.5772, abs=4 * error)
    assert noise.var().item() == pytest.approx(math.pi**2 / 6, rel=4 * math.sqrt(4.4 / noise.numel()))
    assert abs((noise > 8).sum().item() - 21.5) < 4 * math.sqrt(21.5)


def test_uniform_numbers_are_finer_near_0_than_evenly_spaced_ones():
    """Of four million, the least is near 1/4,000,000, and those below 2⁻²⁰ are no multiples of 2⁻²⁴."""
    numbers = uniform(0, "test", torch.arange(4_000_000))
    small = numbers[numbers < 2**-18]
    assert len(small) == pytest.approx(15.3, abs=4 * math.sqrt(15.3))
    assert ((small * 2**24) % 1 > 0).all()


def test_integers_are_not_negative():
    assert (integers(0, "test", *grid()) >= 0).all()


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
