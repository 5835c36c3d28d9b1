"""``make torture``: hostile inputs for as long as there is time, and a table of what came of them.

    python -m tests.torture --hours 0.5 --seed 0 --out torture

Campaigns take turns, each in a process of its own, which is watched: one that hangs or dies costs its input a
failure, and the next goes on behind it. Run it again to go on where it stopped. Failing inputs stay in
OUT/failures, each with WHY.txt; one is tried again by  --only NAME --trial NUMBER,  and where there is a file
INPUT by  --only NAME --input FILE.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.torture.worker import CAMPAIGNS, prepared

SHARES = {"files": 3, "models": 2, "commands": 1, "kills": 4, "disk": 1, "studio": 1}  # of the time
TURN_S, TURNS, HANG_S = 600.0, 12, 300.0  # the longest turn; the least number of turns
Counts = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--hours", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("torture"))
    parser.add_argument("--only", choices=CAMPAIGNS)
    parser.add_argument("--trial", type=int, help="do one trial again, and say what is wrong")
    parser.add_argument("--input", type=Path, help="read one damaged input again, and say what is wrong")
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if given.trial is not None or given.input is not None:
        print(again(out, given) or "nothing is wrong", flush=True)
        os._exit(0)  # whatever still serves
    able = [name for name in CAMPAIGNS if name != "disk" or not os.geteuid()]
    sys.exit(oversee(out, [given.only] if given.only else able, given.seed, 3600 * given.hours))


def again(out: Path, given: argparse.Namespace) -> str | None:
    """What is wrong with one trial or input."""
    from tests.torture.campaign import attempt

    campaign = prepared(out, given.only)
    if given.input is not None:
        return campaign.judge(given.input.read_bytes())
    return attempt(campaign, out, given.only, given.seed, given.trial)


def oversee(out: Path, names: list[str], seed: int, seconds: float) -> int:
    """Let campaigns take turns until the time is up; print the table. 1 if anything failed."""
    book = out / f"progress-{seed}.json"
    counts: dict[str, Counts] = json.loads(book.read_text()) if book.exists() else {}
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 1:
        spent = {name: counts.get(name, {}).get("seconds", 0.0) / SHARES[name] for name in names}
        name = min(names, key=spent.__getitem__)
        mine = counts.setdefault(name, {"next": 0, "seconds": 0.0, "peak_mb": 0.0})
        take_turn(out, name, seed, min(TURN_S, seconds / TURNS, left), mine)
        mine["failed"] = sum(path.is_dir() for path in (out / "failures").glob(f"{name}-{seed}-*"))
        book.write_text(json.dumps(counts, indent=2))
        print(f"{name}: {mine['next']:,.0f} tried, {mine['failed']:,.0f} failed", file=sys.stderr)
    print(table(counts, seed))
    return int(any(one["failed"] for one in counts.values()))


def take_turn(out: Path, name: str, seed: int, seconds: float, counts: Counts) -> None:
    """One process of a campaign, watched."""
    begin, start, current = time.monotonic(), int(counts["next"]), out / f"{name}.current"
    current.unlink(missing_ok=True)
    words = [str(word) for word in (out, name, seed, start, seconds)]
    with (out / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.worker", *words], stdout=log, stderr=log
        )
        status, peak = _watch(process, current)
    done = json.loads(current.read_text() or "{}") if current.exists() else {}
    number = done.pop("number", start)
    for key, value in done.items():
        counts[key] = counts.get(key, 0) + value
    counts |= {"next": number + bool(status), "seconds": counts["seconds"] + time.monotonic() - begin}
    counts["peak_mb"] = max(counts["peak_mb"], peak)
    if status:
        folder = out / "failures" / f"{name}-{seed}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        said = (out / f"{name}.log").read_bytes()[-2000:].decode(errors="replace")
        (folder / "WHY.txt").write_text(f"the process ended with {status} (-9: it hung)\n{said}")


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
        tried += f", {one['kills']:,.0f} kills" if "kills" in one else ""
        minutes, peak = f"{one['seconds'] / 60:.1f}", f"{one['peak_mb']:,.0f} MB"
        rows.append(f"| {name}: {CAMPAIGNS[name][1]} | {tried} | {failed} | {minutes} | {peak} |")
    return "\n".join([f"seed {seed}", "", *rows])


if __name__ == "__main__":
    main()
