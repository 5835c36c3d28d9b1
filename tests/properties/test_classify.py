"""Labels by words given codes and by codes given words: both agree with what a table says, enumerated."""

import itertools
import math

import pytest
import torch

from unmask.diffusion.classify import image_nats, label_nats, word_nats
from unmask.rng import generator

L, N, K = 2, 3, 3  # two words, then three codes
MASK, END, WORDS = K, K + 1, (K + 2, K + 3)
IDS = K + 4
LABELS = torch.tensor([[5, END], [6, END], [5, 6], [6, 5]])
CODES = torch.tensor([[2, 0, 1], [1, 1, 0]])


class Table:
    """A denoiser and prior without training: any table from masked rows to logits is a valid one."""

    mask_id, caption_length, causal = MASK, L, False

    def __init__(self):
        shape = (IDS,) * L + (K + 1,) * N + (L + N, IDS)
        logits = 2 * torch.randn(shape, generator=generator(0, "table"))
        ids = torch.arange(IDS)
        possible = torch.stack([(ids > MASK) if place < L else (ids < K) for place in range(L + N)])
        self.logits = logits.masked_fill(~possible, -math.inf)
        self.rows = 0

    def __call__(self, rows, where):
        self.rows += len(rows)
        return self.logits[tuple(rows.T)][where]

    def p(self, state):
        return self.logits[tuple(state)].double().softmax(1)


def test_a_label_given_codes_is_said_word_after_word():
    nats = label_nats(Table(), CODES, LABELS)
    for codes, found in zip(CODES.tolist(), nats, strict=True):
        for (first, second), one in zip(LABELS.tolist(), found, strict=True):
            p = Table().p([MASK, MASK, *codes])[0, first] * Table().p([first, MASK, *codes])[1, second]
            assert math.exp(-one) == pytest.approx(p.item())
    first, second = word_nats(Table(), CODES, LABELS)[0, 0]
    assert math.exp(-first) == pytest.approx(Table().p([MASK, MASK, *CODES[0]])[0, LABELS[0, 0]].item())
    assert (first + second).item() == pytest.approx(nats[0, 0].item())


def test_the_labels_that_there_can_be_have_all_of_the_probability():
    every = torch.tensor(list(itertools.product((END, *WORDS), repeat=L)))
    assert torch.exp(-label_nats(Table(), CODES, every)).sum(1).tolist() == pytest.approx([1, 1])


def test_labels_share_the_rows_in_which_they_agree():
    table = Table()
    label_nats(table, CODES, LABELS)
    assert table.rows == len(CODES) * 3  # nothing said yet, and either of two first words


def test_codes_given_a_label_cost_the_mean_over_all_orders():
    """−log p over an order, averaged over orders: what the bound is in the limit of ever more steps."""
    codes = CODES[:1].repeat(3000, 1)
    nats = image_nats(Table(), codes, LABELS[:2], 0, num_draws=4)
    for label, found in zip(LABELS[:2].tolist(), nats.T, strict=True):
        costs = []
        for order in itertools.permutations(range(N)):
            state, cost = [*label, *[MASK] * N], 0.0
            for place in order:
                code = int(CODES[0, place])
                cost -= math.log(Table().p(state)[L + place, code])
                state[L + place] = code
            costs.append(cost)
        error = found.std().item() / math.sqrt(len(found))
        assert found.mean().item() == pytest.approx(sum(costs) / len(costs), abs=4 * error)
        assert error < 0.05
