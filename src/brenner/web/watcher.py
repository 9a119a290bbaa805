"""The one who watches the mailbox for all viewers: in a thread, as long as anybody looks."""

import logging
import threading

from brenner.diagnostics.model import Unavailable
from brenner.mail.model import Stored
from brenner.web.feed import MOST_KEPT, Feed, mail_news
from brenner.web.place import Place, place_after, place_of
from brenner.web.store import Store

_SLICE = 1.0  # seconds; how soon it is noticed that nobody looks any more, or that it shall end
_PAUSE = 0.5  # seconds between two looks for a store that is away
_IDLE_SLICES = 30  # without a viewer, after which it ends
_LOOKS_AGAIN = 10  # slices without news, after which it is looked whether the store is the same


class _BeginAnewError(Exception):
    """Much has come in at once, or another store is in the place of ours."""


class Watcher:
    """Tells a feed what comes in. It is started by the first viewer, and again by a later one."""

    def __init__(self, store: Store, feed: Feed) -> None:
        self._store = store
        self._feed = feed
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_told_to_end = threading.Event()
        self._here = Place(0)
        self._is_away = False
        self._idle = 0  # slices without a viewer
        self._quiet = 0  # slices without news

    def start(self) -> None:
        """Watch, if nobody does."""
        with self._lock:
            self._idle = 0
            if self._thread is None and not self._is_told_to_end.is_set():
                self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End soon; `join` waits for it."""
        self._is_told_to_end.set()

    def join(self, seconds: float) -> None:
        """Until it has ended, or the time is up."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        try:
            while not self._is_told_to_end.is_set() and not self._has_left():
                self._watch()
        except Exception:
            if self._is_told_to_end.is_set():  # the mailbox was closed meanwhile
                return
            logging.getLogger(__name__).exception("the watcher has ended")
            with self._lock:
                self._thread = None
            self._feed.cut()

    def _has_left(self) -> bool:
        """Nobody has looked for long. Who joins after this starts another one."""
        with self._lock:
            if not self._is_idle:
                return False
            self._thread = None
            return True

    @property
    def _is_idle(self) -> bool:
        return not len(self._feed) and self._idle >= _IDLE_SLICES

    def _watch(self) -> None:
        """From a beginning to the moment when the store is lost, or nobody looks any more."""
        try:
            self._begin()
            while not self._is_told_to_end.is_set() and not self._is_idle:
                self._next()
        except _BeginAnewError:
            return
        except Unavailable as error:
            absence = self._store.lost(error)
            if not self._is_away:
                self._feed.away(absence.to_json(), absence.for_guests().to_json())
            self._is_away = True
            self._idle = 0 if len(self._feed) else self._idle + 1
            self._is_told_to_end.wait(_PAUSE)

    def _begin(self) -> None:
        """Where the store is, and what came in last; viewers who were told less catch up."""
        mailbox = self._store.desk.mailbox
        first = max(0, mailbox.position() - MOST_KEPT)
        before, stored = place_of(mailbox, first), mailbox.arrivals(first)
        self._here = place_after(stored[-1]) if stored else before
        self._store.found()
        self._feed.begin(before, [mail_news(each) for each in stored])
        self._feed.back()
        self._is_away, self._quiet = False, 0

    def _next(self) -> None:
        """Wait for news, and tell of it. The last message that was told must still be there."""
        self._idle = 0 if len(self._feed) else self._idle + 1
        mailbox, here = self._store.desk.mailbox, self._here
        position = mailbox.wait(here.position, _SLICE)
        self._quiet += 1
        if position == here.position and self._quiet < _LOOKS_AGAIN:
            return
        self._quiet = 0
        if position - here.position > MOST_KEPT:
            raise _BeginAnewError
        new = _after(here, mailbox.arrivals(max(0, here.position - 1)))
        if new:
            self._feed.publish([mail_news(each) for each in new])
            self._here = place_after(new[-1])


def _after(here: Place, stored: tuple[Stored, ...]) -> tuple[Stored, ...]:
    """What came in after the message that was told last."""
    if not here.position:
        return stored
    if not stored or not here.is_of(place_after(stored[0])):
        raise _BeginAnewError
    return stored[1:]
