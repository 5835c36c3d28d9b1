"""Weights of a prior that knows some words, made to fit one that knows others."""

from collections.abc import Mapping

from torch import Tensor

from unmask.data.vocabulary import Vocabulary


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
    shared = [name for name in new if name in old]
    result = dict(tensors)
    for table in ("tokens.weight", "head.weight"):
        result[table] = fresh[table].clone()
        rows = [
            name for name in shared if max(old[name] - len(tensors[table]), new[name] - len(fresh[table])) < 0
        ]
        result[table][[new[name] for name in rows]] = tensors[table][[old[name] for name in rows]].to(
            fresh[table]
        )
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
