"""A process that has imported what commands import, and forks for each of them.

A command still has a process of its own: folder, environment, output and exit code. It only does not wait for
torch, which would take most of the time of most journeys. Reads orders as lines of JSON, answers exit codes.
"""

import json
import os
import signal
import sys
import traceback
from importlib import import_module

from unmask.cli.main import main

TIMEOUT_S = 300
PRELOADED = ("training.train", "studio.server", "evaluation.results", "demo.run")


def run(words: list[str], folder: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in ((0, os.devnull), (1, ".out"), (2, ".err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    signal.alarm(TIMEOUT_S)
    code: object = 0
    try:
        main(words)
    except SystemExit as left:
        code = left.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code or 0))  # taking apart all that was imported would take a second


if __name__ == "__main__":
    for name in PRELOADED:
        import_module(f"unmask.{name}")
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            run(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
