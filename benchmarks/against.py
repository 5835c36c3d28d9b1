"""This tree against another commit: what both call ``unmask`` in a benchmark, in turns, as ratios.

    git worktree add ../before 2ab2eb9
    python -m benchmarks.against ../before sampling codec

Each tree runs its own benchmark in a process of its own, and waits before every run until it is its turn.
Baselines such as the literal loop do not run. A ratio is the other tree's time over this one's: above 1 this
one is faster. Rows are printed and not kept.
"""

import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).parents[1]
SECONDS = float(os.environ.get("SECONDS_EACH", 10))  # for each contestant of each tree, about
ROUNDS = 3, 15
TURNS = """
import importlib, json, sys, time
from benchmarks import measure

answers, sys.stdout = sys.stdout, sys.stderr

def in_turns(contestants, *given, **more):
    what = sys._getframe(1).f_code.co_name
    names = [name for name in contestants if name not in ("literal", "plain", "ddpm")]
    if what in sys.argv[2:]:
        print(json.dumps([what, names]), file=answers, flush=True)
        while (name := json.loads(sys.stdin.readline())) is not None:
            start = time.perf_counter()
            contestants[name]()
            print(time.perf_counter() - start, file=answers, flush=True)
    return {name: measure.Timing((1.0, 1.0, 1.0)) for name in contestants}

measure.interleave, measure.row, measure.note = in_turns, lambda *_, **__: None, lambda *_, **__: None
module = importlib.import_module("benchmarks." + sys.argv[1])
if sys.argv[1] == "codec":  # the plain one does not run, a batch of four takes minutes, memory has no turns
    module.SETTLE, module.tiles = dict.fromkeys(module.SETTLE, 0), lambda: None
    module.WORK = tuple(work for work in module.WORK if work[1] == 1)
module.main()
print(json.dumps(None), file=answers, flush=True)
"""


class Tree:
    """A benchmark of a tree, which takes its turns."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def hear(self) -> "tuple[str, list[str]] | None":
        """What it measures next and its contestants, None after the last."""
        return json.loads(self._line())

    def run(self, name: str) -> float:
        """Seconds that a contestant takes."""
        self._say(name)
        return float(self._line())

    def go_on(self) -> None:
        """Let it prepare what it measures next."""
        self._say(None)

    def _say(self, word: str | None) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(word)}\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline() or sys.exit("a benchmark ended early: see above")


def functions(folder: Path, benchmark: str) -> set[str]:
    """The names of what a benchmark measures; those of one tree alone have nothing to be compared with."""
    return set(re.findall(r"^def (\w+)", (folder / f"benchmarks/{benchmark}.py").read_text(), re.MULTILINE))


@contextmanager
def tree(folder: Path, benchmark: str, measured: set[str]) -> Iterator[Tree]:
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-c", TURNS, benchmark, *sorted(measured)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, **pipes) as process:
        yield Tree(process)


def compare(here: Tree, there: Tree) -> Iterator[tuple[str, list[float]]]:
    """Each contestant that both have, and the ratios of its rounds."""
    while (mine := here.hear()) is not None and (theirs := there.hear()) is not None:
        assert mine[0] == theirs[0], f"the trees measure {mine[0]} and {theirs[0]} at the same time"
        for name in [name for name in mine[1] if name in theirs[1]]:
            first = max(here.run(name), there.run(name))  # takes longer, and does not count
            least, most = ROUNDS
            ratios = []
            for number in range(min(max(int(SECONDS / first), least), most)):
                order = (here, there) if number % 2 else (there, here)
                seconds = {one: one.run(name) for one in order}
                ratios.append(seconds[there] / seconds[here])
            yield f"{mine[0]}: {name}", ratios
        here.go_on()
        there.go_on()
    there.hear()


def main(other: str, *benchmarks: str) -> None:
    for benchmark in benchmarks or ("sampling", "codec"):
        folders = HERE, Path(other).resolve()
        measured = functions(folders[0], benchmark) & functions(folders[1], benchmark)
        with ExitStack() as both:
            trees = [both.enter_context(tree(folder, benchmark, measured)) for folder in folders]
            for name, ratios in compare(*trees):
                low, high = min(ratios), max(ratios)
                print(
                    f"{benchmark}, {name}: {statistics.median(ratios):.3f} "
                    f"({low:.3f} to {high:.3f}, {len(ratios)} rounds)",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
