"""Where ``unmask sample`` takes its prompts from."""

from pathlib import Path

import pytest

from unmask.cli.sample import read_prompts


@pytest.mark.parametrize("folder", [False, True])
def test_captions_data_are_those_of_the_training(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    if folder:
        Path("data").mkdir()
    assert read_prompts(Path("data")) is None


def test_a_file_named_data_goes_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data").write_text("cat\ndog\n")
    assert read_prompts(Path("data")) == ["cat", "dog"]
