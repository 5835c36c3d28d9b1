"""Access control: who may send requests, from where, and how much at once.

Pages of other sites can make a browser send requests here, and by changing what their own name resolves to
they can even read the answers. So a request has to name this server as its host, and must not say that it
comes from elsewhere.
"""

import asyncio
import hashlib
import ipaddress
import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmask.errors import ConfigError
from unmask.studio.limits import MAX_UPLOAD_BYTES, UPLOAD_SECONDS, UPLOADS_BYTES
from unmask.studio.page import FILES

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = ("/healthz", "/static/")  # open to anyone: the health check, and static files
HEADERS = {
    "Cache-Control": "no-cache",  # a new version is seen at once; an unchanged file is not sent again
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who may ask. On loopback, everyone on this machine; elsewhere, who knows the token."""

    hosts: frozenset[str] | None = LOOPBACK
    """Names under which the server may be addressed. None: any, which wants a token."""
    token: str | None = None

    @classmethod
    def at(cls, host: str, token: str | None) -> "Access":
        """Access to a server that listens at ``host``; beyond loopback there is always a token."""
        if token is not None and not re.fullmatch(r"[\w.~-]+", token, re.ASCII):
            raise ConfigError(
                "a token is made of letters, digits and - _ . ~", hint="leave it out to get one"
            )
        if is_loopback(host):
            return cls(hosts=LOOPBACK | {host}, token=token)
        return cls(hosts=None, token=token or secrets.token_urlsafe(16))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """An ASGI application round another one that lets through what may come in."""

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        assert access.hosts is not None or access.token, "open to everyone"
        self._app, self._access, self._room = app, access, UPLOADS_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        connection = HTTPConnection(scope)
        answer = self._refusal(connection) or _full(scope)
        if answer is None:
            await self._let_in(
                int(connection.headers.get("content-length", "0")), scope, receive, send_guarded
            )
        else:
            await answer(scope, receive, send_guarded)

    async def _let_in(self, length: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on once all of it is here, if there is room for it."""
        if length > self._room:
            await _refuse(503, "the Studio is busy: too much is being sent to it; try again in a moment")(
                scope, receive, send
            )
            return
        self._room -= length
        try:
            async with asyncio.timeout(UPLOAD_SECONDS):
                body = await _read(receive) if length else None
            await self._app(scope, receive if body is None else _replayed(body, receive), send)
        except TimeoutError:
            await _refuse(408, "the request took too long to arrive")(scope, receive, send)
        finally:
            self._room += length

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        host = _hostname(f"//{connection.headers.get('host', '')}")
        if self._access.hosts is not None and host not in self._access.hosts:
            return _refuse(403, "this name is not one of the server's own")
        if _foreign(connection.headers):
            return _refuse(403, "requests from pages of other sites are not answered")
        return _too_much(connection.headers) or self._authorise(connection)

    def _authorise(self, connection: HTTPConnection) -> Response | None:
        path, token = connection.scope["path"], self._access.token
        if token is None or path.startswith(OPEN_PATHS):
            return None
        name, seal = cookie_name(connection.headers), cookie_value(token)
        if path == "/" and _equal(token, connection.query_params.get("token", "")):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(name, seal, httponly=True, samesite="strict", max_age=30 * 86_400)
            return answer
        if _equal(token, _bearer(connection.headers)) or _equal(seal, connection.cookies.get(name, "")):
            return None
        if path == "/":
            return FileResponse(FILES / "token.html", 401)
        return _refuse(401, "this Studio wants its token:  Authorization: Bearer TOKEN")


def _full(scope: Scope) -> Response | None:
    """A refusal if the server counts connections, and too many are inside."""
    admit = scope.get("state", {}).get("admit")
    if admit is None or admit():
        return None
    return _refuse(503, "the Studio is busy: too many connections are open; try again in a moment")


async def _read(receive: Receive) -> Message:
    """All of a request's body as one message, or that its sender has left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _replayed(first: Message, receive: Receive) -> Receive:
    """What ``receive`` says after it has said ``first`` once more."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return first

    return again


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _foreign(headers: Headers) -> bool:
    """Whether a browser says that the request comes from a page of another site."""
    origin = headers.get("origin")
    if origin is not None and origin not in (
        f"{scheme}://{headers.get('host')}" for scheme in ("http", "https")
    ):
        return True
    # Following a link to the page itself is no harm.
    return headers.get("sec-fetch-site") in ("cross-site", "same-site") and (
        headers.get("sec-fetch-mode") != "navigate"
    )


def _too_much(headers: Headers) -> Response | None:
    """A refusal of a body that is too long or of unknown length."""
    if "transfer-encoding" in headers:
        return _refuse(411, "say how long the request is: Content-Length")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_UPLOAD_BYTES:
        return _refuse(413, f"the request is longer than {MAX_UPLOAD_BYTES:,} bytes")
    return None


def _bearer(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def cookie_name(headers: Headers) -> str:
    """Of its own for every port: a browser has one set of cookies for all servers of a machine."""
    port = re.search(r":([0-9]+)$", headers.get("host", ""))
    return f"unmask-{port[1] if port else 80}"


def cookie_value(token: str) -> str:
    """Proof that a browser knew the token, not the token itself, which other servers would see too."""
    return hashlib.sha256(f"unmask studio {token}".encode()).hexdigest()


def _equal(token: str, given: str) -> bool:
    """Comparison in constant time."""
    return secrets.compare_digest(token.encode(), given.encode("utf-8", "surrogateescape"))


def _refuse(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status, {"Retry-After": "2"} if status == 503 else None)
