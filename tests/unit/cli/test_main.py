"""What the command line says when something is wrong."""

import pytest

from unmask.cli import main as command_line
from unmask.errors import DataError


@pytest.mark.parametrize("kind", [DataError, OSError])
def test_an_error_with_terminal_escapes_in_it_is_shown_and_not_obeyed(kind, monkeypatch, capfd):
    def fail(_):
        raise kind("before \x1b]0;owned\x07 after\n  [a hint]")

    monkeypatch.setattr(command_line, "_dispatch", fail)
    monkeypatch.setattr(command_line.os, "dup2", lambda *_: None)  # the tests' own standard output
    with pytest.raises(SystemExit, match="2"):
        command_line.main([])
    said = capfd.readouterr().err
    assert r"before \x1b]0;owned\x07 after" in said
    assert "\n  [a hint]" in said
