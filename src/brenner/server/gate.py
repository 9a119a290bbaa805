"""Whom the server lets in, and how much: the first to see a request, for every address.

What can be told from the headers is told before the body is read. The body is read here, within
its limits of size and time, so that nobody behind the gate waits for a slow sender; and what would
take much more memory than it has bytes is not parsed at all.
"""

import asyncio
import hmac
import math

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brenner.diagnostics.codes import serving as codes
from brenner.mcp.bounds import too_much_to_parse
from brenner.server.bodies import Bodies, Gone
from brenner.server.browsers import JSON, URLENCODED, Browsers
from brenner.server.fields import NOTHING, Fields, fields_of, kind_of
from brenner.server.hosts import Hosts
from brenner.server.rates import Turns
from brenner.server.refusals import Refusal
from brenner.server.settings import ServeSettings
from brenner.server.streams import first

LIVENESS = "/health/liveness"
_BODY_SECONDS = 60.0
_METHODS = ("GET", "HEAD", "POST", "DELETE")
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with none at all our own forms would have no Origin
    (b"cross-origin-resource-policy", b"same-origin"),
)
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="brenner"'),)
_ALLOW = ((b"allow", ", ".join(_METHODS).encode()),)


class Gate:
    """Stands before the whole application."""

    body_seconds = _BODY_SECONDS

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = Hosts(settings.host, settings.hosts)
        self._turns = Turns(settings.requests_a_second)
        self._bodies = Bodies(settings)
        self._token = settings.token.encode() if settings.token is not None else None
        self._browsers = Browsers(settings)
        self._grace = settings.grace_seconds
        self._checks = (
            *(self._host, self._origin, self._browsers.forged, self._bearer),
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

        fields = fields_of(scope)
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
        given = [each.decode("latin-1") for each in fields.get(b"host", NOTHING)]
        if len(given) == 1 and self._hosts.has(given[0], _reached(scope)):
            return None
        host = f"`{', '.join(given)}`" if given else "nobody"
        return Refusal(421, codes.FOREIGN_HOST.at(host=host))

    def _origin(self, scope: Scope, fields: Fields) -> Refusal | None:
        for each in fields.get(b"origin", NOTHING):
            origin = each.decode("latin-1")
            if not self._hosts.has_origin(origin, _reached(scope)):
                return Refusal(403, codes.FOREIGN_ORIGIN.at(origin=f"`{origin}`"))
        return None

    def _bearer(self, scope: Scope, fields: Fields) -> Refusal | None:
        """Who may not come in is told so, but not as often as somebody likes to hear it.

        Who has no token does not use up what others may ask.
        """
        address, port = _client(scope)
        if self._is_in(scope, fields):
            wait = self._turns.wait(address, port)
            return _too_many(self._settings.requests_a_second, address, wait) if wait else None
        wait = self._turns.wait_as_stranger(address)
        if wait:
            return _too_many(self._turns.a_share, f"{address} without the token", wait)
        if scope["path"] == LIVENESS or self._browsers.is_open(scope):
            return None
        what = "another one" if b"authorization" in fields else "none"
        refusal = Refusal(401, codes.WRONG_TOKEN.at(what=what), _CHALLENGE)
        return self._browsers.sent_to_enter(scope, fields, refusal)

    def _is_in(self, scope: Scope, fields: Fields) -> bool:
        """Whether somebody has the token, or a browser proves that she has shown it."""
        return (
            self._token is None
            or self._bears_token(fields)
            or self._browsers.may_come_in(scope, fields)
        )

    def _bears_token(self, fields: Fields) -> bool:
        """Both sides are compared whole, so that the time tells nothing."""
        given = fields.get(b"authorization", NOTHING)
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        is_right = hmac.compare_digest(token.strip(), self._token or b"")
        return is_right and scheme.lower() == b"bearer"

    def _method(self, scope: Scope, _fields: Fields) -> Refusal | None:
        if scope["method"] in _METHODS:
            return None
        words = {"method": scope["method"], "path": scope["path"], "allowed": ", ".join(_METHODS)}
        return Refusal(405, codes.METHOD_NOT_ALLOWED.at(**words), _ALLOW)

    def _content_type(self, scope: Scope, fields: Fields) -> Refusal | None:
        if scope["method"] != "POST":
            return None
        given, kind = fields.get(b"content-type", NOTHING), kind_of(fields)
        if kind == JSON or (kind == URLENCODED and self._browsers.takes_forms(scope["path"])):
            return None
        said = f"`{given[0].decode('latin-1')}`" if given else "not there"
        return Refusal(415, codes.BODY_NOT_JSON.at(given=said))

    def _length(self, scope: Scope, fields: Fields) -> Refusal | None:
        """A body that says itself that it is too large is not read at all."""
        most = self._most(scope)
        for each in fields.get(b"content-length", NOTHING):
            if not each.isdigit() or int(each) > most:
                return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=most))
        return None

    def _most(self, scope: Scope) -> int:
        return self._browsers.most_bytes(scope, self._settings.most_request_bytes)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then hand on the request with it."""
        body = self._bodies.begin(self._most(scope))
        try:
            refusal = await self._bodies.read(body, receive, self.body_seconds)
            data = body.handed_on()
            if refusal is None and not _is_form(scope):
                found = too_much_to_parse(data)
                refusal = None if found is None else Refusal(413, found)
            if refusal is not None:
                self._bodies.drop(body)
                await refusal.answer(send)
                return
            whole: Message = {"type": "http.request", "body": data, "more_body": False}
            await self._app(scope, first(whole, receive), send)
        except Gone:
            return
        finally:
            self._bodies.drop(body)


def _too_many(most: int, client: str, wait: float) -> Refusal:
    seconds = math.ceil(wait)
    found = codes.TOO_MANY_REQUESTS.at(most=most, client=client, seconds=seconds)
    return Refusal(429, found, ((b"retry-after", str(seconds).encode()),))


def _is_form(scope: Scope) -> bool:
    """Whether the body is one that browsers send; it has limits of its own where it is read."""
    return kind_of(fields_of(scope)) == URLENCODED


def _reached(scope: Scope) -> str | None:
    """The address of this machine that the client connected to."""
    return scope["server"][0] if scope.get("server") else None


def _client(scope: Scope) -> tuple[str, int]:
    """The address and the port at the other end."""
    return (scope["client"][0], scope["client"][1]) if scope.get("client") else ("nobody", 0)
