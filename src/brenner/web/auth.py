"""What somebody sees who came by a link: that session, its messages, and nothing else."""

import hmac
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.web import TOO_MANY_ATTEMPTS
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.web import links
from brenner.web import request as guests
from brenner.web.request import (
    Answer,
    Cookie,
    Page,
    Redirect,
    RequestContext,
    Site,
    read_form,
    visit_of,
)
from brenner.web.responses import diagnostic_page, respond


def check_guest(visit: RequestContext) -> None:
    """Refuse a page that is not of a session which she may see. What is unknown is not hers."""
    is_help = visit.path.partition("?")[0] == links.HELP
    if visit.guest_of is None or is_help or _thread(visit) in visit.guest_of:
        return
    where = " or ".join(links.session(each) for each in sorted(visit.guest_of))
    raise RequestError(codes.GUESTS_STAY.at(session=where))


def _thread(visit: RequestContext) -> str | None:
    """The thread that an address is about."""
    if "thread" in visit.named:
        return visit.named["thread"]
    if "message" not in visit.named:
        return None
    try:
        return visit.site.workspace.mailbox.message(int(visit.named["message"])).message.thread_id
    except RequestError:
        return None


# How often somebody may try to come in: a few times, then after waits that grow.
#
# A try counts before it is looked at, so that many at once are no way round. Whoever waits hears
# nothing about what she tried. What cannot be guessed may be looked at first, and need not wait.


_FREE, _FREE_OF_ALL = 5, 50
_LONGEST, _LONGEST_OF_ALL = 60.0, 10.0  # seconds; nobody can keep the operator out for long
_FORGOTTEN = 3600.0
_MOST_MACHINES = 10_000
_PREFIX = 64
_EVERYWHERE = ""

Clock = Callable[[], float]


class WaitError(RequestError):
    """Too many have failed; so many seconds are to pass first."""

    def __init__(self, seconds: int) -> None:
        super().__init__(TOO_MANY_ATTEMPTS.at(seconds=seconds))
        self.seconds = seconds


def seconds_to_wait(error: BrennerError | None) -> int | None:
    """How long to wait before the next attempt, where that is what is wrong."""
    return error.seconds if isinstance(error, WaitError) else None


def wait_header(seconds: object) -> dict[str, str]:
    """The header that says so to programs."""
    return {"Retry-After": str(seconds)} if seconds else {}


class _Failures(NamedTuple):
    times: int
    last: float


class LoginThrottle:
    """The failures of each address, and of all together."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, address: str) -> int:
        """Take a try; the seconds to wait where there is none."""
        now, machine = self._clock(), machine_at(address)
        with self._lock:
            wait = max(
                self._wait(machine, now, _FREE, _LONGEST),
                self._wait(_EVERYWHERE, now, _FREE_OF_ALL, _LONGEST_OF_ALL),
            )
            if wait > 0:
                return math.ceil(wait)
            for each in (machine, _EVERYWHERE):
                before = self._failures.pop(each, _Failures(0, now))
                self._failures[each] = _Failures(before.times + 1, now)
            while len(self._failures) > _MOST_MACHINES:
                self._failures.popitem(last=False)
        return 0

    def forget(self, address: str) -> None:
        """Somebody there has shown the right one, without a try."""
        with self._lock:
            self._failures.pop(machine_at(address), None)

    def succeeded(self, address: str) -> None:
        """That was the right one: what was tried from there before counts for nothing."""
        with self._lock:
            self._failures.pop(machine_at(address), None)
            before = self._failures.pop(_EVERYWHERE, None)
            if before and before.times > 1:
                self._failures[_EVERYWHERE] = before._replace(times=before.times - 1)

    def _wait(self, machine: str, now: float, free: int, longest: float) -> float:
        known = self._failures.get(machine)
        if known is None or known.times < free:
            return 0.0
        if now - known.last > _FORGOTTEN:
            del self._failures[machine]
            return 0.0
        pause = min(longest, 2.0 ** min(known.times - free + 1, 30))
        return known.last + pause - now


def machine_at(address: str) -> str:
    """The machine at an address: who has one address of IPv6 has a whole network of them."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return f"{int(known) >> (128 - _PREFIX):x}/{_PREFIX}"


# The entrance for browsers, where the server wants a token: `/enter` for who has it, `/guest` for
# who was given a link.


class BrowserAuth:
    """The entrance of one server."""

    def __init__(self, token: str, clock: Clock | None = None) -> None:
        self._token = token
        self._tries = LoginThrottle(clock) if clock else LoginThrottle()

    def page(self, visit: RequestContext, error: BrennerError | None = None) -> Page:
        """The form that asks for the token."""
        fault = error.diagnostic.to_json() if error else None
        document = {"next": _next(visit), "fault": fault, "wait": seconds_to_wait(error)}
        return Page("pages/enter.html", "Come in", document, _status(error), is_live=False)

    def enter(self, visit: RequestContext, address: str) -> Page | Redirect:
        """Look at the token; the browser keeps a proof of it, not the token."""
        try:
            self._check(visit.form.get("token", ""), address)
        except RequestError as error:
            return self.page(visit, error)
        proof = guests.entry(self._token, visit.now)
        name = guests.entry_cookie(self._token)
        return Redirect(_next(visit), (Cookie(name, proof, seconds=guests.ENTRY_SECONDS),))

    def guest(self, visit: RequestContext) -> Redirect:
        """Follow a link to a session."""
        signed = visit.named["signed"]
        thread_id, until = guests.linked(self._token, signed, visit.now)
        cookie = Cookie(guests.guest_cookie(thread_id), signed, seconds=_left(until, visit.now))
        return Redirect(links.session(thread_id), (cookie,))

    def _check(self, given: str, address: str) -> None:
        seconds = self._tries.begin(address)
        if seconds:
            raise WaitError(seconds)
        shown = given.strip().encode(errors="surrogatepass")
        if not hmac.compare_digest(shown, self._token.encode()):
            raise RequestError(codes.ENTRY_REFUSED.at())
        self._tries.succeeded(address)


def _next(visit: RequestContext) -> str:
    return links.own_path(visit.form.get("next") or visit.asked.get("next") or links.HOME)


def _status(error: BrennerError | None) -> HTTPStatus:
    if error is None:
        return HTTPStatus.OK
    is_early = isinstance(error, WaitError)
    return HTTPStatus.TOO_MANY_REQUESTS if is_early else HTTPStatus.UNAUTHORIZED


def _left(until: datetime, now: datetime) -> int:
    return max(1, int((until - now).total_seconds()))


# The addresses at which browsers come in, where the server wants a token.


_Work = Callable[[RequestContext, str], Answer]
_MOST_AT_ONCE = 4


def entrance_routes(site: Site) -> list[BaseRoute]:
    """All of them; none where everybody may come in."""
    entrance = site.entrance
    if entrance is None:
        return []
    limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)
    made = partial(_endpoint, site, limiter)
    return [
        Route(links.ENTER, made(lambda visit, _: entrance.page(visit)), methods=["GET"]),
        Route(links.ENTER, made(entrance.enter), methods=["POST"]),
        Route(f"{links.GUEST}/{{signed}}", made(lambda visit, _: entrance.guest(visit))),
    ]


def _endpoint(
    site: Site, limiter: anyio.CapacityLimiter, work: _Work
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        run = partial(_answer, site, work, request, await request.body())
        return await anyio.to_thread.run_sync(run, limiter=limiter)

    return endpoint


def _answer(site: Site, work: _Work, request: Request, body: bytes) -> Response:
    visit = _unnamed(visit_of(site, request))
    address = request.client.host if request.client else ""
    try:
        if body:
            visit = visit._replace(form=read_form(body))
        answer = work(visit, address)
    except BrennerError as error:
        answer = diagnostic_page(error.diagnostic, HTTPStatus.FORBIDDEN)
    response = respond(answer, request, visit)
    if isinstance(answer, Page):
        response.headers.update(wait_header(answer.document.get("wait")))
    return response


def _unnamed(visit: RequestContext) -> RequestContext:
    """The visit of somebody who is not in yet: she is not told whose project it is."""
    site = visit.site
    unnamed = site._replace(about=site.about._replace(name="Brenner"), is_lab=False)
    return visit._replace(site=unnamed, guest_of=frozenset())
