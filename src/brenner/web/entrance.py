"""The entrance for browsers, where the server wants a token: `/enter` for who has it, `/guest` for
who was given a link.
"""

import hmac
from datetime import datetime
from http import HTTPStatus

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import BrennerError, Refused
from brenner.web import guests, links
from brenner.web.page import Cookie, Page, Redirect
from brenner.web.tries import Clock, Tries, WaitError, seconds_to_wait
from brenner.web.visit import Visit


class Entrance:
    """The entrance of one server."""

    def __init__(self, token: str, clock: Clock | None = None) -> None:
        self._token = token
        self._tries = Tries(clock) if clock else Tries()

    def page(self, visit: Visit, error: BrennerError | None = None) -> Page:
        """The form that asks for the token."""
        fault = error.diagnostic.to_json() if error else None
        document = {"next": _next(visit), "fault": fault, "wait": seconds_to_wait(error)}
        return Page("pages/enter.html", "Come in", document, _status(error), is_live=False)

    def enter(self, visit: Visit, address: str) -> Page | Redirect:
        """Look at the token; the browser keeps a proof of it, not the token."""
        try:
            self._check(visit.form.get("token", ""), address)
        except Refused as error:
            return self.page(visit, error)
        proof = guests.entry(self._token, visit.now)
        name = guests.entry_cookie(self._token)
        return Redirect(_next(visit), (Cookie(name, proof, seconds=guests.ENTRY_SECONDS),))

    def guest(self, visit: Visit) -> Redirect:
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
            raise Refused(codes.ENTRY_REFUSED.at())
        self._tries.succeeded(address)


def _next(visit: Visit) -> str:
    return links.own_path(visit.form.get("next") or visit.asked.get("next") or links.HOME)


def _status(error: BrennerError | None) -> HTTPStatus:
    if error is None:
        return HTTPStatus.OK
    is_early = isinstance(error, WaitError)
    return HTTPStatus.TOO_MANY_REQUESTS if is_early else HTTPStatus.UNAUTHORIZED


def _left(until: datetime, now: datetime) -> int:
    return max(1, int((until - now).total_seconds()))
