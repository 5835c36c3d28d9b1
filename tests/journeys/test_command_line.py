"""``unmask`` as it is typed: help at once, and a mistake is answered, not thrown."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask import __version__
from unmask.cli.main import COMMANDS

UNMASK = Path(sys.executable).with_name("unmask")


def unmask(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"COLUMNS": "120"} | environment
    return subprocess.run([UNMASK, *words], capture_output=True, text=True, env=env, check=False)


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_every_command(words):
    shown = unmask(*words)
    assert shown.returncode == 0
    assert shown.stderr == ""
    for name, (_, summary) in COMMANDS.items():
        assert f"unmask {name}" in shown.stdout
        assert summary in shown.stdout


@pytest.mark.parametrize("words", ["", *COMMANDS])
def test_help_does_not_wait_for_torch(words):
    """Torch alone takes longer to import than a person waits; the interpreter says what it imports."""
    shown = unmask(*words.split(), "--help", PYTHONPROFILEIMPORTTIME="1")
    assert shown.returncode == 0, shown.stderr
    assert f"unmask {words}".strip() in shown.stdout
    imported = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert "unmask.cli.main" in imported
    assert not imported & {"torch", "lightning_fabric", "safetensors.torch"}


def test_the_version_is_the_packages():
    assert unmask("--version").stdout == f"unmask {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("train codc", "did you mean:  unmask train codec\n"),
        ("weigths list", "did you mean:  unmask weights\n"),
        ("quux", "see what there is:  unmask --help\n"),
        ("--quux", "see what there is:  unmask --help\n"),
    ],
)
def test_a_command_that_does_not_exist_is_answered_with_what_was_meant(typed, answer):
    refused = unmask(*typed.split())
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith("error: there is no command ")
    assert refused.stderr.endswith(f"\n  {answer}")


def test_what_one_process_does_is_refused_under_torchrun(monkeypatch):
    """Eight copies would write the same files."""
    monkeypatch.setenv("WORLD_SIZE", "8")
    refused = unmask("canvas", "emoji")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: canvas runs in one process only\n  without torchrun:  unmask")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_does_not_exist_is_refused_without_a_traceback(name):
    refused = unmask(*name.split(), "--quux")
    assert refused.returncode == 2
    assert f"unmask {name} --help" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_misspelt_option_is_answered_with_the_one_that_was_meant():
    refused = unmask("data", "emoji", "--siez", "32")
    assert refused.returncode == 2
    assert "--siez" in refused.stderr
    assert "--size" in refused.stderr


def test_pictures_that_do_not_exist_are_refused_without_a_traceback(tmp_path):
    refused = unmask("data", str(tmp_path / "nowhere"))
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: ")
    assert "nowhere" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "data emoji --help", "weights list"])
def test_output_that_nobody_reads_to_its_end_is_no_error(words):
    reader, writer = os.pipe()
    os.close(reader)
    piped = subprocess.run(
        [UNMASK, *words.split()], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert piped.stderr == ""


def test_output_that_finds_no_room_is_an_error_in_a_sentence():
    with Path("/dev/full").open("w") as full:
        refused = subprocess.run([UNMASK, "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (refused.returncode, refused.stderr) == (2, "error: [Errno 28] No space left on device\n")
