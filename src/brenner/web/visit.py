"""One request for a page: what it asks for, of which project, and when."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from brenner.web.lab.logins import Login
    from brenner.web.reading import Session
    from brenner.web.site import Site

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Visit(NamedTuple):
    """What a page function gets.

    `named` is what the address names (`thread`, `item`, `message`), `asked` what stands behind its
    question mark; `form` and `sent` are what was sent, by a form or as JSON. `login` is there
    where the operator has logged in. `guest_of` are the threads that somebody may see who came by
    a link; None for everybody else.
    """

    site: "Site"
    path: str
    now: datetime
    named: Mapping[str, str] = _NOTHING
    asked: Mapping[str, str] = _NOTHING
    cookies: Mapping[str, str] = _NOTHING
    form: Mapping[str, str] = _NOTHING
    sent: object = None
    login: "Login | None" = None
    guest_of: frozenset[str] | None = None

    @property
    def thread_id(self) -> str:
        """The thread that the address names."""
        return self.named["thread"]

    @property
    def session(self) -> "Session":
        """The session that the address names, as it stands now; an unknown one is refused."""
        return self.site.reading.session(self.thread_id)

    def may_see(self, thread_id: str) -> bool:
        """Whether a session may be told of: a guest sees only those that she has links to."""
        return self.guest_of is None or thread_id in self.guest_of

    def number(self, name: str) -> int | None:
        """A number that was asked for; None where there is none, or no number."""
        text = self.asked.get(name, "")
        return (
            int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None
        )


_MOST_DIGITS = 9
