"""The access middleware, in front of every address: hosts, origins, tokens, rates and body
limits.

It decides by the headers before the body is read. It then reads the body within limits of size and
time, so that no handler waits for a slow client. A body that would take much more memory than bytes
is not parsed.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlsplit

from starlette.requests import cookie_parser

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.web import FORM_FROM_ELSEWHERE
from brenner.mcp.arguments import check_raw_size
from brenner.program_settings import SECRET_HEADER
from brenner.server.hosts import (
    allowed_hosts,
    is_allowed_host,
    is_allowed_origin,
    normalise_host,
    without_port,
)
from brenner.server.http import NOTHING, Fields, Refusal, headers_of, media_type_of, replay_first
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.web import links
from brenner.web import request as forms
from brenner.web.request import (
    GUEST_EXPIRY_SCOPE,
    GUEST_SCOPE,
    guest_threads,
    is_token_cookie,
    token_cookie_name,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Browsers
#
# A browser sends our cookies with every request, also with one that a foreign page makes. So a form
# must come from one of our own pages, and a cookie opens pages only, never the MCP endpoint.


JSON, URLENCODED = forms.JSON_TYPE.encode(), forms.FORM_TYPE.encode()
_SECRET = SECRET_HEADER.lower().encode()
_READ = ("GET", "HEAD")
_DOORS = (links.ENTER, links.lab("login"))
_MOST_OF_A_SECRET = 16 * 1024
_OURS = (b"same-origin",)
_PORTS = MappingProxyType({"http": 80, "https": 443})
# Open to all clients: addresses that show nothing of the project or check access themselves
_OPEN = (f"{links.ASSETS}/", f"{links.GUEST}/")
# The addresses that guests may open, for their own session only
_OF_GUESTS = ("/sessions/", "/messages/")
_MOST_FIELDS = 100
_TOLD_GUESTS = (links.HOME, links.SEARCH, links.CONNECT, links.HELP)


class BrowserPolicy:
    """Rules for browsers: forged forms, and ways in without the bearer token."""

    def __init__(self, settings: ServeSettings) -> None:
        self._token = settings.token
        self._is_lab = settings.is_lab
        self._names = frozenset(normalise_host(without_port(name)) for name in settings.hosts)
        allowed = (name.strip().lower() for name in settings.hosts)
        self._with_port = frozenset(name for name in allowed if without_port(name) != name)

    def takes_forms(self, path: str) -> bool:
        """Return whether forms are sent to that path."""
        if path == links.ENTER:
            return self._token is not None
        return self._is_lab and path.startswith(f"{links.LAB}/")

    def most_bytes(self, scope: Scope, most: int) -> int:
        """Return the body limit of an address. Before login only a secret is sent."""
        is_door = scope["path"] in _DOORS and self.takes_forms(scope["path"])
        return min(most, _MOST_OF_A_SECRET) if is_door else most

    def forged(self, scope: Scope, fields: Fields) -> Refusal | None:
        """Refuse a form that none of our own pages has sent.

        A page of another port of this machine is foreign, too. A script that sends the secret in a
        header is allowed: a browser does not send that header for a foreign page.
        """
        if scope["method"] in _READ or not self.takes_forms(scope["path"]):
            return None
        if _SECRET in fields and b"origin" not in fields and media_type_of(fields) == JSON:
            return None
        origins = fields.get(b"origin", NOTHING)
        is_ours = len(origins) == 1 and self._is_own(origins[0].decode("latin-1"), fields)
        if is_ours and fields.get(b"sec-fetch-site", _OURS) == _OURS:
            return None
        shown = f"`{origins[0].decode('latin-1')}`" if origins else "an unknown origin"
        return Refusal(403, FORM_FROM_ELSEWHERE.at(origin=shown))

    def _is_own(self, origin: str, fields: Fields) -> bool:
        """Return whether an origin is this server, or one of the names that the operator allows.

        A reverse proxy has such a name and may send another `Host`. Then the page comes from the
        default port, from the port in `Host`, or from the port that was allowed with the name.
        """
        hosts = [each.decode("latin-1").strip().lower() for each in fields.get(b"host", NOTHING)]
        try:
            parts = urlsplit(origin.lower())
            port, host = parts.port, urlsplit(f"//{hosts[0] if len(hosts) == 1 else ''}")
            asked = host.port
        except ValueError:
            return False
        if hosts == [parts.netloc] or parts.netloc in self._with_port:
            return True
        if normalise_host(without_port(parts.netloc)) not in self._names:
            return False
        usual = _PORTS.get(parts.scheme)
        if host.hostname == parts.hostname:
            return (port or usual) == (asked or usual)
        return (port or usual) in (usual, asked)

    def may_come_in(self, scope: Scope, fields: Fields) -> bool:
        """Return whether the request has a login cookie, or a guest's cookie for a page that
        guests may open.

        For a guest, store the allowed threads in the scope. The pages check that they belong to one
        of them.
        """
        if self._token is None or scope["path"] in ENDPOINTS:
            return False
        now = datetime.now(UTC)
        given = b"; ".join(fields.get(b"cookie", NOTHING)).decode("latin-1")
        cookies = cookie_parser(given)
        if is_token_cookie(self._token, cookies.get(token_cookie_name(self._token), ""), now):
            return True
        if scope["method"] not in _READ:
            return False
        until = guest_threads(self._token, cookies, now)
        threads = frozenset(until)
        if not threads or not _is_for_guests(scope, threads):
            return False
        scope[GUEST_SCOPE] = threads  # the pages check that it is the guest's session
        scope[GUEST_EXPIRY_SCOPE] = until
        return True

    def is_open(self, scope: Scope) -> bool:
        """Return whether the address needs no token."""
        path: str = scope["path"]
        return path == links.ENTER or path.startswith(_OPEN)

    def sent_to_enter(self, scope: Scope, fields: Fields, refusal: Refusal) -> Refusal:
        """Redirect a browser to the token form. Return the refusal to any other client."""
        accepts = b",".join(fields.get(b"accept", NOTHING))
        is_person = scope["method"] in _READ and b"text/html" in accepts
        if not is_person or scope["path"] in ENDPOINTS:
            return refusal
        path = scope.get("raw_path", b"/").decode("latin-1")
        query = scope.get("query_string", b"").decode("latin-1")
        wanted = quote(f"{path}?{query}" if query else path, safe="/")
        location = f"{links.ENTER}?next={wanted}".encode()
        return refusal._replace(status=303, headers=((b"location", location),))


def _is_for_guests(scope: Scope, threads: frozenset[str]) -> bool:
    path: str = scope["path"]
    if path == links.EVENTS:
        given = scope.get("query_string", b"").decode("latin-1")
        try:
            asked = parse_qs(given, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return False
        return len(asked.get("thread", ())) == 1 and asked["thread"][0] in threads
    return path in _TOLD_GUESTS or path.startswith(_OF_GUESTS)


# Rate limits: so many requests a second, and twice as many in a burst
#
# All programs of a machine share one address, so only the connection tells them apart. Each
# connection has some permits of its own. Further requests, and the first one of every connection,
# use the permits that all connections of the address share.


_MOST_CLIENTS = 10_000
_BURST_SECONDS = 2
_SHARES = 10

# What is left of the permits of each client, and when that was so
Permits = OrderedDict[Hashable, tuple[float, float]]


def take_permit(permits: Permits, client: Hashable, a_second: int, now: float) -> float:
    """Take a permit. Return the seconds to wait if there is none.

    If there are too many clients, the one that has been silent longest is removed.
    """
    full = float(a_second * _BURST_SECONDS)
    left, before = permits.pop(client, (full, now))
    left = min(full, left + (now - before) * a_second)
    is_granted = left >= 1
    permits[client] = (left - is_granted, now)
    if len(permits) > _MOST_CLIENTS:
        permits.popitem(last=False)
    return 0.0 if is_granted else (1 - left) / a_second


class RequestRates:
    """Separate rate limits for clients with and without access.

    A client without a token never takes a permit from one that has it.
    """

    def __init__(self, a_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_second = a_second
        self.a_share = max(1, a_second // _SHARES)
        self._clock = clock
        self._shared, self._own, self._strangers = Permits(), Permits(), Permits()

    def wait(self, address: str, port: int) -> float:
        """Take a permit for a request on a connection. Return the seconds to wait if there is
        none.
        """
        connection, now = (address, port), self._clock()
        is_known = connection in self._own
        if is_known and not take_permit(self._own, connection, self.a_share, now):
            return 0.0
        seconds = take_permit(self._shared, address, self._a_second, now)
        if not seconds and not is_known:
            take_permit(self._own, connection, self.a_share, now)
        return seconds

    def wait_as_stranger(self, address: str) -> float:
        """Take a permit for a client without a valid token. Return the seconds to wait."""
        return take_permit(self._strangers, address, self.a_share, self._clock())


LIVENESS = "/health/liveness"
_BODY_SECONDS = 60.0
_METHODS = ("GET", "HEAD", "POST", "DELETE")
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with none at all our own forms would have no Origin
    (b"cross-origin-resource-policy", b"same-origin"),
)
_HANG_UP = ((b"connection", b"close"),)
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="brenner"'),)
_ALLOW = ((b"allow", ", ".join(_METHODS).encode()),)


class AccessMiddleware:
    """ASGI middleware in front of the whole application."""

    body_seconds = _BODY_SECONDS

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = allowed_hosts(settings.host, settings.hosts)
        self._turns = RequestRates(settings.requests_a_second)
        self._token = settings.token.encode() if settings.token is not None else None
        self._browsers = BrowserPolicy(settings)
        self._grace = settings.grace_seconds
        self._checks = (
            *(self._host, self._origin, self._browsers.forged, self._bearer),
            *(self._method, self._content_type, self._length),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
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

        fields = headers_of(scope)
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
        if len(given) == 1 and is_allowed_host(self._hosts, given[0], _local_address(scope)):
            return None
        host = f"`{', '.join(given)}`" if given else "nobody"
        return Refusal(421, codes.FOREIGN_HOST.at(host=host))

    def _origin(self, scope: Scope, fields: Fields) -> Refusal | None:
        for each in fields.get(b"origin", NOTHING):
            origin = each.decode("latin-1")
            if not is_allowed_origin(self._hosts, origin, _local_address(scope)):
                return Refusal(403, codes.FOREIGN_ORIGIN.at(origin=f"`{origin}`"))
        return None

    def _bearer(self, scope: Scope, fields: Fields) -> Refusal | None:
        """Refuse a client without access, at a limited rate that does not count against others."""
        address, port = _remote_address(scope)
        if self._is_in(scope, fields):
            wait = self._turns.wait(address, port)
            return _rate_limited(self._settings.requests_a_second, address, wait) if wait else None
        wait = self._turns.wait_as_stranger(address)
        if wait:
            return _rate_limited(self._turns.a_share, f"{address} without the token", wait)
        if scope["path"] == LIVENESS or self._browsers.is_open(scope):
            return None
        what = "a different one" if b"authorization" in fields else "none"
        refusal = Refusal(401, codes.WRONG_TOKEN.at(what=what), _CHALLENGE)
        return self._browsers.sent_to_enter(scope, fields, refusal)

    def _is_in(self, scope: Scope, fields: Fields) -> bool:
        """Return whether the request has the bearer token or a valid cookie."""
        return (
            self._token is None
            or self._bears_token(fields)
            or self._browsers.may_come_in(scope, fields)
        )

    def _bears_token(self, fields: Fields) -> bool:
        """Compare the token in constant time."""
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
        given, kind = fields.get(b"content-type", NOTHING), media_type_of(fields)
        if kind == JSON or (kind == URLENCODED and self._browsers.takes_forms(scope["path"])):
            return None
        said = f"`{given[0].decode('latin-1')}`" if given else "not there"
        return Refusal(415, codes.BODY_NOT_JSON.at(given=said))

    def _length(self, scope: Scope, fields: Fields) -> Refusal | None:
        """Refuse a body whose `Content-Length` exceeds the limit, before it is read."""
        most = self._most(scope)
        for each in fields.get(b"content-length", NOTHING):
            if not each.isdigit() or int(each) > most:
                return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=most))
        return None

    def _most(self, scope: Scope) -> int:
        return self._browsers.most_bytes(scope, self._settings.most_request_bytes)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then pass on the request with it."""
        try:
            async with asyncio.timeout(self.body_seconds):
                data = await _read_body(receive, self._most(scope))
        except TimeoutError:
            found = codes.REQUEST_TOO_SLOW.at(seconds=math.ceil(self.body_seconds))
            await Refusal(408, found, _HANG_UP).answer(send)
            return
        if data is None:
            return
        refusal = data if isinstance(data, Refusal) else self._parsable(scope, data)
        if refusal is not None:
            await refusal.answer(send)
            return
        whole: Message = {"type": "http.request", "body": data, "more_body": False}
        await self._app(scope, replay_first(whole, receive), send)

    def _parsable(self, scope: Scope, data: bytes) -> Refusal | None:
        """Refuse a document that would take much more memory than bytes.

        A form has limits where it is read.
        """
        if media_type_of(headers_of(scope)) == URLENCODED:
            return None
        found = check_raw_size(data)
        return None if found is None else Refusal(413, found)


async def _read_body(receive: Receive, most: int) -> bytes | Refusal | None:
    """Return the body, or a refusal if it is too large. None if the client has disconnected."""
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        data += message.get("body", b"")
        if len(data) > most:
            return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=most))
        if not message.get("more_body", False):
            return bytes(data)


def _rate_limited(most: int, client: str, wait: float) -> Refusal:
    seconds = math.ceil(wait)
    found = codes.TOO_MANY_REQUESTS.at(most=most, client=client, seconds=seconds)
    return Refusal(429, found, ((b"retry-after", str(seconds).encode()),))


def _local_address(scope: Scope) -> str | None:
    """Return the address of this machine that the client connected to."""
    return scope["server"][0] if scope.get("server") else None


def _remote_address(scope: Scope) -> tuple[str, int]:
    """Return the address and the port of the client."""
    return (scope["client"][0], scope["client"][1]) if scope.get("client") else ("nobody", 0)
