"""What the two layouts share: names inside blocks, quantisers and minGPT's Transformer."""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict

from unmask.codec.autoencoder import Autoencoder
from unmask.codec.config import CodecConfig, QuantizerConfig
from unmask.config import merge
from unmask.errors import WeightsError
from unmask.importers.ledger import Ledger, shapes, translate
from unmask.models import codec_from, prior_from
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import Transformer
from unmask.storage.bundles import Part

GROUPS = 32  # of every normalisation, in both code bases
_LAYER = {"qkv": ("q", "k", "v"), "out": ("proj_out",)}
_TRANSFORMER = {
    "tokens": ("tok_emb",),
    "norm1": ("ln1",),
    "attention.q": ("attn.query",),
    "attention.kv": ("attn.key", "attn.value"),
    "attention.out": ("attn.proj",),
    "norm2": ("ln2",),
    "widen": ("mlp.0",),
    "narrow": ("mlp.2",),
    "norm": ("ln_f",),
    "head": ("head",),
}


def read_quantizer(ledger: Ledger, prefix: str) -> QuantizerConfig:
    """The quantiser that the file holds, with as many codes as it has."""
    gumbel = bool(ledger.matches(re.escape(f"{prefix}quantize.") + r"(proj|embed)\."))
    codebook = f"{prefix}quantize.{'embed' if gumbel else 'embedding'}.weight"
    return QuantizerConfig(kind="gumbel" if gumbel else "nearest", codebook_size=ledger.size((codebook, 0)))


def read_codec(
    ledger: Ledger, config: CodecConfig, layer: Callable[[str, int], str], *, prefix: str, shortcut: str
) -> Part:
    """The codec of a file; ``layer`` is its name of a layer of our encoder or decoder."""
    codebook = "embed.weight" if config.quantizer.kind == "gumbel" else "embedding.weight"
    inner = _LAYER | {"shortcut": (shortcut,)}

    def theirs(name: str) -> list[str]:
        if name == "quantizer.codebook":
            return [f"{prefix}quantize.{codebook}"]
        if name.startswith("quantizer.logits."):
            return [name.replace("quantizer.logits", f"{prefix}quantize.proj")]
        side, index, *path, end = name.split(".")
        name = layer(side, int(index))
        return [".".join([name, one, end]) for one in inner.get(path[0], path)] if path else [f"{name}.{end}"]

    tensors = translate(ledger, shapes(lambda: Autoencoder(config)), theirs)
    return Part(asdict(config), tensors)


def read_prior(
    ledger: Ledger, prefix: str, config: PriorConfig, grid: tuple[int, int], *, start_code: int | None = None
) -> Part:
    """The Transformer of a file; where it begins with a code instead of a vector, that is ``start_code``."""
    K, N = ledger.size((f"{prefix}head.weight", 0)), grid[0] * grid[1]
    wanted = shapes(lambda: Transformer(config, K, grid))
    positions, start = wanted.pop("positions"), wanted.pop("start", None)

    def theirs(name: str) -> list[str]:
        match = re.fullmatch(r"(blocks\.\d+\.)?(.+)(\.weight|\.bias)", name)
        assert match, f"no rule for {name}"
        block, inner, end = match.groups(default="")
        return [f"{prefix}{block}{one}{end}" for one in _TRANSFORMER[inner]]

    tensors = translate(ledger, wanted, theirs)
    length = max(N, ledger.size((f"{prefix}pos_emb", 1)))
    tensors["positions"] = ledger.take(f"{prefix}pos_emb", (1, length, positions[1]))[0, :N].clone()
    if start is not None and start_code is None:
        tensors["start"] = ledger.take(f"{prefix}start_tok", (1, 1, *start))[0, 0].clone()
    elif start is not None:
        tensors["start"] = tensors["tokens.weight"][start_code].clone()
    return Part(asdict(config) | {"codebook_size": K, "grid": list(grid)}, tensors)


def transformer_size(ledger: Ledger, prefix: str) -> tuple[int, int]:
    """Width and depth of the Transformer in a file."""
    ends = (("ln_f.weight", 0), ("ln_f.bias", 0), ("tok_emb.weight", 1), ("head.weight", 1), ("pos_emb", 2))
    width = ledger.size(*((f"{prefix}{name}", axis) for name, axis in ends))
    blocks = {int(match[1]) for match in ledger.matches(re.escape(prefix) + r"blocks\.(\d+)\.")}
    return width, max(blocks, default=-1) + 1


def level_widths(ledger: Ledger, width: int, levels: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Channels of each level in widths; ``levels`` name the residual blocks of each."""
    channels = [
        ledger.size(
            *((match.string, 0) for block in blocks for match in ledger.matches(re.escape(f"{block}.")))
        )
        for blocks in levels
    ]
    if any(one % width for one in channels):
        raise WeightsError(f"{ledger.path}: levels of {channels} channels are no multiples of {width}")
    return tuple(one // width for one in channels)


def num_codes(codec: Part, size_px: int) -> int:
    """Codes along the edge of a picture of ``size_px`` pixels."""
    return merge(CodecConfig(), codec.config).grid(size_px)


def check(codec: Part, prior: Part | None) -> None:
    """Refuse networks that could not be used, alone or together."""
    codec_from(codec)
    if prior is None:
        return
    prior_from(prior)
    there, wanted = prior.config["codebook_size"], codec.config["quantizer"]["codebook_size"]
    if there != wanted:
        raise WeightsError(f"the prior speaks of {there} codes, the codec of {wanted}: they are no pair")
