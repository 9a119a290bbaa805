"""Access of browsers: guest links, the login page for the server's token, and the throttle for
wrong attempts.
"""

from __future__ import annotations

import hmac
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.web import TOO_MANY_ATTEMPTS
from brenner.diagnostics.model import BrennerError, RequestError
from brenner.web import links
from brenner.web.request import (
    TOKEN_COOKIE_SECONDS,
    Cookie,
    Page,
    PageResult,
    Redirect,
    RequestContext,
    Site,
    guest_cookie_name,
    make_context,
    parse_form,
    sign_token_cookie,
    token_cookie_name,
    verify_guest_link,
)
from brenner.web.responses import diagnostic_page, to_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def check_guest_access(context: RequestContext) -> None:
    """Raise RequestError if a guest requests an unknown page, or one of another session."""
    is_help = context.path.partition("?")[0] == links.HELP
    if context.guest_of is None or is_help or _requested_thread(context) in context.guest_of:
        return
    where = " or ".join(links.session(each) for each in sorted(context.guest_of))
    raise RequestError(codes.GUESTS_STAY.at(session=where))


def _requested_thread(context: RequestContext) -> str | None:
    """Return the thread that the requested page belongs to, or None."""
    if "thread" in context.parameters:
        return context.parameters["thread"]
    if "message" not in context.parameters:
        return None
    try:
        return context.site.workspace.mailbox.message(
            int(context.parameters["message"])
        ).message.thread_id
    except RequestError:
        return None


# Throttling of wrong attempts: a few are free, then the waits grow.
#
# An attempt counts before it is checked, so that concurrent attempts do not get around the limit.
# A throttled client does not learn whether its attempt was right. A secret that cannot be guessed
# may be checked first and is not throttled.


_FREE_ATTEMPTS, _FREE_ATTEMPTS_TOTAL = 5, 50
_MAX_WAIT, _MAX_WAIT_TOTAL = 60.0, 10.0  # seconds; short, not to lock out the operator
_FORGET_SECONDS = 3600.0
_MAX_CLIENTS = 10_000
_IPV6_PREFIX = 64
_ALL_CLIENTS = ""

Clock = Callable[[], float]


def retry_after(error: BrennerError | None) -> object:
    """Return the seconds to wait before the next attempt, or None if that is not the error."""
    if error is None or error.diagnostic.code is not TOO_MANY_ATTEMPTS:
        return None
    return dict(error.diagnostic.parameters)["seconds"]


def retry_after_header(seconds: object) -> dict[str, str]:
    """Return the `Retry-After` header for programs."""
    return {"Retry-After": str(seconds)} if seconds else {}


class LoginThrottle:
    """Throttle for login attempts: counts failures per client and in total."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        # The number of failures of each client, and the time of the last one
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, address: str) -> int:
        """Count an attempt. Return 0 if it is allowed, else the seconds to wait."""
        now, client = self._clock(), client_network(address)
        with self._lock:
            wait = max(
                self._wait(client, now, _FREE_ATTEMPTS, _MAX_WAIT),
                self._wait(_ALL_CLIENTS, now, _FREE_ATTEMPTS_TOTAL, _MAX_WAIT_TOTAL),
            )
            if wait > 0:
                return math.ceil(wait)
            for each in (client, _ALL_CLIENTS):
                times, _ = self._failures.pop(each, (0, now))
                self._failures[each] = (times + 1, now)
            while len(self._failures) > _MAX_CLIENTS:
                self._failures.popitem(last=False)
        return 0

    def forget(self, address: str) -> None:
        """Clear the failures of a client that showed the right secret without an attempt."""
        with self._lock:
            self._failures.pop(client_network(address), None)

    def succeeded(self, address: str) -> None:
        """Clear the failures of a client whose attempt was right, and do not count that attempt."""
        with self._lock:
            self._failures.pop(client_network(address), None)
            times, last = self._failures.pop(_ALL_CLIENTS, (0, 0.0))
            if times > 1:
                self._failures[_ALL_CLIENTS] = (times - 1, last)

    def _wait(self, client: str, now: float, free: int, longest: float) -> float:
        times, last = self._failures.get(client, (0, now))
        if times < free:
            return 0.0
        if now - last > _FORGET_SECONDS:
            del self._failures[client]
            return 0.0
        return last + min(longest, 2.0 ** min(times - free + 1, 30)) - now


def client_network(address: str) -> str:
    """Return the key under which an address is throttled: of an IPv6 address its /64 network."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return f"{int(parsed) >> (128 - _IPV6_PREFIX):x}/{_IPV6_PREFIX}"


# Login of browsers at a server that requires a token: `/enter` with the token, `/guest` with a link


class BrowserAuth:
    """Login of browsers at a server that requires a token."""

    def __init__(self, token: str, clock: Clock | None = None) -> None:
        self._token = token
        self._throttle = LoginThrottle(clock) if clock else LoginThrottle()

    def page(self, context: RequestContext, error: BrennerError | None = None) -> Page:
        """Return the form that asks for the token."""
        fault = error.diagnostic.to_json() if error else None
        document = {"next": _next_path(context), "fault": fault, "wait": retry_after(error)}
        return Page(
            "pages/enter.html", "Access token required", document, _status(error), is_live=False
        )

    def enter(self, context: RequestContext, address: str) -> Page | Redirect:
        """Check the token and set a signed cookie. The cookie does not contain the token."""
        try:
            self._check(context.form.get("token", ""), address)
        except RequestError as error:
            return self.page(context, error)
        proof = sign_token_cookie(self._token, context.now)
        name = token_cookie_name(self._token)
        return Redirect(_next_path(context), (Cookie(name, proof, seconds=TOKEN_COOKIE_SECONDS),))

    def guest(self, context: RequestContext) -> Redirect:
        """Check a guest link, store it in a cookie and redirect to its session."""
        signed = context.parameters["signed"]
        thread_id, until = verify_guest_link(self._token, signed, context.now)
        seconds = max(1, int((until - context.now).total_seconds()))
        cookie = Cookie(guest_cookie_name(thread_id), signed, seconds=seconds)
        return Redirect(links.session(thread_id), (cookie,))

    def _check(self, token: str, address: str) -> None:
        seconds = self._throttle.begin(address)
        if seconds:
            raise RequestError(TOO_MANY_ATTEMPTS.at(seconds=seconds))
        given = token.strip().encode(errors="surrogatepass")
        if not hmac.compare_digest(given, self._token.encode()):
            raise RequestError(codes.ENTRY_REFUSED.at())
        self._throttle.succeeded(address)


def _next_path(context: RequestContext) -> str:
    return links.own_path(context.form.get("next") or context.query.get("next") or links.HOME)


def _status(error: BrennerError | None) -> HTTPStatus:
    if error is None:
        return HTTPStatus.OK
    return HTTPStatus.TOO_MANY_REQUESTS if retry_after(error) else HTTPStatus.UNAUTHORIZED


# Routes


_Handler = Callable[[RequestContext, str], PageResult]
_MAX_THREADS = 4


def auth_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of the login page and of guest links; none if the server needs no token."""
    auth = site.browser_auth
    if auth is None:
        return []
    limiter = anyio.CapacityLimiter(_MAX_THREADS)
    endpoint_for = partial(_endpoint, site, limiter)
    return [
        Route(links.ENTER, endpoint_for(lambda context, _: auth.page(context)), methods=["GET"]),
        Route(links.ENTER, endpoint_for(auth.enter), methods=["POST"]),
        Route(f"{links.GUEST}/{{signed}}", endpoint_for(lambda context, _: auth.guest(context))),
    ]


def _endpoint(
    site: Site, limiter: anyio.CapacityLimiter, work: _Handler
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        run = partial(_handle, site, work, request, await request.body())
        return await anyio.to_thread.run_sync(run, limiter=limiter)

    return endpoint


def _handle(site: Site, work: _Handler, request: Request, body: bytes) -> Response:
    context = _anonymous(make_context(site, request))
    address = request.client.host if request.client else ""
    try:
        if body:
            context = context._replace(form=parse_form(body))
        result = work(context, address)
    except BrennerError as error:
        result = diagnostic_page(error.diagnostic, HTTPStatus.FORBIDDEN)
    response = to_response(result, request, context)
    if isinstance(result, Page):
        response.headers.update(retry_after_header(result.document.get("wait")))
    return response


def _anonymous(context: RequestContext) -> RequestContext:
    """Return the context of an anonymous client, who does not see the project's name."""
    site = context.site
    unnamed = site._replace(about=site.about._replace(name="Brenner"), is_lab=False)
    return context._replace(site=unnamed, guest_of=frozenset())
