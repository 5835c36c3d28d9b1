"""The model card for the Hugging Face hub, written from a model's metadata."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from unmask.errors import BundleError
from unmask.storage.bundles import Bundle, Part

PICTURE = "samples.png"  # beside the card
HEAD = "---\nlibrary_name: unmask\n"
DATA_OF = {"codec": "data", "prior": "prior_data"}
USE = """```
pip install "unmask[hub]"
```
```python
import unmask

model = unmask.load("{name}")
{example}
```"""
SAMPLE = "model.sample(16, seed=0)[0]      # a PIL image"
RECONSTRUCT = "model.reconstruct(pictures)      # PIL images in, PIL images out"


def check_card(folder: Path) -> None:
    """Refuse a folder with a README.md or an image of somebody else's, which the card would replace."""
    card = folder / "README.md"
    begin = card.read_bytes()[: len(HEAD)] if card.is_file() else b""
    if begin != HEAD.encode() and (card.exists() or (folder / PICTURE).exists()):
        raise BundleError(f"{folder} holds a page that is not ours", hint="name a folder that is new")


def write_card(model: Bundle, name: str, licence: str, *, picture: bool) -> str:
    """The Markdown of a README.md: what the hub sorts by, then what a reader wants to know."""
    header = {"library_name": "unmask", "license": licence, "tags": ["unmask", "vq-gan", *_kinds(model)]}
    if model.prior:
        header["pipeline_tag"] = "unconditional-image-generation"
    example = SAMPLE if model.prior else RECONSTRUCT
    sections = [
        f"---\n{yaml.safe_dump(header, sort_keys=False)}---",
        f"# {name.rpartition('/')[2]}",
        *([f"![Samples]({PICTURE})"] if picture else []),
        _describe(model),
        "## Use",
        USE.format(name=name, example=example),
        "## Metrics",
        _table(model),
    ]
    return "\n\n".join(sections) + "\n"


def _kinds(model: Bundle) -> list[str]:
    kinds = {"absorbing": "absorbing-diffusion", "autoregressive": "autoregressive"}
    return [kinds[model.prior.config["kind"]]] if model.prior else []


def _describe(model: Bundle) -> str:
    size, codec = model.image_size, model.codec.config
    edge = size // 2 ** (len(codec["multipliers"]) - 1)
    sentences = [
        f"A VQ codec that turns images of {size}×{size} pixels into {edge}×{edge} codes of "
        f"{codec['quantizer']['codebook_size']:,} and back ({_parameters(model.codec)})."
    ]
    if model.prior:
        sentences.append(
            f"An {model.prior.config['kind']} prior over these codes, a Transformer of "
            f"{model.prior.config['depth']} layers ({_parameters(model.prior)})."
        )
    data = {what: Path(model.about[key]).name for what, key in DATA_OF.items() if key in model.about}
    if len(set(data.values())) == 1:
        sentences.append(f"Trained on `{next(iter(data.values()))}`.")
    else:
        sentences += [f"The {what} was trained on `{name}`." for what, name in data.items()]
    if "imported" in model.about:
        files = " and ".join(f"`{file}`" for file in model.about["imported"]["files"])
        sentences.append(f"Imported from {files}.")
    return " ".join(sentences)


def _parameters(part: Part) -> str:
    return f"{sum(tensor.numel() for tensor in part.tensors.values()) / 1e6:.1f}M parameters"


def _table(model: Bundle) -> str:
    """Metrics on the validation split, and fingerprints."""
    rows = [f"| {what} | {value} |" for what, value in _metrics(model)]
    return "\n".join(["| | |", "|---|---|", *rows])


def _metrics(model: Bundle) -> Iterator[tuple[str, Any]]:
    for name, part in model.parts.items():
        for metric, value in model.about.get(f"{name}_validation", {}).items():
            yield f"{name}, {metric.replace('_', ' ')}, on the validation split", f"{value:.4g}"
        if f"{name}_step" in model.about:
            yield f"{name}, steps trained", f"{model.about[f'{name}_step']:,}"
        yield f"{name}, fingerprint", f"`{part.fingerprint}`"
