"""Readers under guided fuzzing: libFuzzer, by atheris, keeps the inputs that reach new lines of a reader.

An input is a byte that chooses a file of a right folder, and the bytes that take the place of that file's.
"""

import random
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.torture.campaign import REFUSALS, Campaign
from tests.torture.mutate import mutated

INPUT_S, MEMORY_MB = 60, 2048  # what one input may take


@dataclass(frozen=True)
class Reader:
    """A folder that is right, what is read of it, and which of its files are damaged."""

    make: Callable[[Path], None]
    read: Callable[[Path], object]
    """What is read; where files carry checksums, always the same or a refusal."""
    verified: bool = False
    files: str = "*"
    writes: bool = False  # whether reading repairs


class Damage(Campaign):
    """One file of a right folder is damaged, then it is read."""

    readers: dict[str, Reader]

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._right: dict[str, object] = {}
        self._files: list[tuple[str, Path]] = []
        for name, reader in self.readers.items():
            (home / name).mkdir()
            reader.make(home / name)
            inside = sorted(path for path in (home / name).rglob(reader.files) if path.is_file())
            self._files += [(name, path.relative_to(home / name)) for path in inside]
            self._right[name] = reader.read(self._copy(name))

    def trial(self, rng: random.Random, folder: Path) -> str | None:
        """One input without guidance."""
        data = mutated(rng.choice(self._seeds()), rng)
        (folder / "INPUT").write_bytes(data)
        return self.judge(data)

    def run(self, out: Path, name: str, seed: int, start: int, seconds: float) -> None:
        """Let libFuzzer choose inputs; it ends the process itself, and notices hangs and crashes of C."""
        import atheris

        corpus, seeds = out / "corpus" / name, self.home / "seeds"
        for folder in (corpus, seeds, out / "failures"):
            folder.mkdir(parents=True, exist_ok=True)
        for index, data in enumerate(self._seeds()):
            (seeds / str(index)).write_bytes(data)
        number, known = start, set[str]()

        def one(data: bytes) -> None:
            nonlocal number
            self.note(out, name, number)
            if wrong := self.judge(data):
                self._keep(out / "failures" / f"{name}-{seed}-{number}", data, wrong, known)
            number += 1

        limits = [f"-max_total_time={seconds:.0f}", f"-timeout={INPUT_S}", f"-rss_limit_mb={MEMORY_MB}"]
        kept = [f"-artifact_prefix={out}/failures/{name}-", str(corpus), str(seeds)]
        atheris.Setup([sys.argv[0], f"-seed={seed + start + 1}", "-keep_seed=1", *limits, *kept], one)
        atheris.Fuzz()

    def judge(self, data: bytes) -> str | None:
        """What is wrong with what a reader makes of an input."""
        if not data:
            return None
        name, file = self._files[data[0] % len(self._files)]
        reader, folder = self.readers[name], self.home / "copy" / name
        (folder / file).write_bytes(data[1:])
        try:
            found = reader.read(folder)
        except REFUSALS:
            return None
        except Exception:
            return traceback.format_exc()
        finally:
            self._copy(name) if reader.writes else shutil.copy(self.home / name / file, folder / file)
        if reader.verified and found is not None and found != self._right[name]:
            return f"{name}: {file} was damaged, and something else was read without a word:\n{found}"
        return None

    def _keep(self, folder: Path, data: bytes, wrong: str, known: set[str]) -> None:
        """Keep an input, unless one that failed at the same place is kept."""
        place = "\n".join(line for line in wrong.splitlines() if 'File "' in line or "without a word" in line)
        if place not in known:
            known.add(place)
            folder.mkdir()
            (folder / "INPUT").write_bytes(data)
            (folder / "WHY.txt").write_text(wrong)

    def _seeds(self) -> list[bytes]:
        whole = (self.home / name / file for name, file in self._files)
        return [bytes([index]) + path.read_bytes() for index, path in enumerate(whole)]

    def _copy(self, name: str) -> Path:
        shutil.rmtree(target := self.home / "copy" / name, ignore_errors=True)
        shutil.copytree(self.home / name, target)
        return target
