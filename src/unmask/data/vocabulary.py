"""Words to numbers and back: a plain table of the words of the training captions.

A caption is a row of L tokens: its words, then END up to the length. Words are numbered from 1 in the order
of the alphabet; END is 0.
"""

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from unmask.errors import ConfigError, DataError

END = 0
MAX_WORDS = 8192  # of a vocabulary: the most frequent
FEW = 32  # words that are named, all of them, when a prompt has an unknown one
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words_of(text: str) -> list[str]:
    """Lower-case words, without what stands between them."""
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True)
class Vocabulary:
    """The words that a prior knows, and how many of them a caption has room for."""

    words: tuple[str, ...]
    length: int
    """L, the tokens of a caption."""

    @classmethod
    def of(cls, captions: Iterable[str | None], max_length: int) -> "Vocabulary":
        """The words of some captions, with room for the longest of them up to ``max_length`` words.

        The room is a power of two: attention over 256 codes and 16 words is faster than over 256 and 14.
        """
        rows = [words_of(text)[:max_length] for text in captions if text]
        counts = Counter(word for row in rows for word in row)
        if not counts:
            raise DataError("there is no word in any caption", hint="train without:  --images.captions none")
        room = 1 << (max(map(len, rows)) - 1).bit_length()
        return cls(tuple(sorted(word for word, _ in counts.most_common(MAX_WORDS))), room)

    def __len__(self) -> int:
        """V: the words and END."""
        return len(self.words) + 1

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, start=1)}

    def encode(self, text: str) -> list[int]:
        """L tokens of a caption of the data: unknown words are left out, and what is too long is cut off."""
        known = [self._numbers[word] for word in words_of(text) if word in self._numbers]
        return (known + [END] * self.length)[: self.length]

    def encode_prompt(self, text: str) -> list[int]:
        """Tokens of what a user asks for, as many as it has words: each must be known, and all must fit."""
        words = words_of(text)
        if unknown := [word for word in words if word not in self._numbers]:
            raise ConfigError(f"the model does not know {self._suggest(unknown)}")
        if len(words) > self.length:
            raise ConfigError(f"{text!r} has {len(words)} words; the model takes {self.length} at most")
        return [self._numbers[word] for word in words]

    def knows(self, text: str) -> bool:
        """Whether a caption has words, all of them known, and fits."""
        words = words_of(text)
        return 0 < len(words) <= self.length and all(word in self._numbers for word in words)

    def decode(self, tokens: Sequence[int]) -> str:
        """The caption that L tokens stand for."""
        return " ".join(self.words[token - 1] for token in tokens if token != END)

    def _suggest(self, unknown: Sequence[str]) -> str:
        return " or ".join(f"{word!r}{self._instead_of(word)}" for word in unknown)

    def _instead_of(self, word: str) -> str:
        """Known words like one that is not; where there are few, all of them."""
        if near := difflib.get_close_matches(word, self.words, n=3):
            return f" (near: {', '.join(near)})"
        return f" (known: {', '.join(self.words)})" if len(self.words) <= FEW else ""
