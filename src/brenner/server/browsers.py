"""Browsers at the gate: forms that other pages could have sent, and ways in without the token.

A browser sends along what it keeps for us whoever makes it ask. So a form must say that it comes
from a page of ours; and what proves that somebody has shown the token opens pages, never the
endpoint of agents.
"""

from datetime import UTC, datetime
from urllib.parse import parse_qs, quote, urlsplit

from starlette.requests import cookie_parser
from starlette.types import Scope

from brenner.diagnostics.codes.lab import FORM_FROM_ELSEWHERE
from brenner.server.fields import NOTHING, Fields, kind_of
from brenner.server.hosts import plain, without_port
from brenner.server.refusals import Refusal
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.web import links
from brenner.web.guests import GUEST, entry_cookie, is_entry, threads_of_guest

JSON, URLENCODED = b"application/json", b"application/x-www-form-urlencoded"
_SECRET = b"brenner-secret"
_READ = ("GET", "HEAD")
_OURS = (b"same-origin",)
# Open to everybody: what says nothing of the project, and what looks at proofs itself
_OPEN = (f"{links.ASSETS}/", f"{links.GUEST}/")
# Guests get no further than these, and there only to their own session
_OF_GUESTS = ("/sessions/", "/messages/")
_TOLD_GUESTS = (links.HOME, links.SEARCH, links.CONNECT, links.HELP)


class Browsers:
    """What the gate knows of browsers."""

    def __init__(self, settings: ServeSettings) -> None:
        self._token = settings.token
        self._is_lab = settings.is_lab
        self._names = frozenset(plain(without_port(name)) for name in settings.hosts)

    def takes_forms(self, path: str) -> bool:
        """Whether forms are sent there."""
        if path == links.ENTER:
            return self._token is not None
        return self._is_lab and path.startswith(f"{links.LAB}/")

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
        """Whether it is this very server, or one of the names that the operator allows."""
        try:
            authority = urlsplit(origin).netloc.lower()
        except ValueError:
            return False
        hosts = [each.decode("latin-1").strip().lower() for each in fields.get(b"host", NOTHING)]
        return hosts == [authority] or plain(without_port(authority)) in self._names

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
        threads = threads_of_guest(self._token, cookies, now)
        if not threads or not _is_for_guests(scope, threads):
            return False
        scope[GUEST] = threads  # the pages look whether it is hers
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
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=100)
        return len(asked.get("thread", ())) == 1 and asked["thread"][0] in threads
    return path in _TOLD_GUESTS or path.startswith(_OF_GUESTS)
