"""The Studio under load, and how soon it shows something.

Fifty clients for ten minutes: what they are answered, how fast, and what it costs in memory. Each asks for a
picture, watches it being drawn, fetches it, and asks again; one in ten walks away in the middle. Beside them
are 500 connections that say nothing, and come again when the Studio has ended them. The only refusal there
may be is "busy". Results are kept in a gallery.
"""

import asyncio
import json
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import requests
from fastapi import FastAPI

from benchmarks.measure import note
from unmask.pipeline import Pipeline, load
from unmask.studio.limits import DoorLimits
from unmask.studio.server import Server, create_app

CLIENTS, IDLE, SECONDS, SETTLE = 50, 500, 600.0, 60.0
ROUNDS = 7
BUSY_PAUSE_S, IDLE_PAUSE_S = 2.0, 10.0  # before who was refused asks again, and who was ended comes again
REQUEST = {"count": 1, "steps": 4}


@dataclass
class Traffic:
    """What happened to the clients."""

    answers: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)


def main() -> None:
    model = load("emoji", "cpu")
    first_preview(model)
    many_clients(model)


def first_preview(model: Pipeline) -> None:
    """From a request of the page to the first preview in its stream: eight pictures, as recommended."""
    rounds = []
    with serving(create_app(model, "emoji")) as address:
        for seed in range(ROUNDS):
            wall, cpu = time.perf_counter(), time.process_time()
            asked = {"count": 8, "seed": seed}
            job = requests.post(f"{address}/api/v1/sample", json=asked, timeout=60).json()
            place = f"{address}/api/v1/jobs/{job['id']}"
            with requests.get(f"{place}/events", stream=True, timeout=60) as events:
                next(line for line in events.iter_lines() if line == b"event: preview")
                rounds.append((time.perf_counter() - wall, time.process_time() - cpu))
            requests.delete(place, timeout=60)
    seconds, cpu_seconds = (sorted(times)[ROUNDS // 2] for times in zip(*rounds, strict=True))
    figures = {"median_s": round(seconds, 3), "median_cpu_s": round(cpu_seconds, 3)}
    note("a first preview in the Studio", figures, config={"count": 8, "rounds": ROUNDS})


def many_clients(model: Pipeline) -> None:
    """Traffic of clients and of those who say nothing."""
    with TemporaryDirectory() as kept, serving(create_app(model, "emoji", keep=Path(kept))) as address:
        port = int(address.rpartition(":")[2])
        settling = asyncio.run(
            load_server(port, CLIENTS, SETTLE, IDLE)
        )  # buffers and results reach their size
        before = resident_bytes()
        traffic = asyncio.run(load_server(port, CLIENTS, SECONDS, IDLE))
        after = resident_bytes()
    waits = sorted(traffic.waits)
    figures = {
        "answers": dict(traffic.answers),
        "pictures": len(waits),
        "median_s": round(waits[len(waits) // 2], 3),
        "p95_s": round(waits[int(0.95 * len(waits))], 3),
        "grown_mib": round((after - before) / 2**20, 1),
        "resident_mib": round(after / 2**20, 1),
        "settling_answers": dict(settling.answers),
    }
    config = {"clients": CLIENTS, "idle": IDLE, "seconds": SECONDS, **REQUEST}
    note("fifty clients of one Studio", figures, config=config)


@contextmanager
def serving(
    app: FastAPI,
    limits: DoorLimits = DoorLimits(),  # noqa: B008
    door: socket.socket | None = None,
) -> Iterator[str]:
    """The address at which an application is served, by the server that the command uses.

    At a ``door`` that is open already, clients may have come before the server looks.
    """
    with door or socket.create_server(("127.0.0.1", 0)) as door:
        server = Server(app, limits)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


async def load_server(
    port: int, clients: int, seconds: float, idle: int = 0, rest_seconds: float = 0
) -> Traffic:
    """Traffic of so many clients at once, for so long, beside so many connections that say nothing.

    Each rests for a time before it asks again.
    """
    traffic, end = Traffic(), time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(_client(port, number, traffic, end, rest_seconds))
        for _ in range(idle):
            group.create_task(_idler(port, traffic, end))
    return traffic


async def _idler(port: int, traffic: Traffic, end: float) -> None:
    while (left := end - time.monotonic()) > 0:
        with suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            traffic.answers["idle connections"] += 1
            with closing(writer):
                await asyncio.wait_for(reader.read(), left)
        await asyncio.sleep(IDLE_PAUSE_S)


async def _client(port: int, number: int, traffic: Traffic, end: float, rest_seconds: float) -> None:
    turn = 0
    while time.monotonic() < end:
        turn += 1
        try:
            await _visit(port, number, turn, traffic)
        except (OSError, asyncio.IncompleteReadError):
            traffic.answers["cut off"] += 1
        await asyncio.sleep(rest_seconds)


async def _visit(port: int, number: int, turn: int, traffic: Traffic) -> None:
    begin = time.monotonic()
    status, body = await _ask(port, "POST", "/api/v1/sample", {**REQUEST, "seed": number})
    traffic.answers[f"sample {status}"] += 1
    if status != 202:
        await asyncio.sleep(BUSY_PAUSE_S)
        return
    job = json.loads(body)
    leaves = (number + turn) % 10 == 0
    status, stream = await _ask(port, "GET", f"/api/v1/jobs/{job['id']}/events", leave=leaves)
    traffic.answers[f"events {status}"] += 1
    if leaves or status != 200:
        return
    last = json.loads(stream.decode().rstrip().rpartition("data: ")[2])
    traffic.answers[last["state"]] += 1
    status, picture = await _ask(port, "GET", last["pictures"][0])
    traffic.answers[f"picture {status}"] += 1
    assert picture.startswith(b"\x89PNG")
    traffic.waits.append(time.monotonic() - begin)


async def _ask(
    port: int, verb: str, path: str, body: object = None, leave: bool = False
) -> tuple[int, bytes]:
    """The status and the body of an answer; who leaves reads no more than the beginning."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = b"" if body is None else json.dumps(body).encode()
    headers = ["Host: localhost", "Connection: close", "Content-Type: application/json"]
    head = [f"{verb} {path} HTTP/1.1", *headers, f"Content-Length: {len(data)}", "", ""]
    writer.write("\r\n".join(head).encode() + data)
    if not (answered := await reader.readline()):
        raise ConnectionResetError
    status = int(answered.split()[1])
    chunked = False
    while (line := await reader.readline()) not in (b"\r\n", b""):
        chunked = chunked or line.lower().startswith(b"transfer-encoding: chunked")
    answer = b"" if leave else await (_chunks(reader) if chunked else reader.read())
    writer.close()
    return status, answer


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    return b"".join(parts)


def resident_bytes() -> int:
    """Memory that this process has in use, or 0 where that cannot be told."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
