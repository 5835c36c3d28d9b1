import inspect

import pytest

from unmask import errors
from unmask.cli import main as command_line

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_to_type_stands_on_an_indented_line_of_its_own(kind):
    assert str(kind("found this, wanted that")) == "found this, wanted that"
    assert str(kind("found this", hint="type:  unmask")) == "found this\n  type:  unmask"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_mistake_becomes_a_message_and_exit_code_2(kind, monkeypatch, capsys):
    def mistaken(_: list[str]) -> None:
        raise kind("data [bold]/holds[/] no images", hint="look:  unmask data")

    monkeypatch.setattr(command_line, "_dispatch", mistaken)
    with pytest.raises(SystemExit) as left:
        command_line.main(["data"])
    assert left.value.code == 2
    # what looks like markup in a user's own words is shown as it is
    assert capsys.readouterr().err == "error: data [bold]/holds[/] no images\n  look:  unmask data\n"


def test_a_mistake_of_all_processes_is_said_by_the_first(monkeypatch, capsys):
    """The others wait, and torchrun ends them meanwhile; who is still there made a mistake of its own."""
    waited = []
    monkeypatch.setattr(command_line.time, "sleep", lambda _: waited.append(capsys.readouterr().err))
    for rank in ("0", "1"):
        monkeypatch.setenv("LOCAL_RANK", rank)
        with pytest.raises(SystemExit):
            command_line.main(["nothing"])
        assert capsys.readouterr().err.startswith("error: there is no command 'nothing'")
    assert waited == [""]


def test_a_programmers_mistake_keeps_its_traceback(monkeypatch):
    def broken(_: list[str]) -> None:
        raise AssertionError

    monkeypatch.setattr(command_line, "_dispatch", broken)
    with pytest.raises(AssertionError):
        command_line.main(["data"])


def test_an_interrupt_is_no_error_and_leaves_with_130(monkeypatch, capsys):
    def interrupted(_: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "_dispatch", interrupted)
    with pytest.raises(SystemExit) as left:
        command_line.main(["data"])
    assert left.value.code == 130
    assert capsys.readouterr().err == "stopped\n"
