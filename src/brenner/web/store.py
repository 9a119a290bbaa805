"""The store as the pages see it: whether it can be reached, and how far it has come.

A server that is gone is not asked by everybody: one asks from time to time, and the others are
told at once that it is away.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import anyio
import anyio.to_thread

from brenner.diagnostics.codes.stores import STORE_UNUSABLE
from brenner.diagnostics.codes.web import MAIL_AWAY
from brenner.diagnostics.model import BrennerError, Diagnostic, Unavailable
from brenner.services.workspace import Desk
from brenner.web.place import Place, place_of

_PATIENCE = 5.0  # seconds until a store that says nothing is taken for one that is away
_ASKED_EVERY = 1.0  # seconds, while it is away
_SAME_SECONDS = 1.0  # after which it is looked whether it is still the same store
_MOST_AT_ONCE = 4


class Absence(NamedTuple):
    """The store is away: since when, and what is known of it."""

    since: datetime
    why: Diagnostic

    def to_json(self) -> dict[str, object]:
        """What scripts are told."""
        return {
            "since": self.since.isoformat(),
            "code": self.why.id,
            "message": self.why.message,
            "fix": self.why.fix,
        }

    def for_guests(self) -> "Absence":
        """The same without where the mail is kept, and what is wrong there."""
        return self._replace(why=MAIL_AWAY.at())

    @property
    def error(self) -> Unavailable:
        """The same, to be raised."""
        return Unavailable(self.why)


class Store:
    """The mailbox of a desk, from any thread."""

    patience = _PATIENCE

    def __init__(self, desk: Desk, shown: str = "", clock: Callable[[], float] = time.monotonic):
        self.desk = desk
        self.shown = shown
        self._clock = clock
        self._lock = threading.Lock()
        self._absence: Absence | None = None
        self._asked_at = 0.0
        self._is_asking = 0
        self._last: tuple[Place, float] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @property
    def absence(self) -> Absence | None:
        """Why it cannot be used; None where it can."""
        return self._absence

    def lost(self, error: Unavailable) -> Absence:
        """It could not be used; that it is away is known from the first time on."""
        with self._lock:
            since = self._absence.since if self._absence else datetime.now(UTC)
            self._absence = Absence(since, error.diagnostic)
            self._asked_at = self._clock()
            return self._absence

    def found(self) -> None:
        """It answers."""
        with self._lock:
            self._absence = None

    def look(self) -> Place:
        """How far it has come; raises `Unavailable` where it does not answer."""
        try:
            place = self._look()
        except Unavailable as error:
            self.lost(error)
            raise
        self.found()
        return place

    def _look(self) -> Place:
        """The mark is looked up where the position is another one, or some time has gone by."""
        mailbox, last, now = self.desk.mailbox, self._last, self._clock()
        position = mailbox.position()
        if last and last[0].position == position and now - last[1] < _SAME_SECONDS:
            return last[0]
        place = place_of(mailbox, position)
        self._last = (place, now)
        return place

    async def place(self) -> Place | Absence:
        """The same for a request, within the time that somebody waits for a page."""
        with self._lock:
            if self._absence and not self._may_ask():
                return self._absence
            self._asked_at = self._clock()
        self._limiter = self._limiter or anyio.CapacityLimiter(_MOST_AT_ONCE)
        with anyio.move_on_after(self.patience):
            return await anyio.to_thread.run_sync(
                self._asked, abandon_on_cancel=True, limiter=self._limiter
            )
        reason = f"it has not answered within {self.patience:g} seconds"
        return self.lost(Unavailable(STORE_UNUSABLE.at(path=self.shown, reason=reason)))

    def _may_ask(self) -> bool:
        """Whether it is time to look for a store that is away, and nobody does already."""
        return not self._is_asking and self._clock() - self._asked_at >= _ASKED_EVERY

    def _asked(self) -> Place | Absence:
        """Counted from here on: who gave up before it was her turn has never asked."""
        with self._lock:
            self._is_asking += 1
        try:
            return self.look()
        except Unavailable as error:
            return self.lost(error)
        except BrennerError as error:
            return self.lost(Unavailable(error.diagnostic))
        finally:
            with self._lock:
                self._is_asking -= 1
