"""A Studio with a token on loopback, and visitors who mean no good: its owner is always answered."""

import base64
import json
import random
import socket
from pathlib import Path
from urllib.parse import urlsplit

import requests
import torch

from benchmarks.studio import serving
from tests.torture.campaign import Campaign
from tests.torture.files import FORMATS, picture
from tests.torture.mutate import mutated
from tests.untrained import untrained
from unmask.pipeline import Pipeline
from unmask.studio.guard import Access
from unmask.studio.server import create_app

TOKEN = "torture"
OWNER = {"Authorization": f"Bearer {TOKEN}"}
POSTS = ("sample", "canvas", "inpaint", "extend", "reconstruct", "score")
HOLD = 300  # connections that are kept open


class Studio(Campaign):
    def __init__(self, home: Path) -> None:
        super().__init__(home)
        app = create_app(
            Pipeline(untrained(), torch.device("cpu")), "model", access=Access.at("0.0.0.0", TOKEN)
        )
        self._serving = serving(app)
        self._address = self._serving.__enter__()
        self._held: list[socket.socket] = []

    def trial(self, rng: random.Random, folder: Path) -> str | None:
        wrong = rng.choice((self._ask, self._ask, self._ask, self._knock, self._hold))(rng, folder)
        if wrong:
            return wrong
        answer = requests.get(f"{self._address}/api/v1/model", headers=OWNER, timeout=30)
        return None if answer.status_code == 200 else f"the owner was answered with {answer.status_code}"

    def _ask(self, rng: random.Random, folder: Path) -> str | None:
        """A request of somebody inside, nearly right."""
        kind = rng.choice(tuple(FORMATS))
        image = base64.b64encode(
            mutated(picture(kind), rng) if rng.random() < 0.7 else picture(kind)
        ).decode()
        request = {
            "steps": 1,
            "seed": 1,
            "count": 1,
            "width": 16,
            "height": 16,
            "left": 4,
            "image": image,
            "draws": 2,
        }
        wanted = rng.sample(sorted(request), k=rng.randrange(1, 6))
        body = json.dumps({name: request[name] for name in wanted}).encode()
        body = mutated(body, rng) if rng.random() < 0.6 else body
        (folder / "BODY").write_bytes(body)
        headers = OWNER | {"Content-Type": "application/json"}
        answer = requests.post(
            f"{self._address}/api/v1/{rng.choice(POSTS)}", data=body, headers=headers, timeout=60
        )
        return (
            None
            if answer.status_code < 500 or answer.status_code == 503
            else f"{answer.status_code}: {answer.text}"
        )

    def _knock(self, rng: random.Random, folder: Path) -> str | None:
        """Bytes that are nearly HTTP, of somebody without a token."""
        path, length = (
            rng.choice(("/", "/api/v1/sample", "/static/../x", "/healthz")),
            rng.choice((0, 5, 10**9, -1)),
        )
        said = mutated(
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{{}}".encode(), rng
        )
        (folder / "SAID").write_bytes(said)
        with self._connect() as connection:
            connection.sendall(said)
            connection.settimeout(0.05)
            try:
                answer = connection.recv(65536)
            except OSError:
                return None
        return (
            f"answered {answer[:40]!r}"
            if answer.startswith((b"HTTP/1.1 5", b"HTTP/1.1 2")) and length
            else None
        )

    def _hold(self, rng: random.Random, _: Path) -> str | None:
        """Connections that say nothing or half of something, and stay."""
        for _number in range(40):
            self._held.append(connection := self._connect())
            connection.sendall(rng.choice((b"", b"GET / HTTP/1.1\r\nHost: ")))
        for connection in self._held[:-HOLD]:
            connection.close()
        self._held = self._held[-HOLD:]
        return None

    def _connect(self) -> socket.socket:
        place = urlsplit(self._address)
        return socket.create_connection((place.hostname, place.port), timeout=30)
