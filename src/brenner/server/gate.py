"""Whom the server lets in, and how much: the first to see a request, for every address.

What can be told from the headers is told before the body is read. The body is read here, within
its limits of size and time, so that nobody behind the gate waits for a slow sender.
"""

import asyncio
import hmac
import math
from collections.abc import Mapping
from types import MappingProxyType

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brenner.diagnostics.codes import serving as codes
from brenner.server.hosts import Hosts
from brenner.server.rates import Rates
from brenner.server.refusals import Refusal
from brenner.server.settings import ServeSettings

LIVENESS = "/health/liveness"
_BODY_SECONDS = 60.0
# Of all bodies that are here at the same time. What is read from JSON takes up to 25 times as much.
_MOST_HELD_BYTES = 64 * 1024 * 1024
_METHODS = ("GET", "HEAD", "POST", "DELETE")
_JSON = b"application/json"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="brenner"'),)
_ALLOW = ((b"allow", ", ".join(_METHODS).encode()),)

Fields = Mapping[bytes, tuple[bytes, ...]]
_NOTHING: tuple[bytes, ...] = ()


class Gate:
    """Stands before the whole application."""

    body_seconds = _BODY_SECONDS

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = Hosts(settings.host, settings.hosts)
        self._rates = Rates(settings.requests_a_second)
        self._token = settings.token.encode() if settings.token is not None else None
        self._grace = settings.grace_seconds
        self._held = 0
        self._checks = (
            *(self._host, self._origin, self._rate, self._bearer),
            *(self._method, self._content_type, self._length),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_answered = False

        async def safely(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_SAFE]}
            await send(message)

        fields = _fields(scope)
        for check in self._checks:
            refusal = check(scope, fields)
            if refusal is not None:
                await refusal.answer(safely)
                return
        try:
            await self._let_in(scope, receive, safely)
        except asyncio.CancelledError:  # the server ends, and has waited as long as it may
            if is_answered:
                raise
            await Refusal(500, codes.CUT_OFF.at(seconds=self._grace)).answer(safely)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._with_body(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _host(self, scope: Scope, fields: Fields) -> Refusal | None:
        given = [each.decode("latin-1") for each in fields.get(b"host", _NOTHING)]
        if len(given) == 1 and self._hosts.has(given[0], _reached(scope)):
            return None
        host = f"`{', '.join(given)}`" if given else "nobody"
        return Refusal(421, codes.FOREIGN_HOST.at(host=host))

    def _origin(self, scope: Scope, fields: Fields) -> Refusal | None:
        for each in fields.get(b"origin", _NOTHING):
            origin = each.decode("latin-1")
            if not self._hosts.has_origin(origin, _reached(scope)):
                return Refusal(403, codes.FOREIGN_ORIGIN.at(origin=f"`{origin}`"))
        return None

    def _rate(self, scope: Scope, _fields: Fields) -> Refusal | None:
        client = scope["client"][0] if scope.get("client") else "nobody"
        wait = math.ceil(self._rates.wait(client))
        if not wait:
            return None
        most = self._settings.requests_a_second
        found = codes.TOO_MANY_REQUESTS.at(most=most, client=client, seconds=wait)
        return Refusal(429, found, ((b"retry-after", str(wait).encode()),))

    def _bearer(self, scope: Scope, fields: Fields) -> Refusal | None:
        """Both sides are compared whole, so that the time tells nothing."""
        if self._token is None or scope["path"] == LIVENESS:
            return None
        given = fields.get(b"authorization", _NOTHING)
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        is_right = hmac.compare_digest(token.strip(), self._token)
        if is_right and scheme.lower() == b"bearer":
            return None
        what = "another one" if given else "none"
        return Refusal(401, codes.WRONG_TOKEN.at(what=what), _CHALLENGE)

    def _method(self, scope: Scope, _fields: Fields) -> Refusal | None:
        if scope["method"] in _METHODS:
            return None
        words = {"method": scope["method"], "path": scope["path"], "allowed": ", ".join(_METHODS)}
        return Refusal(405, codes.METHOD_NOT_ALLOWED.at(**words), _ALLOW)

    def _content_type(self, scope: Scope, fields: Fields) -> Refusal | None:
        if scope["method"] != "POST":
            return None
        given = fields.get(b"content-type", _NOTHING)
        kind = given[0].partition(b";")[0].strip().lower() if len(given) == 1 else b""
        if kind == _JSON:
            return None
        said = f"`{given[0].decode('latin-1')}`" if given else "not there"
        return Refusal(415, codes.BODY_NOT_JSON.at(given=said))

    def _length(self, _scope: Scope, fields: Fields) -> Refusal | None:
        """A body that says itself that it is too large is not read at all."""
        most = self._settings.most_request_bytes
        for each in fields.get(b"content-length", _NOTHING):
            if not each.isdigit() or int(each) > most:
                return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=most))
        return None

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then hand on the request with it."""
        body = bytearray()
        try:
            refusal = await self._read(body, receive)
            if refusal is not None:
                await refusal.answer(send)
                return
            whole: Message = {"type": "http.request", "body": bytes(body), "more_body": False}
            await self._app(scope, _first(whole, receive), send)
        except _Gone:
            return
        finally:
            self._held -= len(body)

    async def _read(self, body: bytearray, receive: Receive) -> Refusal | None:
        """Gather the body, as long as it keeps within all limits."""
        most = self._settings.most_request_bytes
        try:
            async with asyncio.timeout(self.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _Gone
                    piece = message.get("body", b"")
                    body += piece
                    self._held += len(piece)
                    if len(body) > most:
                        return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=most))
                    if self._held > _MOST_HELD_BYTES:
                        return Refusal(503, codes.SERVER_BUSY.at(), ((b"retry-after", b"1"),))
                    if not message.get("more_body", False):
                        return None
        except TimeoutError:
            seconds = math.ceil(self.body_seconds)
            return Refusal(408, codes.REQUEST_TOO_SLOW.at(seconds=seconds), _HANG_UP)


_HANG_UP = ((b"connection", b"close"),)


class _Gone(Exception):
    """The client went away before it had sent everything."""


def _fields(scope: Scope) -> Fields:
    """The headers by their names; one that is there twice has two values."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for name, value in scope["headers"]:
        found[name] = (*found.get(name, ()), value)
    return MappingProxyType(found)


def _reached(scope: Scope) -> str | None:
    """The address of this machine that the client connected to."""
    return scope["server"][0] if scope.get("server") else None


def _first(whole: Message, receive: Receive) -> Receive:
    """What the application receives: the whole body, then whatever comes."""
    waiting = [whole]

    async def receive_next() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_next
