"""Models that nobody has trained, for tests to which it does not matter what they draw."""

from dataclasses import asdict, replace

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import NO_TEXT, Text, Transformer
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part

K, FACTOR = 16, 4  # codes, and pixels along the edge of one
SMALL_CODEC = CodecConfig(
    width=8,
    multipliers=(1, 2),
    blocks=1,
    attention=(),
    code_width=4,
    groups=4,
    quantizer=QuantizerConfig(codebook_size=K),
)


def untrained(kind: str = "absorbing", *, edge: int = 4, words: tuple[str, ...] = ()) -> Bundle:
    """Random weights, for pictures of ``edge``×``edge`` codes, and for captions of up to four words."""
    codec = replace(SMALL_CODEC, multipliers=(1, 2, 2))
    prior, grid = PriorConfig(kind=kind, width=16, depth=2, heads=2), (edge, edge)
    text = Text(4, len(words) + 1) if words else NO_TEXT
    network = Transformer(prior, K, grid, generator(0, "prior"), text)
    networks = Autoencoder(codec, generator(0, "codec")), network
    told = {"words": sorted(words), "caption_length": text.length} if words else {}
    configs = asdict(codec), asdict(prior) | {"codebook_size": K, "grid": list(grid)} | told
    parts = [Part(config, network.state_dict()) for config, network in zip(configs, networks, strict=True)]
    return Bundle(*parts, about={"image_size": FACTOR * edge})
