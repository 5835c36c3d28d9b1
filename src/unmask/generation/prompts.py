"""Prompts to token ids, and token ids to captions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unmask.data.vocabulary import END, Vocabulary
from unmask.errors import ConfigError
from unmask.rng import derive

Prompt = str | Sequence[str] | None
"""A text for all images, or one for each in turn; None: captions of the training. Empty: nothing."""


def has_text(prompt: Prompt) -> bool:
    """Whether any image has a prompt; None, captions of the training, is one for all."""
    return prompt is None or any(text.strip() for text in ([prompt] if isinstance(prompt, str) else prompt))


def prompt_of(prompt: Prompt, image: int) -> str | None:
    """The prompt of one image, by its number within a request."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    return prompt[image % len(prompt)] if prompt else ""


@dataclass(frozen=True)
class Words:
    """The words of a prior; one that was trained without captions has none, and L is 0."""

    vocabulary: Vocabulary | None
    mask_id: int
    captions: Sequence[str] = ()
    """Some training captions, as frequent as in the training."""
    causal: bool = False
    """Whether the prior is autoregressive."""

    def require(self, hint: str = "train another on images with captions: docs/captions.md") -> Vocabulary:
        """The vocabulary; an error if there is none."""
        if self.vocabulary is None:
            raise ConfigError("this model was trained without captions", hint=hint)
        return self.vocabulary

    @property
    def length(self) -> int:
        """L, the words of a caption."""
        return self.vocabulary.length if self.vocabulary else 0

    def ids(self, prompt: str) -> Tensor:
        """(L,) ids of the beginning of a caption, which may go on in any way: MASK after it.

        An autoregressive prior has only seen whole captions, so for it the caption ends here.
        """
        ids = torch.full((self.length,), self.mask_id)
        if prompt.strip():
            tokens = self.require().encode_prompt(prompt)
            ids[: len(tokens)] = torch.tensor(tokens, dtype=torch.int64) + self.mask_id + 1
            ids[len(tokens) :] = self.mask_id + 1 + END if self.causal else self.mask_id
        return ids

    def whole(self, caption: str) -> Tensor:
        """(L,) ids of a caption that ends with these words."""
        ids = self.ids(caption)
        return ids.masked_fill(ids == self.mask_id, self.mask_id + 1 + END)

    def of(self, prompt: Prompt, images: range, seed: int) -> Tensor:
        """(len(images), L) ids of the prompts, by the numbers of images within a request."""
        if prompt is None and self.vocabulary and self.captions:
            encoded = [self.vocabulary.encode(caption) for caption in self.drawn(images, seed)]
            return torch.tensor(encoded) + self.mask_id + 1
        return torch.stack([self.ids(prompt_of(prompt or "", image) or "") for image in images])

    def drawn(self, images: range, seed: int) -> list[str]:
        """Captions of the training, as frequent as there, for images without a prompt."""
        if not self.captions:
            raise ConfigError(
                "this model does not say which captions it was trained with", hint="leave out --by-label"
            )
        return [self.captions[derive(seed, "caption", image) % len(self.captions)] for image in images]

    def text(self, ids: Tensor) -> str:
        """The caption that (L,) ids stand for; what is not known is left out."""
        tokens = (ids - self.mask_id - 1).clamp(min=END)
        return self.require().decode(tokens.tolist())

    def count(self, drawn: Tensor) -> dict[str, float]:
        """(n, L) drawn ids to the share of each caption, the largest first, whatever the order of words."""
        texts = [self.text(ids) for ids in drawn]
        sets = Counter(tuple(sorted(text.split())) for text in texts)
        first = {tuple(sorted(text.split())): text for text in reversed(texts)}
        return {first[words]: times / len(texts) for words, times in sets.most_common()}
