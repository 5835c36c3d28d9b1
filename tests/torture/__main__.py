"""``make torture``: hostile inputs for as long as there is time, and a table of what came of them.

    python -m tests.torture --hours 0.5 --seed 0 --out torture

Campaigns take turns, each in a process of its own, which is watched: one that hangs or dies costs its input a
failure, and the next goes on behind it. Run it again to go on where it stopped. Failing inputs stay in
OUT/failures, each with WHY.txt; a trial is done again by  --only NAME --trial NUMBER.
"""

import argparse
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from importlib import import_module
from pathlib import Path

from tests.torture.campaign import attempt, run_trials

CAMPAIGNS = {
    "files": ("tests.torture.files:Files", "damaged pictures, archives, arrays, settings, results, rows"),
    "models": ("tests.torture.models:Models", "damaged bundles, checkpoints, runs, codes"),
    "commands": ("tests.torture.commands:Commands", "command lines drawn from the commands' dataclasses"),
    "kills": ("tests.torture.kills:Kills", "commands ended by SIGKILL and said again, bytes compared"),
    "disk": ("tests.torture.kills:Disk", "commands without room, then with room, bytes compared"),
    "studio": ("tests.torture.studio:Studio", "requests, bytes and connections that mean no good"),
}
SHARES = {"files": 3, "models": 2, "commands": 2, "kills": 2, "disk": 1, "studio": 1}  # of the time
TURN_S, HANG_S = 60.0, 300.0
Counts = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("torture"))
    parser.add_argument("--only", choices=CAMPAIGNS)
    parser.add_argument("--trial", type=int, help="do one trial again, and say what is wrong")
    parser.add_argument(
        "--work", type=float, help=argparse.SUPPRESS
    )  # seconds: this is the process of a campaign
    given = parser.parse_args()
    given.out = given.out.resolve()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.work is not None:
        work(given.out, given.only, given.seed, given.trial, given.work)
    elif given.trial is not None:
        print(
            attempt(prepared(given.only), given.out, given.only, given.seed, given.trial)
            or "nothing is wrong"
        )
        sys.stdout.flush()
        os._exit(0)
    else:
        names = (
            [given.only] if given.only else [name for name in CAMPAIGNS if name != "disk" or not os.geteuid()]
        )
        sys.exit(oversee(given.out, names, given.seed, 3600 * given.hours))


def prepared(name: str) -> object:
    """A campaign, in a folder of its own."""
    module, kind = CAMPAIGNS[name][0].split(":")
    home = Path(tempfile.mkdtemp(prefix=f"torture-{name}-"))
    (home / "home").mkdir()
    return getattr(import_module(module), kind)(home / "home")


def work(out: Path, name: str, seed: int, start: int, seconds: float) -> None:
    """Do the trials of one turn, then leave a note of the next one's number."""
    logging.disable()
    warnings.simplefilter("ignore")
    campaign = prepared(name)
    following = run_trials(campaign, out, name, seed, start, seconds)
    shutil.rmtree(campaign.home.parent, ignore_errors=True)
    (out / f"{name}.next").write_text(str(following))
    os._exit(0)  # whatever still serves


def oversee(out: Path, names: list[str], seed: int, seconds: float) -> int:
    """Let campaigns take turns until the time is up; print the table. 1 if anything failed."""
    book = out / f"progress-{seed}.json"
    counts: dict[str, Counts] = json.loads(book.read_text()) if book.exists() else {}
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 1:
        spent = {name: counts.get(name, {}).get("seconds", 0.0) / SHARES[name] for name in names}
        name = min(names, key=spent.__getitem__)
        take_turn(
            out,
            name,
            seed,
            min(TURN_S, left),
            counts.setdefault(name, {"next": 0, "seconds": 0.0, "peak_mb": 0.0}),
        )
        counts[name]["failed"] = len(list((out / "failures").glob(f"{name}-{seed}-*")))
        book.write_text(json.dumps(counts, indent=2))
        print(
            f"{name}: {counts[name]['next']:,.0f} tried, {counts[name]['failed']:,.0f} failed",
            file=sys.stderr,
        )
    print(table(counts, seed))
    return int(any(one["failed"] for one in counts.values()))


def take_turn(out: Path, name: str, seed: int, seconds: float, counts: Counts) -> None:
    """One process of a campaign, watched."""
    begin, start = time.monotonic(), int(counts["next"])
    for suffix in ("current", "next"):
        (out / f"{name}.{suffix}").unlink(missing_ok=True)
    words = [
        "--out",
        str(out),
        "--only",
        name,
        "--seed",
        str(seed),
        "--trial",
        str(start),
        "--work",
        str(seconds),
    ]
    with (out / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "tests.torture", *words], stdout=log, stderr=log)
        status, peak = _watch(process, out / f"{name}.current")
    counts["seconds"] += time.monotonic() - begin
    counts["peak_mb"] = max(counts["peak_mb"], peak)
    if status == 0:
        counts["next"] = int((out / f"{name}.next").read_text())
        return
    current = out / f"{name}.current"
    number = int(current.read_text()) if current.exists() else start
    folder = out / "failures" / f"{name}-{seed}-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    said = (out / f"{name}.log").read_bytes()[-2000:].decode(errors="replace")
    (folder / "WHY.txt").write_text(f"the process ended with {status} (-9: it hung)\n{said}")
    counts["next"] = number + 1


def _watch(process: subprocess.Popen[bytes], current: Path) -> tuple[int, float]:
    """How a process ended, and its largest size in MB; killed if one trial takes too long."""
    seen, since = "", time.monotonic()
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss / 1024
        now = current.read_text() if current.exists() else ""
        if now != seen:
            seen, since = now, time.monotonic()
        if time.monotonic() - since > HANG_S:
            process.kill()
        time.sleep(0.1)


def table(counts: dict[str, Counts], seed: int) -> str:
    """What was tried, in Markdown."""
    rows = ["| campaign | tried | failed | minutes | peak memory |", "|---|---:|---:|---:|---:|"]
    for name, one in counts.items():
        tried, failed = (f"{one[key]:,.0f}" for key in ("next", "failed"))
        minutes, peak = f"{one['seconds'] / 60:.1f}", f"{one['peak_mb']:,.0f} MB"
        rows.append(f"| {name}: {CAMPAIGNS[name][1]} | {tried} | {failed} | {minutes} | {peak} |")
    return "\n".join([f"seed {seed}", "", *rows])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
