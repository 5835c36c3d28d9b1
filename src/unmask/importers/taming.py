"""VQGANs of taming-transformers (Esser et al., 2021) and the GPT over their codes, where a file holds one.

Sizes come from the tensors. The configuration beside a checkpoint says what no tensor does: the size of the
pictures, the heads of the Transformer, and whether it has other inputs than codes.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.codec.config import CodecConfig
from unmask.errors import WeightsError
from unmask.importers.ledger import Ledger
from unmask.importers.networks import (
    GROUPS,
    check,
    level_widths,
    num_codes,
    read_codec,
    read_prior,
    read_quantizer,
    transformer_size,
)
from unmask.prior.config import PriorConfig
from unmask.reading import DamagedError, parse_yaml, read_bytes, reason
from unmask.storage.bundles import Bundle, Part
from unmask.third_party.checkpoints import read_state_dict

GPT, FIRST_STAGE = "transformer.", "first_stage_model."
CODEC_ALONE = "take its codec alone:  --codec-only"


def import_taming(checkpoint: Path, config: Path, *, codec_only: bool = False) -> Bundle:
    """The model in a checkpoint and its configuration: a codec and, unless left out, its prior."""
    ledger, settings = Ledger(checkpoint, read_state_dict(checkpoint)), _read_config(config)
    has_prior = bool(ledger.matches(re.escape(GPT)))
    prefix = FIRST_STAGE if has_prior else ""
    codec = _read_codec(ledger, prefix)
    first_stage = ["first_stage_config", "params"] if has_prior else []
    size = _get(settings, config, [*first_stage, "ddconfig", "resolution"])
    prior = None
    if has_prior and not codec_only:
        prior = _read_gpt(ledger, settings, config, num_codes(codec, size))
    elif has_prior:
        ledger.leave(r"transformer\..+", r"cond_stage_model\..+")
    ledger.leave(rf"({re.escape(FIRST_STAGE)})?loss\..+")
    ledger.close()
    check(codec, prior)
    about = {"image_size": size, "imported": {"layout": "taming", "files": [checkpoint.name, config.name]}}
    return Bundle(codec, prior, about)


def _read_config(path: Path) -> dict[str, Any]:
    """``model.params`` of a configuration, in which everything stands."""
    try:
        settings = parse_yaml(read_bytes(path))
    except OSError as error:
        raise WeightsError(f"cannot read {path}: {reason(error)}") from error
    except DamagedError as error:
        raise WeightsError(f"{path} is no YAML: {error}") from error
    match settings:
        case {"model": {"params": dict(params)}}:
            return params
    raise WeightsError(f"{path} is no configuration of taming-transformers: it has no model.params")


def _get(settings: Mapping[str, Any], path: Path, keys: list[str]) -> int:
    value: Any = settings
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, int):
        raise WeightsError(f"{path} lacks model.params.{'.'.join(keys)}, or it is no whole number")
    return value


def _read_codec(ledger: Ledger, prefix: str) -> Part:
    config = _codec_config(ledger, prefix)
    layers = {"encoder": _encoder_layers(config, prefix), "decoder": _decoder_layers(config, prefix)}
    return read_codec(
        ledger, config, lambda side, index: layers[side][index], prefix=prefix, shortcut="nin_shortcut"
    )


def _codec_config(ledger: Ledger, prefix: str) -> CodecConfig:
    """The settings that the tensors show."""
    down = f"{prefix}encoder.down."
    places = {
        (int(m[1]), m[2], int(m[3])) for m in ledger.matches(re.escape(down) + r"(\d+)\.(\w+)\.(\d+)\.")
    }
    num_levels = 1 + max((level for level, kind, _ in places if kind == "block"), default=0)
    blocks = 1 + max((number for _, kind, number in places if kind == "block"), default=0)
    residuals = [[f"{down}{level}.block.{number}" for number in range(blocks)] for level in range(num_levels)]
    ends = (f"{prefix}encoder.conv_in", f"{down}0.block.0.norm1")
    width = ledger.size(*((f"{name}.{end}", 0) for name in ends for end in ("weight", "bias")))
    return CodecConfig(
        width=width,
        multipliers=level_widths(ledger, width, residuals),
        blocks=blocks,
        attention=tuple(sorted({2**level for level, kind, _ in places if kind == "attn"})),
        code_width=_code_width(ledger, prefix),
        groups=GROUPS,
        pixel_range=(-1.0, 1.0),
        family="taming",
        quantizer=read_quantizer(ledger, prefix),
    )


def _code_width(ledger: Ledger, prefix: str) -> int:
    """E; that the networks end in as many channels is found out tensor by tensor."""
    names = ("quant_conv.weight", 0), ("quant_conv.bias", 0), ("post_quant_conv.weight", 1)
    codebooks = ("quantize.embedding.weight", 1), ("quantize.embed.weight", 1)
    return ledger.size(*((f"{prefix}{name}", axis) for name, axis in (*names, *codebooks)))


def _encoder_layers(config: CodecConfig, prefix: str) -> list[str]:
    """Their names of our encoder's layers, in order; an activation has no tensors, but a place."""
    side = f"{prefix}encoder"
    layers = [f"{side}.conv_in"]
    for level in range(len(config.multipliers)):
        if level:
            layers.append(f"{side}.down.{level - 1}.downsample")
        layers += _level(config, f"{side}.down.{level}", level, config.blocks)
    return [*layers, *_middle(side), f"{side}.norm_out", "", f"{side}.conv_out", f"{prefix}quant_conv"]


def _decoder_layers(config: CodecConfig, prefix: str) -> list[str]:
    side = f"{prefix}decoder"
    layers = [f"{prefix}post_quant_conv", f"{side}.conv_in", *_middle(side)]
    for level in reversed(range(len(config.multipliers))):
        layers += _level(config, f"{side}.up.{level}", level, config.blocks + 1)
        if level:
            layers.append(f"{side}.up.{level}.upsample")
    return [*layers, f"{side}.norm_out", "", f"{side}.conv_out"]


def _level(config: CodecConfig, name: str, level: int, blocks: int) -> list[str]:
    kinds = ("block", "attn") if 2**level in config.attention else ("block",)
    return [f"{name}.{kind}.{number}" for number in range(blocks) for kind in kinds]


def _middle(side: str) -> list[str]:
    return [f"{side}.mid.block_1", f"{side}.mid.attn_1", f"{side}.mid.block_2"]


def _read_gpt(ledger: Ledger, settings: dict[str, Any], path: Path, edge: int) -> Part:
    """The GPT of a checkpoint; it begins with an ordinary code that stands for nothing."""
    unconditional = settings.get("unconditional") is True
    if not unconditional and settings.get("cond_stage_config") != "__is_unconditional__":
        message = f"the prior of {ledger.path} is conditional (cond_stage_config in {path})"
        raise WeightsError(f"{message}; only unconditional ones are imported", hint=CODEC_ALONE)
    order = settings.get("permuter_config") or {}
    if order and not str(order.get("target", "")).endswith(".Identity"):
        raise WeightsError(
            f"the prior of {ledger.path} takes codes in another order ({path})", hint=CODEC_ALONE
        )
    heads = _get(settings, path, ["transformer_config", "params", "n_head"])
    start = _get({"sos_token": 0} | settings, path, ["sos_token"])
    if not 0 <= start < (K := ledger.size((f"{GPT}head.weight", 0))):
        raise WeightsError(f"{path} begins with code {start}, but {ledger.path} knows only {K} codes")
    width, depth = transformer_size(ledger, GPT)
    config = PriorConfig(kind="autoregressive", width=width, depth=depth, heads=heads)
    part = read_prior(ledger, GPT, config, (edge, edge), start_code=start)
    ledger.leave(re.escape(GPT) + r"blocks\.\d+\.attn\.mask")
    return part
