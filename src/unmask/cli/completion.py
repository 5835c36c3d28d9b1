"""``unmask completion``: commands and options that a shell completes."""

import io
import re
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

import tyro
from tyro.conf import Positional

from unmask.cli.main import COMMANDS
from unmask.cli.results import OPTIONS

HELP = """Print a script that completes commands and options in your shell.

  unmask completion bash > ~/.local/share/bash-completion/completions/unmask
  unmask completion zsh > ~/.unmask-completion && echo 'source ~/.unmask-completion' >> ~/.zshrc
  unmask completion fish > ~/.config/fish/completions/unmask.fish"""

# The longest command that the typed words begin with settles the options; other words are files.
BASH = """_unmask() {
    local word=${COMP_WORDS[COMP_CWORD]} typed=" ${COMP_WORDS[*]:1:COMP_CWORD-1} " words
    case "$typed" in
%s
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _unmask unmask
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    shell: Positional[Literal["bash", "zsh", "fish"]]


def main(argv: list[str]) -> None:
    """Print the script."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask completion", description=HELP)
    print(script(arguments.shell), end="")


def script(shell: str) -> str:
    """The whole script; every command is asked for its options."""
    options = {name: options_of(name) for name in sorted(COMMANDS, key=len, reverse=True)}
    firsts = sorted({name.split()[0] for name in COMMANDS})
    if shell == "fish":
        seen, said = "__fish_seen_subcommand_from", "complete -c unmask"
        lines = [f"{said} -n __fish_use_subcommand -xa '{' '.join(firsts)}'"]
        lines += [f"{said} -n '{seen} train' -a 'codec prior'"]
        for name, flags in options.items():
            lines += [f"{said} -n '{seen} {name.split()[-1]}' -l {flag[2:]}" for flag in flags]
        return "\n".join(lines) + "\n"
    cases = [f'        " {name} "*) words="{" ".join(flags)}" ;;' for name, flags in options.items()]
    cases = [case.replace('" train "*) words="', '" train "*) words="codec prior ') for case in cases]
    cases += [f'        *) words="{" ".join(firsts)}" ;;']
    return (ZSH if shell == "zsh" else "") + BASH % "\n".join(cases)


@cache
def options_of(name: str) -> list[str]:
    """The options of a command, as its help lists them."""
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(SystemExit):
        import_module(COMMANDS[name][0]).main(["--help"])
    lists = re.findall(r"^ *(-.*)$", shown.getvalue().replace("│", " "), re.M)
    flags = {flag for line in lists for flag in re.findall(r"--[a-z][\w.-]*", line.split("  ")[0])}
    return sorted(flags | OPTIONS.keys())
