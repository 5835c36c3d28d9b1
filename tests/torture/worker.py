"""One turn of a campaign, in a process of its own.

python -m tests.torture.worker OUT NAME SEED START SECONDS
"""

import logging
import os
import resource
import shutil
import sys
import warnings
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

CAMPAIGNS = {
    "files": ("tests.torture.files:Files", "damaged images, archives, arrays, settings, results, rows"),
    "models": ("tests.torture.models:Models", "damaged bundles, checkpoints, runs, codes"),
    "commands": ("tests.torture.commands:Commands", "command lines drawn from the commands' dataclasses"),
    "kills": ("tests.torture.kills:Kills", "commands ended by SIGKILL and run again, bytes compared"),
    "disk": ("tests.torture.kills:Disk", "commands without room, then with room, bytes compared"),
    "studio": ("tests.torture.studio:Studio", "requests, bytes and connections of hostile clients"),
}
GUIDED = {"files", "models"}
PARSERS = ["unmask", "PIL", "zipfile", "tarfile", "yaml", "json", "csv"]  # whose lines guide


def prepared(out: Path, name: str) -> Any:
    """A campaign, with a folder of its own; of readers, atheris is shown which lines they reach."""
    shutil.rmtree(home := out / "home" / name, ignore_errors=True)
    home.mkdir(parents=True)
    module, kind = CAMPAIGNS[name][0].split(":")
    with _instrumented() if name in GUIDED else nullcontext():
        return getattr(import_module(module), kind)(home)


def _instrumented() -> Any:
    import atheris

    return atheris.instrument_imports(include=PARSERS)


def main() -> None:
    out, name, seed, start, seconds = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable()
    warnings.simplefilter("ignore")
    prepared(Path(out), name).run(Path(out), name, int(seed), int(start), float(seconds))
    sys.stdout.flush()
    os._exit(0)  # whatever still serves


if __name__ == "__main__":
    main()
