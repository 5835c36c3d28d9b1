"""Progress on stderr: bars in a terminal, lines by time in a file, nothing when quiet."""

from io import StringIO

import pytest
from rich.console import Console

from unmask import progress
from unmask.progress import QUIET, bar, rough_duration, say


@pytest.fixture
def clock(monkeypatch):
    """The seconds that a test says have passed."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def test_a_file_gets_a_first_line_within_seconds_and_then_one_by_time(clock, capsys):
    with bar("encoding") as report:
        for clock[0] in range(60):
            report(clock[0], 120)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "encoding: 2 of 120 images, 2.0 min left"
    assert [int(line.split()[1]) for line in lines] == [2, 17, 32, 47]


def test_the_first_of_many_tells_nothing_of_how_long_the_others_take(clock, capsys):
    with bar("encoding") as report:
        clock[0] = 3
        report(1, 1000)
    assert capsys.readouterr().err == "encoding: 1 of 1,000 images\n"


def test_what_is_counted_is_said(clock, capsys):
    with bar("drawing", unit="codes") as report:
        clock[0] = 3
        report(16, 376)
    assert capsys.readouterr().err.startswith("drawing: 16 of 376 codes, ")


def test_what_is_done_in_a_moment_leaves_no_line(clock, capsys):
    with bar("encoding") as report:
        report(1, 2)
        clock[0] = 30
        report(2, 2)
    assert capsys.readouterr().err == ""


def test_quiet_says_nothing(clock, capsys):
    token = QUIET.set(True)
    try:
        say("a sentence")
        with bar("encoding") as report:
            clock[0] = 30
            report(1, 2)
    finally:
        QUIET.reset(token)
    assert capsys.readouterr().err == ""


def test_a_bar_is_whole_at_80_columns(monkeypatch):
    console = Console(force_terminal=True, width=80, record=True, file=StringIO())
    monkeypatch.setattr(progress, "stderr", lambda visible=True: console)
    with bar("encoding a folder with a long name, /home/somebody/pictures/holidays") as report:
        report(123_456, 1_234_567)
    last = console.export_text().strip()[-80:]  # the frame before it was drawn over
    assert last.startswith("encoding a folder with a long n… ━")
    assert last.endswith(" 123456/1234567 images -:--:--")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59, "59 s"), (100, "1.7 min"), (9000, "2.5 h")]
)
def test_times_are_said_in_words(seconds, words):
    assert rough_duration(seconds) == words
