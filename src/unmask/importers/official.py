"""The files of the paper's authors: ``vqgan[_ema]_STEP.th`` and ``absorbing|autoregressive[_ema]_STEP.th``.

Their encoder and generator are rows of blocks in the very order of ours; only names differ. Every residual
block has a 1×1 convolution, though only those that change the width use it.
"""

import math
import re
from pathlib import Path

from unmask.codec.config import CodecConfig
from unmask.errors import WeightsError
from unmask.importers.ledger import Ledger
from unmask.importers.networks import (
    GROUPS,
    check,
    level_widths,
    read_codec,
    read_prior,
    read_quantizer,
    transformer_size,
)
from unmask.prior.config import PriorConfig
from unmask.storage.bundles import Bundle, Part
from unmask.third_party.checkpoints import read_state_dict

GRID = 16  # codes along the edge of every picture that the authors trained on
HEAD_WIDTH = 64  # channels of a head, which no tensor shows
ENCODER, GENERATOR = "ae.encoder.blocks", "ae.generator.blocks"
LEFT_ASIDE = (
    r"perceptual\..+",
    r"disc\.main\.\d+\.\w+",
    r"ae\.generator\.logsigma\.[02]\.(weight|bias)",
)
PREFIXES = {"absorbing": "_denoise_fn.", "autoregressive": "net."}
KINDS: dict[str | None, str] = {  # what a block is, by the names inside it
    **dict.fromkeys(("norm1", "conv1", "norm2", "conv2", "conv_out"), "r"),
    **dict.fromkeys(("norm", "q", "k", "v", "proj_out"), "a"),
    "conv": "d",
    None: "-",
}


def import_official(vqgan: Path, prior: Path | None = None, *, heads: int | None = None) -> Bundle:
    """The model in a VQGAN's file and, where there is one, a prior's; plain weights or averaged ones alike.

    The number of heads is in no file; without ``heads`` a head has 64 channels, as the authors' all have.
    """
    codec = _read_codec(Ledger(vqgan, read_state_dict(vqgan)))
    transformer = _read_prior(Ledger(prior, read_state_dict(prior)), heads) if prior else None
    check(codec, transformer)
    edge = transformer.config["grid"][0] if transformer else GRID
    factor = 2 ** (len(codec.config["multipliers"]) - 1)
    files = [path.name for path in (vqgan, prior) if path]
    about = {"image_size": edge * factor, "imported": {"layout": "official", "files": files}}
    return Bundle(codec, transformer, about)


def _read_codec(ledger: Ledger) -> Part:
    part = read_codec(ledger, _codec_config(ledger), _layer, prefix="ae.", shortcut="conv_out")
    for name, tensor in part.tensors.items():  # what blocks of one width carry along unused
        side, index, *path = name.split(".")
        if path == ["conv1", "bias"] and f"{side}.{index}.shortcut.bias" not in part.tensors:
            C = len(tensor)
            ledger.take(f"{_layer(side, int(index))}.conv_out.weight", (C, C, 1, 1))
            ledger.take(f"{_layer(side, int(index))}.conv_out.bias", (C,))
    ledger.leave(*LEFT_ASIDE)
    ledger.close()
    return part


def _layer(side: str, index: int) -> str:
    return f"{ENCODER if side == 'encoder' else GENERATOR}.{index}"


def _codec_config(ledger: Ledger) -> CodecConfig:
    """The settings that the tensors show."""
    levels, first = _levels(ledger), f"{ENCODER}.1.norm1"
    width = ledger.size(
        (f"{ENCODER}.0.weight", 0), (f"{ENCODER}.0.bias", 0), (f"{first}.weight", 0), (f"{first}.bias", 0)
    )
    number, residuals = 1, []
    for level in levels:
        residuals.append([f"{ENCODER}.{number + place}" for place, kind in enumerate(level) if kind == "r"])
        number += len(level) + 1
    return CodecConfig(
        width=width,
        multipliers=level_widths(ledger, width, residuals),
        blocks=levels[0].count("r"),
        attention=tuple(2**number for number, level in enumerate(levels) if "a" in level),
        code_width=_code_width(ledger, last=sum(map(len, levels)) + len(levels) + 4),
        groups=GROUPS,
        quantizer=read_quantizer(ledger, "ae."),
    )


def _levels(ledger: Ledger) -> list[str]:
    """What stands on each level of the encoder: ``r`` for a residual block, ``ra`` if attention follows."""
    kinds: dict[int, str] = {}
    for match in ledger.matches(re.escape(ENCODER) + r"\.(\d+)\.(?:(\w+)\.)?(?:weight|bias)$"):
        if match[2] in KINDS:
            kinds[int(match[1])] = KINDS[match[2]]
    row = "".join(kinds.get(number, "?") for number in range(max(kinds, default=0) + 1))
    found = re.match(r"-((?:r+|(?:ra)+)(?:d(?:r+|(?:ra)+))*)rar--", row)
    if found is None:
        at = row.find("?")
        raise WeightsError(
            f"{ledger.path} is of another layout: "
            + (f"it lacks {ENCODER}.{at}" if at >= 0 else f"the blocks of {ENCODER} stand as {row}")
        )
    return found[1].split("d")


def _code_width(ledger: Ledger, last: int) -> int:
    return ledger.size(
        (f"{ENCODER}.{last}.weight", 0),
        (f"{ENCODER}.{last}.bias", 0),
        (f"{GENERATOR}.0.weight", 1),
        ("ae.quantize.embedding.weight", 1),
        ("ae.quantize.embed.weight", 1),
    )


def _read_prior(ledger: Ledger, heads: int | None) -> Part:
    kinds = [kind for kind, prefix in PREFIXES.items() if ledger.matches(re.escape(prefix))]
    if len(kinds) != 1:
        wanted = " or ".join(f"{prefix}tok_emb.weight ({kind})" for kind, prefix in PREFIXES.items())
        raise WeightsError(f"{ledger.path} is of another layout: it lacks {wanted}")
    prefix = PREFIXES[kinds[0]]
    width, depth = transformer_size(ledger, prefix)
    config = PriorConfig(
        kind="absorbing" if kinds[0] == "absorbing" else "autoregressive",
        heads=heads or max(1, width // HEAD_WIDTH),
        width=width,
        depth=depth,
    )
    N = ledger.size((f"{prefix}pos_emb", 1))
    edge = math.isqrt(N)
    if edge * edge != N:
        raise WeightsError(f"{ledger.path}: {prefix}pos_emb has {N} positions, which are no square of codes")
    part = read_prior(ledger, prefix, config, (edge, edge))
    mask = re.escape(prefix) + r"blocks\.\d+\.attn\.mask"
    ledger.leave(mask, r"_denoise_fn\.start_tok", r"Lt_history|Lt_count|loss_history")
    ledger.close()
    return part
