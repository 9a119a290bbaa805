"""Browsers at the gate: forms that other pages could have sent, and ways in without the token.

A browser sends along what it keeps for us whoever makes it ask. So a form must say that it comes
from a page of ours; and what proves that somebody has shown the token opens pages, never the
endpoint of agents.
"""

from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import parse_qs, quote, urlsplit

from starlette.requests import cookie_parser
from starlette.types import Scope

from brenner.diagnostics.codes.web import FORM_FROM_ELSEWHERE
from brenner.server.fields import NOTHING, Fields, kind_of
from brenner.server.hosts import plain, without_port
from brenner.server.refusals import Refusal
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.services.identity import SECRET_HEADER
from brenner.web import forms, links
from brenner.web.guests import GUEST, GUEST_UNTIL, entry_cookie, is_entry, threads_of_guest

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


class Browsers:
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
