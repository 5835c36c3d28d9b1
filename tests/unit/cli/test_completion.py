"""What a shell completes is what the commands take."""

import subprocess

import pytest

from unmask.cli.completion import options_of, script
from unmask.cli.main import COMMANDS


def completed(tmp_path, *words):
    """What bash offers for the last word."""
    (tmp_path / "script").write_text(script("bash"))
    typed = " ".join(f"'{word}'" for word in words)
    line = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _unmask; echo ${{COMPREPLY[@]}}"
    asked = ["bash", "-c", f"source {tmp_path / 'script'}; {line}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()


def test_options_are_those_of_the_help():
    assert {"--count", "--remask", "--top-k", "--json", "--quiet"} <= set(options_of("sample"))
    assert "--rank" in options_of("inpaint")
    assert "--no-rank" in options_of("inpaint")
    assert "--images.size" in options_of("train codec")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tra"], ["train"]),
        (["train", "pr"], ["prior"]),
        (["train", "codec", "x", "--loop.st"], ["--loop.steps"]),
        (["inpaint", "emoji", "x.png", "--car"], ["--care"]),
        (["sample", "emoji", "--stri"], []),
    ],
)
def test_bash_completes_commands_and_options(words, offered, tmp_path):
    assert completed(tmp_path, "unmask", *words) == offered


@pytest.mark.slow
def test_the_other_shells_know_every_command():
    assert script("zsh").endswith(script("bash"))
    fish = script("fish")
    assert all(name.split()[0] in fish for name in COMMANDS)
    assert "-n '__fish_seen_subcommand_from canvas' -l care" in fish
