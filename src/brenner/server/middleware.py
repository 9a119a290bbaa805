"""Whom the server lets in, and how much: the first to see a request, for every address.

What can be told from the headers is told before the body is read. The body is read here, within
its limits of size and time, so that nobody behind the gate waits for a slow sender; and what would
take much more memory than it has bytes is not parsed at all.
"""

import asyncio
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import parse_qs, quote, urlsplit

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.web import FORM_FROM_ELSEWHERE
from brenner.mcp.arguments import too_much_to_parse
from brenner.server.http import (
    NOTHING,
    Fields,
    Hosts,
    Refusal,
    fields_of,
    first,
    kind_of,
    plain,
    without_port,
)
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.services.identity import SECRET_HEADER
from brenner.web import links
from brenner.web import request as forms
from brenner.web.request import GUEST, GUEST_UNTIL, entry_cookie, is_entry, threads_of_guest

# The bodies of requests while they come in: how much of them is held, and for how long.
#
# Small ones always have room. Where the large ones take too much of it together, the one that has
# been on its way for longest is given up: who sends at once is done before its turn comes.


_SMALL_BYTES = 64 * 1024
# Of all large bodies that are here at the same time, those that are being answered included
_MOST_HELD_BYTES = 64 * 1024 * 1024
_HANG_UP = ((b"connection", b"close"),)
_LATER = ((b"retry-after", b"1"),)


class Gone(Exception):
    """The client went away before it had sent everything."""


class Body:
    """What has come of one body."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._data = bytearray()
        self.size = 0
        self.is_whole = False
        self.limit: asyncio.Timeout | None = None
        self.is_given_up = False

    @property
    def held(self) -> int:
        """What it takes of the room that all share."""
        return 0 if self.is_given_up or self.size <= _SMALL_BYTES else self.size

    def add(self, piece: bytes) -> None:
        """One more piece of it."""
        self._data += piece
        self.size += len(piece)

    def handed_on(self) -> bytes:
        """All that has come. Whoever gets it keeps it: here it is only counted from now on."""
        data = bytes(self._data)
        self._data.clear()
        return data

    def give_up(self) -> None:
        """Whoever reads it is woken, and finds that its time is over."""
        self.is_given_up = True
        self._data.clear()
        with suppress(RuntimeError):  # its time has just run out by itself
            if self.limit is not None:
                self.limit.reschedule(0)


class Bodies:
    """All that are here, in the order in which they began."""

    def __init__(self, settings: ServeSettings, most_held: int = _MOST_HELD_BYTES) -> None:
        self._most = settings.most_request_bytes
        self._most_held = most_held
        self._here: dict[Body, None] = {}

    def begin(self, most: int | None = None) -> Body:
        """One more comes, of so many bytes at most; it is held until it is dropped."""
        body = Body(self._most if most is None else min(most, self._most))
        self._here[body] = None
        return body

    def drop(self, body: Body) -> None:
        """It is needed no longer."""
        self._here.pop(body, None)

    async def read(self, body: Body, receive: Receive, seconds: float) -> Refusal | None:
        """Gather the body, as long as it keeps within all limits."""
        try:
            async with asyncio.timeout(seconds) as body.limit:
                while not body.is_whole:
                    refusal = self._take(body, await receive())
                    if refusal is not None:
                        return refusal
        except TimeoutError:
            if not body.is_given_up:
                found = codes.REQUEST_TOO_SLOW.at(seconds=math.ceil(seconds))
                return Refusal(408, found, _HANG_UP)
        if body.is_given_up:  # also where its end came in the same moment: the beginning is gone
            return Refusal(503, codes.SERVER_BUSY.at(), (*_LATER, *_HANG_UP))
        return None

    def _take(self, body: Body, message: Message) -> Refusal | None:
        if message["type"] != "http.request":
            raise Gone
        body.add(message.get("body", b""))
        body.is_whole = not message.get("more_body", False)
        if body.size > body.most:
            return Refusal(413, codes.REQUEST_TOO_LARGE.at(most=body.most))
        if body.held and not self._has_room(body):
            return Refusal(503, codes.SERVER_BUSY.at(), _LATER)
        return None

    def _has_room(self, newest: Body) -> bool:
        """Whether there is room for what has come, if need be in place of what never ends."""
        excess = sum(each.held for each in self._here) - self._most_held
        slow = [each for each in self._here if each.held and not each.is_whole]
        for each in slow:
            if excess <= 0 or each is newest:
                break
            excess -= each.held
            each.give_up()
        return excess <= 0


# Browsers at the gate: forms that other pages could have sent, and ways in without the token.
#
# A browser sends along what it keeps for us whoever makes it ask. So a form must say that it comes
# from a page of ours; and what proves that somebody has shown the token opens pages, never the
# endpoint of agents.


JSON, URLENCODED = forms.JSON.encode(), forms.URLENCODED.encode()
_SECRET = SECRET_HEADER.lower().encode()
_READ = ("GET", "HEAD")
_DOORS = (links.ENTER, links.lab("login"))
_MOST_OF_A_SECRET = 16 * 1024
_OURS = (b"same-origin",)
_PORTS = MappingProxyType({"http": 80, "https": 443})
# Open to everybody: what says nothing of the project, and what looks at proofs itself
_OPEN = (f"{links.ASSETS}/", f"{links.GUEST}/")
# Guests get no further than these, and there only to their own session
_OF_GUESTS = ("/sessions/", "/messages/")
_MOST_FIELDS = 100
_TOLD_GUESTS = (links.HOME, links.SEARCH, links.CONNECT, links.HELP)


class CsrfPolicy:
    """What the gate knows of browsers."""

    def __init__(self, settings: ServeSettings) -> None:
        self._token = settings.token
        self._is_lab = settings.is_lab
        self._names = frozenset(plain(without_port(name)) for name in settings.hosts)
        allowed = (name.strip().lower() for name in settings.hosts)
        self._with_port = frozenset(name for name in allowed if without_port(name) != name)

    def takes_forms(self, path: str) -> bool:
        """Whether forms are sent there."""
        if path == links.ENTER:
            return self._token is not None
        return self._is_lab and path.startswith(f"{links.LAB}/")

    def most_bytes(self, scope: Scope, most: int) -> int:
        """How much may be sent there: who is not in yet has only a secret to send."""
        is_door = scope["path"] in _DOORS and self.takes_forms(scope["path"])
        return min(most, _MOST_OF_A_SECRET) if is_door else most

    def forged(self, scope: Scope, fields: Fields) -> Refusal | None:
        """Refuse a form that no page of ours has sent.

        A page of another port of this machine is another page, too. A script that shows the secret
        in a header is no page: no browser sends that header for one that it does not know.
        """
        if scope["method"] in _READ or not self.takes_forms(scope["path"]):
            return None
        if _SECRET in fields and b"origin" not in fields and kind_of(fields) == JSON:
            return None
        origins = fields.get(b"origin", NOTHING)
        is_ours = len(origins) == 1 and self._is_own(origins[0].decode("latin-1"), fields)
        if is_ours and fields.get(b"sec-fetch-site", _OURS) == _OURS:
            return None
        shown = f"`{origins[0].decode('latin-1')}`" if origins else "nobody who says so"
        return Refusal(403, FORM_FROM_ELSEWHERE.at(origin=shown))

    def _is_own(self, origin: str, fields: Fields) -> bool:
        """Whether it is this very server, or one of the names that the operator allows.

        A proxy before us has such a name, and may tell another `Host`. Then the page comes from
        the usual port, from the one of `Host`, or from the one that was allowed with the name.
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
        if plain(without_port(parts.netloc)) not in self._names:
            return False
        usual = _PORTS.get(parts.scheme)
        if host.hostname == parts.hostname:
            return (port or usual) == (asked or usual)
        return (port or usual) in (usual, asked)

    def may_come_in(self, scope: Scope, fields: Fields) -> bool:
        """Whether somebody proves that she has shown the token, or is a guest in her session."""
        if self._token is None or scope["path"] in ENDPOINTS:
            return False
        now = datetime.now(UTC)
        given = b"; ".join(fields.get(b"cookie", NOTHING)).decode("latin-1")
        cookies = cookie_parser(given)
        if is_entry(self._token, cookies.get(entry_cookie(self._token), ""), now):
            return True
        if scope["method"] not in _READ:
            return False
        until = threads_of_guest(self._token, cookies, now)
        threads = frozenset(until)
        if not threads or not _is_for_guests(scope, threads):
            return False
        scope[GUEST] = threads  # the pages look whether it is hers
        scope[GUEST_UNTIL] = until
        return True

    def is_open(self, scope: Scope) -> bool:
        """Whether everybody may ask there."""
        path: str = scope["path"]
        return path == links.ENTER or path.startswith(_OPEN)

    def sent_to_enter(self, scope: Scope, fields: Fields, refusal: Refusal) -> Refusal:
        """A person is asked for the token; a program is told."""
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


# How many requests one client may send: so many a second, and twice as many in a burst.
#
# All programs of a machine come from one address, so a connection is the one thing that tells them
# apart. Each has some requests of its own, whatever the others do. What goes beyond them, and the
# first request of every connection, is taken from what the connections of one address share.


_MOST_CLIENTS = 10_000
_BURST_SECONDS = 2
_SHARES = 10

Clock = Callable[[], float]


class Rates:
    """A bucket of permits for each client, filled at a steady rate.

    Clients that have not been heard of for long have a full one, and are forgotten.
    """

    def __init__(self, a_second: int, clock: Clock = time.monotonic) -> None:
        self._a_second = a_second
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __contains__(self, client: Hashable) -> bool:
        return client in self._buckets

    def wait(self, client: Hashable) -> float:
        """Take a permit; the seconds to wait where there is none."""
        now, full = self._clock(), float(self._a_second * _BURST_SECONDS)
        left, before = self._buckets.pop(client, (full, now))
        left = min(full, left + (now - before) * self._a_second)
        is_granted = left >= 1
        self._buckets[client] = (left - is_granted, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if is_granted else (1 - left) / self._a_second


class Turns:
    """Who may ask now: those who may come in, and apart from them those who may not.

    Who has no token never takes a permit from who has it.
    """

    def __init__(self, a_second: int, clock: Clock = time.monotonic) -> None:
        self.a_share = max(1, a_second // _SHARES)
        self._shared = Rates(a_second, clock)
        self._own = Rates(self.a_share, clock)
        self._strangers = Rates(self.a_share, clock)

    def wait(self, address: str, port: int) -> float:
        """Take a permit for a request on a connection; the seconds to wait where there is none."""
        connection = (address, port)
        if connection in self._own and not self._own.wait(connection):
            return 0.0
        seconds = self._shared.wait(address)
        if not seconds and connection not in self._own:
            self._own.wait(connection)
        return seconds

    def wait_as_stranger(self, address: str) -> float:
        """The same for somebody who shows no token, or a wrong one."""
        return self._strangers.wait(address)


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


class AccessMiddleware:
    """Stands before the whole application."""

    body_seconds = _BODY_SECONDS

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = Hosts(settings.host, settings.hosts)
        self._turns = Turns(settings.requests_a_second)
        self._bodies = Bodies(settings)
        self._token = settings.token.encode() if settings.token is not None else None
        self._browsers = CsrfPolicy(settings)
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
