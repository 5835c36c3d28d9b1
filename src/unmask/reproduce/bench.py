"""A folder in which steps are done, each once, and what they found."""

import io
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from unmask.errors import DataError
from unmask.progress import say
from unmask.reading import DamagedError, parse_json, parsing, read_json
from unmask.reproduce.methods import METHODS, run_method
from unmask.reproduce.steps import Step
from unmask.storage.files import accessing, write_json
from unmask.training.runs import Run

Found = dict[str, Any]
"""What a command found, as ``--json`` prints it; of a training what its log says."""
BREAK = 10  # times the usual gap between two lines of a log: the run was stopped in between


class Bench:
    """A folder of steps: what each found is kept there, and what is missing is done."""

    def __init__(self, out: Path, run: Callable[[list[str]], None]) -> None:
        """``run`` runs what stands after ``unmask`` on a command line."""
        self.out, self._run = out, run

    def found(self, step: Step) -> Found | None:
        """What a step has found, if it has been done; and ``seconds``."""
        path = self._file(step)
        try:
            with parsing():
                return dict(read_json(path))
        except FileNotFoundError:
            return None
        except DamagedError as error:
            raise DataError(f"{path} is damaged: {error}", hint=f"rm {path}, and the same again") from None

    def do(self, step: Step) -> Found:
        """What a step found, done now if it has not been. Its inputs have been."""
        if (found := self.found(step)) is not None:
            return found
        words = shlex.split(step.typed(str(self.out)))
        folder = self.out / step.key
        say(f"$ {step.program} {shlex.join(words)}")
        start = time.perf_counter()
        if words[0] == "train":
            found = self._trained(words, folder)
        else:
            answer = run_method(words) if words[0] in METHODS else self._answer(words)
            found = {**answer, "seconds": time.perf_counter() - start}
        with accessing(self._file(step)):
            write_json(self._file(step), found)
        return found

    def _trained(self, words: list[str], folder: Path) -> Found:
        """What a training came to, whether it is new, begun or done."""
        if not Run.is_at(folder):
            self._run(words)
        elif not Run.open(folder).is_finished:
            self._run([*words[:2], "--resume", str(folder)])
        return learnt(Run.open(folder).read_log())

    def _answer(self, words: list[str]) -> Found:
        """What a command prints with ``--json``; of an evaluation the row of its one setting."""
        answer = io.StringIO()
        with redirect_stdout(answer):
            self._run([*words, "--json"])
        found: Found = parse_json(answer.getvalue())
        return dict(found["results"][0]) if "results" in found else found

    def _file(self, step: Step) -> Path:
        return self.out / f"{step.key}.json"


def learnt(log: Sequence[Found]) -> Found:
    """What a training came to: its best validation, the curve of them, λ where there was one, its time."""
    times = dict(zip((line["time"] for line in log), clock([line["time"] for line in log]), strict=True))
    curve = [
        {name: value for name, value in line.items() if name not in ("kind", "time")}
        | {"seconds": times[line["time"]]}
        for line in log
        if line["kind"] == "validation"
    ]
    best = min(curve, key=lambda point: point["bits"]) if "bits" in curve[-1] else curve[-1]
    weights = [[line["step"], line["lambda"]] for line in log if "lambda" in line]
    return {**best, "seconds": max(times.values()), "curve": curve} | ({"lambda": weights} if weights else {})


def clock(times: Sequence[float]) -> list[float]:
    """Seconds of work at each of the times of a log: a stop in between counts as a usual gap."""
    gaps = [later - earlier for earlier, later in pairwise(times)]
    usual = median(gaps) if gaps else 0.0
    seconds = [usual]
    for gap in gaps:
        seconds.append(seconds[-1] + (usual if gap > BREAK * usual else gap))
    return seconds
