"""Fifty clients at once, some of whom walk away: the only refusal is "busy", and nothing piles up."""

import asyncio

import requests

from benchmarks.studio import load_server, resident_bytes
from unmask.studio.server import create_app

CLIENTS, SECONDS = 50, 3.0
ROOM = 32 * 2**20  # bytes that an allocator may keep for itself


def test_many_clients_are_served_or_told_to_wait(model, folder, serve):
    with serve(create_app(model, str(folder))) as address:
        port = int(address.rpartition(":")[2])
        asyncio.run(load_server(port, CLIENTS, SECONDS / 3))
        before = resident_bytes()
        traffic = asyncio.run(load_server(port, CLIENTS, SECONDS))
        grown = resident_bytes() - before
        health = requests.get(f"{address}/healthz", timeout=60).json()
    statuses = {name for name in traffic.answers if name not in ("done", "cancelled")}
    assert statuses <= {"sample 202", "sample 503", "events 200", "picture 200"}
    assert traffic.answers["sample 503"]  # it was more than the queue holds
    assert traffic.waits
    assert traffic.answers["done"] == traffic.answers["picture 200"]
    assert (health["waiting"], health["status"]) == (0, "ok")
    assert grown < ROOM
