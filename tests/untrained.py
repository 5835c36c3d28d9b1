"""Models that nobody has trained, for tests to which it does not matter what they draw."""

from dataclasses import asdict, replace
from pathlib import Path

from PIL import Image

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import NO_TEXT, Text, Transformer
from unmask.rng import generator
from unmask.storage.bundles import Bundle, Part
from unmask.training.runs import Run

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


def begun(folder: Path, *, steps: int = 3000, known: int = 2000, model: Bundle | None = None) -> Run:
    """A training on its way: a log, a picture every 500 steps as grey as it is late, and its best model."""
    run = Run.create(folder, {"settings": {"loop": {"steps": steps}}})
    for step in range(100, known + 1, 100):
        run.log(step, {"loss": 5 * 0.999**step, "bits": 8 - step / 1000})
        if step % 500 == 0:
            run.log(step, {"bits": 8.5 - step / 1000}, kind="validation")
            run.picture("samples", step, Image.new("RGB", (96, 48), (step // 20,) * 3))
    if model is not None:
        run.save_bundle("best", model)
    return run
