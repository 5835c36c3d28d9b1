"""A step of a reproduction: one command on what other commands made. Free of torch."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from shlex import quote

METHODS = ("speed", "inpainting", "windows", "ddpm")
"""Commands of a program of their own."""
PROGRAM = "python -m unmask.reproduce"


@dataclass(frozen=True)
class Step:
    """A command, as it is typed after the program. The same words on the same inputs are one step.

    In it ``{0}``, ``{1}`` stand for the folders of its inputs, ``{out}`` for its own.
    """

    line: str
    inputs: tuple["Step", ...] = ()

    @cached_property
    def key(self) -> str:
        """A name of its own: what it does, and a hash of its words and of all that they refer to."""
        content = "\n".join([self.line, *(step.key for step in self.inputs)])
        return f"{self.kind.replace(' ', '-')}-{sha256(content.encode()).hexdigest()[:10]}"

    @property
    def kind(self) -> str:
        """The command."""
        words = self.line.split()
        return " ".join(words[:2]) if words[0] == "train" else words[0]

    @property
    def program(self) -> str:
        """What stands before the command."""
        return PROGRAM if self.kind in METHODS else "unmask"

    def typed(self, out: str) -> str:
        """The words of the command within the folder ``out``."""
        folders = [quote(f"{out}/{step.key}") for step in self.inputs]
        return self.line.format(*folders, out=quote(f"{out}/{self.key}"))

    def with_inputs(self) -> Iterator["Step"]:
        """All that it takes, in the order in which it is done, itself last."""
        for step in self.inputs:
            yield from step.with_inputs()
        yield self
