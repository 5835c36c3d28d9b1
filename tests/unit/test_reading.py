"""Whatever the bytes are, there is a value or a sentence."""

import os
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.cli.sample import read_prompts
from unmask.config import CodecTraining, merge, read_changes
from unmask.data.pictures import open_picture
from unmask.errors import ConfigError, DataError, UnmaskError
from unmask.reading import (
    DamagedError,
    brief,
    fit,
    map_array,
    parse_json,
    parse_yaml,
    parsing,
    read_bytes,
    read_json,
    reason,
)


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_value_or_damaged(data):
    for parse in (parse_json, parse_yaml):
        with suppress(DamagedError):
            parse(data)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "NaN", "[Infinity]", "-Infinity", "1" * 5000]
)
def test_json_that_is_none_is_damaged(text):
    with pytest.raises(DamagedError):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"? [a, b]\n: c\n", "found unhashable key, line 1"),
        (b"optim:\n  lr: [1\n", "expected .* line 3"),
        (b"a: b: c", "mapping values are not allowed here, line 1"),
    ],
)
def test_a_yaml_file_is_said_to_be_damaged_by_what_and_where(text, why):
    with pytest.raises(DamagedError, match=why):
        parse_yaml(text)


def test_what_the_disk_says_and_what_we_say_ourselves_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), parsing():
        read_json(tmp_path / "absent")
    with pytest.raises(DataError), parsing():
        raise DataError("ours")
    with pytest.raises(DamagedError, match=r"KeyError|'x'"), parsing():
        {}["x"]


def test_a_reason_is_one_short_line_without_escapes():
    error = ValueError("\x1b]0;owned\x07" + "x" * 10_000 + "\nand more")
    assert reason(error).isprintable()
    assert len(reason(error)) < 300


def test_a_value_that_grows_when_it_is_written_out_is_cut_short():
    bomb: list[object] = ["lol"] * 10
    for _ in range(30):
        bomb = [bomb] * 10
    assert len(brief(bomb)) < 100_000


def test_no_more_is_read_than_there_may_be(tmp_path):
    (tmp_path / "file").write_bytes(bytes(10))
    assert read_bytes(tmp_path / "file", 10) == bytes(10)
    with pytest.raises(DamagedError, match="more than 9 bytes"):
        read_bytes(tmp_path / "file", 9)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_bytes(tmp_path / "pipe", 10)
    for read in (read_changes, read_prompts, open_picture):
        with pytest.raises(UnmaskError, match="not a regular file"):
            read(tmp_path / "pipe")


@given(place=st.integers(0, 127), value=st.integers(0, 255))
def test_an_array_with_any_byte_of_its_header_changed_is_one_or_damaged(tmp_path_factory, place, value):
    path = tmp_path_factory.mktemp("array") / "rows.npy"
    np.save(path, np.zeros((2, 4, 4, 3), np.uint8))
    data = bytearray(path.read_bytes())
    data[place] = value
    path.write_bytes(data)
    with suppress(DamagedError):
        assert map_array(path).nbytes <= len(data)


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\x00",
        b"1: 2",
        b"~: 2",
        b"optim: {2020-01-01: 3}",
        b"? {a: 1}\n: 2",
        b"[" * 3000,
        b"{a: " * 3000,
        b"optim: {batch: 99999999999999999999999999999}",
        b"optim: {lr: 1" + b"0" * 400 + b"}",
        b"train: 2020-99-99",
        b"a: &a [x, x]\nb: &b [*a, *a]\ntrain: *b",
    ],
)
def test_odd_settings_are_one_sentence(tmp_path, text):
    path = tmp_path / "changes.yaml"
    path.write_bytes(text)
    with pytest.raises(ConfigError):
        merge(CodecTraining(), read_changes(path))


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        ([1.0, 2], list[float], True),
        ({"a": [1.0]}, dict[str, list[float]], True),
        ({"a": None}, dict[str, float | None], True),
        (["a", 1], list[str], False),
        ({"a": [[]]}, dict[str, list[float]], False),
        (2**63, int, False),
        (2**63 - 1, int, True),
        (True, int, False),
    ],
)
def test_a_value_fits_its_kind_or_does_not(value, hint, fits):
    if fits:
        assert fit(value, hint, "it") == value
    else:
        with pytest.raises(ConfigError, match="it is"):
            fit(value, hint, "it")


def test_numbers_that_are_texts_become_numbers_within_lists_and_dictionaries_too():
    assert fit({"a": ["1e-4", 2]}, dict[str, list[float]], "it") == {"a": [0.0001, 2.0]}
