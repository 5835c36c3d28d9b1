"""Commands that write, ended by SIGKILL at any instant or out of room, and said again: the same bytes."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import unmask
from tests.torture.campaign import Campaign
from tests.torture.files import picture
from tests.untrained import untrained
from unmask.cli.main import main
from unmask.storage import bundles

TINY = "--preset tiny --engine.device cpu --optim.batch 2 --loop.steps 4 --loop.save-every 1"
SHORT = f"{TINY} --loop.validate-every 2 --loop.log-every 1"
FEW_CODES = "--codec.quantizer.kmeans-batches 1 --codec.quantizer.codebook-size 16"
COMMANDS = {
    "sample": "sample MODEL --count 6 --batch 2 --steps 2 --device cpu --out out",
    "encode": "encode MODEL PICTURES --device cpu --out out",
    "canvas": "canvas MODEL --size 32x16 --steps 4 --device cpu --out out.png",
    "inpaint": "inpaint MODEL PICTURES --box 4,4,8,8 --count 1 --steps 2 --device cpu --out out",
    "score": "score MODEL PICTURES --draws 2 --split all --device cpu --csv out.csv",
    "half": "export MODEL --to half --out out",
    "codec": f"train codec PICTURES {SHORT} {FEW_CODES} --out out",
    "prior": f"train prior MODEL PICTURES {SHORT} --out out",
}
COMPARED = ("out.*", *(f"out/**/{name}" for name in ("*.png", "codes.*", "*.safetensors", "unmask.json")))
TIMEOUT_S = 240


class Kills(Campaign):
    """Each trial kills one command one to three times, sometimes with a second process at the same work."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        for module in walk_packages(unmask.__path__, "unmask."):
            if not module.name.endswith("__main__"):
                import_module(module.name)  # once: a command that is forked imports nothing more
        bundles.save(untrained(), home / "model")
        (home / "pictures").mkdir()
        for number in range(8):
            (home / "pictures" / f"{number}.png").write_bytes(picture(number=number, size=(20, 18)))
        self._expected: dict[str, dict[str, str]] = {}
        self._seconds: dict[str, float] = {}

    def trial(self, rng: random.Random, folder: Path) -> str | None:
        name = rng.choice(list(COMMANDS))
        if name not in self._expected and (wrong := self._learn(name)):
            return wrong
        for _ in range(rng.choice((1, 2, 3))):
            working = [
                self._begin(name, folder) for _ in range(rng.choice((1, 1, 2)) if name == "sample" else 1)
            ]
            time.sleep(rng.uniform(0, 1.1 * self._seconds[name]))
            os.kill(working[0], signal.SIGKILL)
            os.waitpid(working[0], 0)
            self.counts["kills"] += 1
            for process in working[1:]:
                if code := self._end(process):
                    return f"{name}: the process beside the one that was killed ended with {code}"
        return self._finish(name, folder)

    def _learn(self, name: str) -> str | None:
        """What the command leaves behind if nobody ends it."""
        folder, begin = self.home / name, time.monotonic()
        folder.mkdir(exist_ok=True)
        if code := self._end(self._begin(name, folder)):
            return f"{name} ended with {code}: {(folder / '.err').read_text()[-2000:]}"
        self._seconds[name] = time.monotonic() - begin
        self._expected[name] = _digests(folder)
        return None

    def _finish(self, name: str, folder: Path) -> str | None:
        if code := self._end(self._begin(name, folder)):
            return f"{name} said again ended with {code}: {(folder / '.err').read_text()[-2000:]}"
        found, expected = _digests(folder), self._expected[name]
        odd = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
        return f"{name}: other bytes in {odd}" if odd else None

    def _begin(self, name: str, folder: Path) -> int:
        places = {"MODEL": str(self.home / "model"), "PICTURES": str(self.home / "pictures")}
        words = [places.get(word, word) for word in COMMANDS[name].split()]
        if words[0] == "train" and (folder / "out" / "config.json").exists():
            words = [*words[:2], "--resume", "out"]
        if words[0] == "train" and (folder / "out").exists() and _is_done(folder / "out"):
            words = ["--version"]
        return _forked(lambda: main(words), folder)

    def _end(self, process: int) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Disk(Kills):
    """Each trial gives a command too little room, then enough."""

    def trial(self, rng: random.Random, folder: Path) -> str | None:
        name = rng.choice(list(COMMANDS))
        if name not in self._expected and (wrong := self._learn(name)):
            return wrong
        size = sum(path.stat().st_size for path in (self.home / name).rglob("*") if path.is_file())
        room = rng.randrange(8192, max(2 * size, 16384))
        mount = ["mount", "-t", "tmpfs", "-o"]
        subprocess.run([*mount, f"size={room}", "tmpfs", folder], check=True)
        try:
            code = self._end(self._begin(name, folder))
            if code not in (0, 2):
                return f"{name} with {room} bytes ended with {code}: {_said(folder)}"
            subprocess.run([*mount, "remount,size=64m", "tmpfs", folder], check=True)
            return self._finish(name, folder)
        finally:
            shutil.copytree(folder, kept := folder.with_suffix(".kept"), symlinks=True)
            subprocess.run(["umount", "-l", folder], check=True)
            shutil.copytree(kept, folder, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(kept)


def _said(folder: Path) -> str:
    return (folder / ".err").read_text()[-2000:] if (folder / ".err").exists() else ""


def _is_done(run: Path) -> bool:
    return (
        (run / "checkpoints" / "step-00000004").exists()
        and (run / "best").exists()
        and (run / "last").exists()
    )


def _forked(work: Callable[[], None], folder: Path) -> int:
    """A process of its own that has imported all that this one has."""
    if process := os.fork():
        return process
    code: object = 1
    try:
        os.chdir(folder)
        os.environ["UNMASK_CACHE"] = str(folder / "cache")
        for number, name in ((1, os.devnull), (2, ".err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        signal.alarm(TIMEOUT_S)
        work()
        code = 0
    except SystemExit as left:
        code = left.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(int(code) if isinstance(code, int) else 1)


def _digests(folder: Path) -> dict[str, str]:
    """The bytes of what a command is for; logs have times in them."""
    files = {path for pattern in COMPARED for path in folder.glob(pattern) if not path.name.startswith(".")}
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
