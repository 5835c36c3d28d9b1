"""What a prior knows of codes and words goes along when it starts over with other words."""

import pytest
import torch

from unmask.data.vocabulary import Vocabulary
from unmask.prior.config import PriorConfig
from unmask.prior.transformer import NO_TEXT, Text, Transformer
from unmask.rng import generator
from unmask.training.transfer import with_other_words

CODES = 7
WORDS = [None, Vocabulary(("cat", "dog"), 3), Vocabulary(("bird", "dog", "fish"), 2)]


def prior(vocabulary, positions, seed):
    config = PriorConfig(width=16, depth=1, heads=2, positions=positions, init="gpt2")
    text = Text(vocabulary.length, len(vocabulary)) if vocabulary else NO_TEXT
    return Transformer(config, CODES, (2, 2), generator(seed, "prior"), text)


def logits_of_codes(network, codes):
    """Of the picture alone: words masked out of what codes can see."""
    words = torch.full((len(codes), network.caption_length), network.mask_id)
    rows = torch.cat([words, codes], dim=1)
    where = torch.zeros(rows.shape, dtype=torch.bool)
    where[:, network.caption_length :] = True
    return network(rows, where)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("now", WORDS)
@pytest.mark.parametrize("before", WORDS)
def test_codes_and_shared_words_keep_what_was_learnt(before, now, positions):
    old, new = prior(before, positions, 1), prior(now, positions, 2)
    fresh = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    new.load_state_dict(with_other_words(old.state_dict(), fresh, CODES, before, now))
    assert torch.equal(new.tokens.weight[: CODES + 1], old.tokens.weight[: CODES + 1])
    assert torch.equal(new.head.weight[:CODES], old.head.weight[:CODES])
    for number, word in enumerate(now.words if now else (), start=CODES + 2):
        known = word in before.words if before else False
        source = (
            old.tokens.weight[CODES + 2 + before.words.index(word)]
            if known
            else fresh["tokens.weight"][number]
        )
        assert torch.equal(new.tokens.weight[number], source)
    if positions == "learned":
        assert torch.equal(new.positions[-4:], old.positions[-4:])


def test_the_same_words_are_the_same_prior():
    old, words = prior(WORDS[1], "rotary", 1), WORDS[1]
    new = prior(words, "rotary", 2)
    new.load_state_dict(with_other_words(old.state_dict(), new.state_dict(), CODES, words, words))
    codes = torch.tensor([[0, CODES, 3, CODES]])
    assert torch.equal(logits_of_codes(new, codes), logits_of_codes(old, codes))
