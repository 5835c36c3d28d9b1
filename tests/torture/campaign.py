"""What a campaign is: numbered trials, each a pure function of its number, that keep what they fail at."""

import hashlib
import os
import random
import shutil
import time
import traceback
from abc import ABC, abstractmethod
from pathlib import Path

from unmask.errors import UnmaskError
from unmask.reading import DamagedError

REFUSALS = (UnmaskError, DamagedError, OSError)
"""What an input may end in: a sentence."""


class Campaign(ABC):
    """Trials of one kind. ``home`` is theirs for as long as the process lives."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @abstractmethod
    def trial(self, rng: random.Random, folder: Path) -> str | None:
        """Try one input, kept in ``folder``; say what is wrong with what came of it, if anything is."""


def run_trials(campaign: Campaign, out: Path, name: str, seed: int, start: int, seconds: float) -> int:
    """Do trials from number ``start`` on until the time is up; return the number of the next one.

    The number of the trial at work stands in a file: whoever watches knows what a kill or a hang was at.
    """
    end, number = time.monotonic() + seconds, start
    while time.monotonic() < end:
        (out / f"{name}.current").write_text(str(number))
        attempt(campaign, out, name, seed, number)
        number += 1
    return number


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
