"""What a campaign is: numbered trials, each a pure function of its number, that keep what they fail at."""

import hashlib
import json
import os
import random
import shutil
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path

from unmask.errors import UnmaskError
from unmask.reading import DamagedError

REFUSALS = (UnmaskError, DamagedError, OSError)
"""What an input may end in: a sentence."""


class Campaign(ABC):
    """Trials of one kind. ``home`` is theirs for as long as the process lives."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.counts: Counter[str] = Counter()  # beside the trials, such as kills

    @abstractmethod
    def trial(self, rng: random.Random, folder: Path) -> str | None:
        """Try one input, kept in ``folder``; say what is wrong with what came of it, if anything is."""

    def run(self, out: Path, name: str, seed: int, start: int, seconds: float) -> None:
        """Do trials from number ``start`` on until the time is up."""
        end, number = time.monotonic() + seconds, start
        while time.monotonic() < end:
            self.note(out, name, number)
            attempt(self, out, name, seed, number)
            number += 1
        self.note(out, name, number)

    def note(self, out: Path, name: str, number: int) -> None:
        """Leave the number at work in a file: whoever watches knows what a kill or a hang was at."""
        (out / f"{name}.current").write_text(json.dumps({"number": number, **self.counts}))


def attempt(campaign: Campaign, out: Path, name: str, seed: int, number: int) -> str | None:
    """Do one trial; its folder stays if it fails, with the reason in it."""
    folder = out / "failures" / f"{name}-{seed}-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    before = Path.cwd()
    try:
        wrong = campaign.trial(generator(seed, name, number), folder)
    except Exception:
        wrong = traceback.format_exc()
    finally:
        os.chdir(before)
    if wrong is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        (folder / "WHY.txt").write_text(wrong)
    return wrong


def generator(seed: int, name: str, number: int) -> random.Random:
    """The random source of one trial, the same in every process."""
    return random.Random(hashlib.sha256(f"{seed} {name} {number}".encode()).digest())
