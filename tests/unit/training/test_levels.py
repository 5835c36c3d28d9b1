import torch

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.rng import generator
from unmask.training.transfer import shared_layers


def codec(*multipliers, size=16):
    quantizer = QuantizerConfig(codebook_size=size)
    config = CodecConfig(
        width=8, multipliers=multipliers, blocks=1, attention=(), code_width=4, groups=4, quantizer=quantizer
    )
    return Autoencoder(config, generator(len(multipliers)))


def test_the_same_network_takes_all():
    old, new = codec(1, 2).state_dict(), codec(1, 2, size=16).state_dict()
    tensors, count = shared_layers(old, new)
    assert count == len(new)
    assert all(torch.equal(tensors[name], old[name]) for name in new)


def test_one_more_level_gets_the_others_from_both_ends():
    old, new = codec(1, 2), codec(1, 2, 2)
    tensors, _ = shared_layers(old.state_dict(), new.state_dict())
    new.load_state_dict(tensors)
    images = torch.rand(1, 3, 16, 16, generator=generator(0))
    shared = 4  # the first convolution, a level, down, a level
    torch.testing.assert_close(new.encoder[:shared](images), old.encoder[:shared](images))
    latents = torch.rand(1, 16, 8, 8, generator=generator(0))
    tail = 5  # a level, up, a level, normalisation, the last convolution
    torch.testing.assert_close(new.decoder[-tail:](latents), old.decoder[-tail:](latents))


def test_another_codebook_is_fresh_and_the_networks_are_not():
    old, new = codec(1, 2).state_dict(), codec(1, 2, size=32).state_dict()
    tensors, count = shared_layers(old, new)
    fresh = [name for name in new if tensors[name] is new[name]]
    assert fresh
    assert all(name.startswith("quantizer.") for name in fresh)
    assert count == len(new) - len(fresh)


def test_of_other_widths_nothing_is_alike():
    old = codec(1, 2).state_dict()
    other = {name: torch.cat([tensor, tensor]) for name, tensor in old.items()}
    assert shared_layers(old, other)[1] == 0


def test_a_shorter_network_takes_no_layer_twice():
    old, new = codec(1, 1, 1).state_dict(), codec(1, 1).state_dict()
    tensors, count = shared_layers(old, new)
    assert count == len(new)
    Autoencoder.load_state_dict(codec(1, 1), tensors)
