"""Sessions that stay in memory: all who look at one share it, and a new message costs what is new.

Page functions run in several threads. One of them works a session out, those who want the same one
wait for it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from brenner.mail.model import Stored
from brenner.services.sessions import Followed
from brenner.services.workspace import Desk
from brenner.web.place import Place, place_after, place_of

MOST_SESSIONS = 100
MOST_MESSAGES = 40_000  # of all of them together


class _Session(Protocol):
    followed: Followed


_S = TypeVar("_S", bound=_Session)


class _Slot(Generic[_S]):
    """A session, and the place up to which it has all mail."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: _S | None = None
        self.place = Place(0)


class Kept(Generic[_S]):
    """The sessions that were looked at last. `make` makes one, or one from the one before."""

    def __init__(
        self, desk: Desk, make: Callable[[Desk, str, _S | None, Sequence[Stored]], _S]
    ) -> None:
        self._desk = desk
        self._make = make
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot[_S]] = OrderedDict()

    def __contains__(self, thread_id: object) -> bool:
        return thread_id in self._slots

    def get(self, thread_id: str, place: Place) -> _S:
        """A session with all mail up to there, perhaps with more; an unknown one is refused."""
        with self._lock:
            slot = self._slots.setdefault(thread_id, _Slot())
            self._slots.move_to_end(thread_id)
        try:
            with slot.lock:
                slot.session = session = self._current(slot, thread_id, place)
        finally:
            with self._lock:
                if slot.session is None and self._slots.get(thread_id) is slot:
                    del self._slots[thread_id]
                self._make_room()
        return session

    def _current(self, slot: _Slot[_S], thread_id: str, place: Place) -> _S:
        before = slot.session
        if before is None or not self._is_same_store(slot.place, place):
            slot.session = None
            session = self._make(self._desk, thread_id, None, ())
            slot.place = _further(place, session.followed.stored)
            return session
        if place.position <= slot.place.position:
            return before
        found = self._desk.mailbox.thread_arrivals(thread_id, slot.place.position)
        news = [each for each in found if each.arrival <= place.position]
        session = self._make(self._desk, thread_id, before, news) if news else before
        slot.place = place
        return session

    def _is_same_store(self, then: Place, now: Place) -> bool:
        """Whether what was read is of the store that is there now."""
        if then.position == now.position:
            return then.is_of(now)
        mailbox = self._desk.mailbox
        if then.position > now.position and mailbox.position() < then.position:
            return False
        return then.is_of(place_of(mailbox, then.position))

    def _make_room(self) -> None:
        """The ones that nobody has looked at for longest go."""
        sizes = {name: _size(slot) for name, slot in self._slots.items()}
        held = sum(sizes.values())
        for name in list(self._slots)[:-1]:
            if len(self._slots) <= MOST_SESSIONS and held <= MOST_MESSAGES:
                return
            held -= sizes[name]
            del self._slots[name]


def _size(slot: _Slot[_S]) -> int:
    return len(slot.session.followed.stored) if slot.session else 0


def _further(place: Place, stored: Sequence[Stored]) -> Place:
    """What was read may be more than was asked for."""
    last = max(stored, key=lambda each: each.arrival)
    return place if last.arrival <= place.position else place_after(last)
