"""Pictures and labels of a set, on their way to a model and back."""

import json

import numpy as np
import pytest

from unmask.cli import classify
from unmask.cli.main import run_command
from unmask.data.pixels import PixelSet
from unmask.data.vocabulary import Vocabulary
from unmask.errors import DataError
from unmask.generation.prompts import Words


class Model:
    """Finds the first label in every picture."""

    def __init__(self, captions, words=("cat", "dog")):
        self.captions, self.most = captions, 0
        self.words = Words(Vocabulary(words, 2), mask_id=0)

    def open(self, *given, **more):
        pixels = np.zeros((len(self.captions), 4, 4, 3), np.uint8)

        def read(rows):
            self.most = max(self.most, len(rows))
            return pixels[rows]

        names = [f"{number}.png" for number in range(len(self.captions))]
        return PixelSet(names, np.arange(len(names)), read, names, self.captions)

    def classify(self, pictures, labels, **more):
        return [dict.fromkeys(labels, 0.5) for _ in pictures]


@pytest.fixture
def using(monkeypatch):
    def use(model):
        monkeypatch.setattr(classify, "load_model", lambda *given: model)
        return model

    return use


def test_pictures_are_read_a_few_at_a_time(using, capsys):
    model = using(Model(["cat", "dog", None, "cat", "dog"]))
    run_command(["classify", "model", "photos", "--split", "all", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["accuracy"], found["pictures"], found["labels"]) == (0.5, 4, 2)
    assert model.most == 1


def test_a_split_without_labels_is_refused(using, monkeypatch):
    using(Model(["cat", "dog"]))
    monkeypatch.setattr(classify, "open_images", lambda *given, **more: Model([None, None]).open())
    with pytest.raises(DataError, match="a caption in words that the model knows\n  --split all"):
        run_command(["classify", "model", "photos"])


def test_labels_of_unknown_words_are_left_out(using, capsys):
    using(Model(["cat", "dog", "okapi", "cat"]))
    run_command(["classify", "model", "photos", "--split", "all", "--json"])
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["pictures"], found["labels"]) == (3, 2)
    assert "1 of 3 labels have words that the model does not know" in said.err
