"""Transfer of weights to a model of another shape: a prior of other words, a codec of other levels."""

from collections.abc import Mapping

import torch
from torch import Tensor

from unmask.data.vocabulary import Vocabulary

Layer = dict[str, Tensor]  # its tensors, by their names within it


def with_other_words(
    tensors: Mapping[str, Tensor],
    fresh: Mapping[str, Tensor],
    codebook_size: int,
    before: Vocabulary | None,
    now: Vocabulary | None,
) -> dict[str, Tensor]:
    """``tensors`` of a prior with the words ``before``, for one with the words ``now``, shaped as ``fresh``.

    Codes, MASK and the words that both know keep what was learnt of them; the rest is as in ``fresh``.
    """
    old, new = _ids(codebook_size, before), _ids(codebook_size, now)
    shared = torch.tensor([(old[name], new[name]) for name in new if name in old])  # (n, 2)
    result = dict(tensors)
    for table in ("tokens.weight", "head.weight"):
        rows = torch.tensor([len(tensors[table]), len(fresh[table])])
        was, becomes = shared[(shared < rows).all(1)].T.tolist()
        result[table] = fresh[table].clone()
        result[table][becomes] = tensors[table][was].to(fresh[table])
    result.pop("positions", None)
    if "positions" in fresh:
        result["positions"] = _positions(tensors.get("positions"), fresh["positions"], before, now)
    return result


def _ids(codebook_size: int, vocabulary: Vocabulary | None) -> dict[int | str, int]:
    """The id of each code and of MASK, by number, and of each word, by name; '' is the end of a caption."""
    words = ("", *vocabulary.words) if vocabulary else ()
    return {
        **{code: code for code in range(codebook_size + 1)},
        **{word: codebook_size + 1 + number for number, word in enumerate(words)},
    }


def _positions(
    old: Tensor | None, fresh: Tensor, before: Vocabulary | None, now: Vocabulary | None
) -> Tensor:
    """Learned positions: of words as far as both have room for them, then of codes, if those are learned."""
    was, is_now = (vocabulary.length if vocabulary else 0 for vocabulary in (before, now))
    result = fresh.clone()
    if old is not None:
        both = min(was, is_now)
        result[:both] = old[:both]
        result[is_now:] = old[was:]
    return result


def shared_layers(found: Mapping[str, Tensor], fresh: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], int]:
    """``fresh`` tensors with those of ``found`` where both have such a layer, and how many came over.

    Networks are compared layer by layer from either end, up to the first that differs: a codec with one more
    level gets all of the others, wherever they stand in it.
    """
    tensors = dict(fresh)
    for network in ("encoder", "decoder", "quantizer"):
        old, new = _layers(found, network), _layers(fresh, network)
        front = _alike(old, new)
        back = min(_alike(old[::-1], new[::-1]), len(new) - front)
        pairs = [*zip(new[:front], old[:front], strict=True)]
        pairs += zip(new[len(new) - back :], old[len(old) - back :], strict=True)
        for (at, layer), (_, theirs) in pairs:
            tensors |= {f"{network}.{at}{name}": theirs[name] for name in layer}
    return tensors, sum(tensors[name] is not fresh[name] for name in fresh)


def _layers(tensors: Mapping[str, Tensor], network: str) -> list[tuple[str, Layer]]:
    """The layers of a network in order, each with its place; what has no number is one layer."""
    layers: dict[str, Layer] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition(".")
        if part == network:
            at, dot, inner = rest.partition(".")
            at, inner = (at, dot + inner) if at.isdigit() else ("", rest)
            layers.setdefault(at, {})[inner] = tensor
    return sorted(layers.items(), key=lambda layer: int(layer[0] or 0))


def _alike(old: list[tuple[str, Layer]], new: list[tuple[str, Layer]]) -> int:
    """How many layers from the front have the same tensors."""
    count = 0
    for (_, theirs), (_, layer) in zip(old, new, strict=False):  # the shorter network ends it
        if {name: x.shape for name, x in theirs.items()} != {name: x.shape for name, x in layer.items()}:
            break
        count += 1
    return count
