"""Whoever says nothing, little or too much keeps nobody out."""

import asyncio
import socket
import threading
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
import requests

from unmask.studio import guard
from unmask.studio.guard import Access, Guard
from unmask.studio.limits import DoorLimits
from unmask.studio.server import create_app

TOKEN = "a-token"
OWNER = {"Authorization": f"Bearer {TOKEN}"}
HALF = b"GET /api/v1/model HTTP/1.1\r\nHost: studio.example\r\nX-Slow: "
WHOLE = HALF.replace(b"X-Slow: ", f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())


def knock(address: str, said: bytes, source: str = "127.0.0.1") -> socket.socket:
    place = urlsplit(address).hostname, urlsplit(address).port
    connection = socket.create_connection(place, timeout=30, source_address=(source, 0))
    connection.sendall(said)
    return connection


def is_ended(connection: socket.socket) -> bool:
    """Whether the server ends a connection, sooner or later."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.fixture
def app(model, folder):
    """A Studio that other machines can reach."""
    return create_app(model, str(folder), access=Access.at("0.0.0.0", TOKEN))


def ask(address: str) -> int:
    return requests.get(f"{address}/api/v1/model", headers=OWNER, timeout=30).status_code


def test_half_sent_requests_do_not_lock_the_owner_out(app, serve):
    with serve(app, DoorLimits(waiting=20)) as address, ExitStack() as stack:
        crowd = [stack.enter_context(knock(address, HALF)) for _ in range(60)]
        assert ask(address) == 200
        assert all(is_ended(connection) for connection in crowd[:30])  # the oldest


def test_who_says_nothing_makes_room_before_who_is_slow(app, serve):
    limits = DoorLimits(waiting=20, seconds=120, moment_seconds=0)
    with serve(app, limits) as address, ExitStack() as stack, knock(address, WHOLE[:-2]) as slow:
        assert ask(address) == 200  # by now what the slow one said is read
        for _ in range(60):
            stack.enter_context(knock(address, b""))
        assert ask(address) == 200
        slow.sendall(WHOLE[-2:])
        assert slow.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("said", [b"", b"G"], ids=["silent", "half-sent"])
def test_a_request_that_is_here_is_answered_however_many_come_after_it(app, serve, said):
    """They are all here before the server looks, so that it meets them in one go, the owner first."""
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as door, ExitStack() as stack:
        address = f"http://127.0.0.1:{door.getsockname()[1]}"
        owner = stack.enter_context(knock(address, WHOLE))
        for _ in range(600):
            stack.enter_context(knock(address, said))
        with serve(app, DoorLimits(waiting=20), door):
            assert owner.recv(12) == b"HTTP/1.1 200"


def test_who_is_about_to_ask_is_not_ended_for_a_crowd_elsewhere(app, serve):
    with (
        serve(app, DoorLimits(waiting=20, seconds=120, moment_seconds=0)) as address,
        ExitStack() as stack,
        knock(address, b"", source="127.0.0.2") as owner,
    ):
        crowd = [stack.enter_context(knock(address, b"")) for _ in range(60)]
        assert all(is_ended(connection) for connection in crowd[:40])
        owner.sendall(WHOLE)
        assert owner.recv(12) == b"HTTP/1.1 200"


def test_hundreds_who_say_nothing_end_nobody_before_their_time(app, serve):
    with (
        serve(app, DoorLimits(seconds=120)) as address,
        ExitStack() as stack,
        knock(address, b"") as owner,
    ):
        for _ in range(500):
            stack.enter_context(knock(address, b""))
        assert ask(address) == 200  # by now the others have come in
        owner.sendall(WHOLE)
        assert owner.recv(12) == b"HTTP/1.1 200"


def test_a_request_that_came_while_the_server_was_busy_is_answered(app, serve):
    """Its time is over by then."""
    busy = threading.Event()

    async def now_and_then(scope, receive, send):
        if scope.get("path") == "/busy":
            busy.set()
            time.sleep(4)  # nothing else happens meanwhile
        await app(scope, receive, send)

    now_and_then.state = app.state
    with (
        serve(now_and_then, DoorLimits(seconds=3)) as address,
        knock(address, b"") as owner,
        knock(address, b"GET /busy HTTP/1.1\r\nHost: studio.example\r\n\r\n"),
    ):
        busy.wait()
        owner.sendall(WHOLE)
        assert owner.recv(12) == b"HTTP/1.1 200"


def test_beyond_so_many_inside_others_are_told_that_it_is_busy(app, serve):
    with serve(app, DoorLimits(inside=0)) as address:
        answer = requests.get(f"{address}/api/v1/model", headers=OWNER, timeout=30)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "too many connections" in answer.json()["error"]


def test_a_request_that_does_not_come_to_its_end_is_ended(app, serve):
    with serve(app, DoorLimits(seconds=0.2)) as address:
        for said in (b"", HALF, WHOLE + HALF):
            with knock(address, said) as connection:
                assert is_ended(connection)


def test_without_a_token_nobody_stays(app, serve):
    limits = DoorLimits(seconds=0.2)
    with serve(app, limits) as address, knock(address, HALF + b"\r\n\r\n") as connection:
        assert connection.recv(12) == b"HTTP/1.1 401"
        assert is_ended(connection)


def test_who_is_in_may_take_time(app, serve):
    with serve(app, DoorLimits(seconds=0.1)) as address:
        job = requests.post(
            f"{address}/api/v1/canvas",
            json={"width": 256, "height": 256, "care": "exact"},
            headers=OWNER,
            timeout=60,
        ).json()
        stream = requests.get(
            f"{address}/api/v1/jobs/{job['id']}/events", headers=OWNER, stream=True, timeout=60
        )
        reading = stream.iter_content(16)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            assert next(reading)
        stream.close()


def through(guarded: Guard, length: int, receive) -> int:
    """The status that a request of so many bytes is answered with."""

    async def send(message):
        statuses.append(message.get("status"))

    statuses: list[int] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-length", str(length).encode())],
    }

    async def run():
        await guarded(scope, receive, send)
        return statuses[0]

    return run()


def test_all_requests_share_the_room_for_what_is_sent(monkeypatch):
    monkeypatch.setattr(guard, "UPLOADS_BYTES", 1000)
    release = asyncio.Event()

    async def app(scope, receive, send):
        assert (await receive())["body"] == b"12"
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return {"type": "http.request", "body": b"12", "more_body": False}

    async def visits():
        guarded = Guard(app, access=Access())
        first = asyncio.create_task(through(guarded, 600, receive))
        await asyncio.sleep(0)
        second = await through(guarded, 600, receive)
        release.set()
        return await first, second, await through(guarded, 600, receive)

    assert asyncio.run(visits()) == (200, 503, 200)


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(guard, "UPLOAD_SECONDS", 0.01)

    async def nothing():
        await asyncio.Event().wait()

    async def visits():
        guarded = Guard(None, access=Access())
        return [await through(guarded, guard.UPLOADS_BYTES // 2, nothing) for _ in range(3)]

    assert asyncio.run(visits()) == [408, 408, 408]


def test_a_million_fields_are_one_mistake_and_many_mistakes_a_short_answer(client):
    many = client.post("/api/v1/sample", json={f"k{number:x}": 0 for number in range(100_000)})
    assert many.status_code == 422
    assert "100,000 fields" in many.json()["error"]
    few = client.post("/api/v1/sample", json={f"{number}" * 1000: 0 for number in range(30)})
    assert few.status_code == 422
    assert few.json()["error"].endswith("and 22 more")
    assert len(few.text) < 4000
