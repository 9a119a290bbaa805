"""News for everybody who looks: each viewer gets what concerns her, once, and nothing is left out.

What came in last is kept, so that a viewer whose connection was cut gets what she has missed. Who
has missed more than that, or has seen another store, is told to begin anew.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from brenner.mail.model import Stored
from brenner.web.place import Place, place_after

MOST_KEPT = 500  # messages; who has missed more loads the page anew
_MOST_WAITING = 1_000  # events for one viewer; who is slower is cut, comes back and catches up
_NOTHING: Mapping[str, object] = MappingProxyType({})


class News(NamedTuple):
    """One event: `mail`, `reset`, `away` or `back`; mail has the place after it."""

    kind: str
    document: Mapping[str, object] = _NOTHING
    place: Place | None = None
    thread_id: str | None = None
    for_guests: Mapping[str, object] | None = None  # where they are told less

    @property
    def text(self) -> str:
        """As it goes over the line."""
        document = json.dumps(dict(self.document), ensure_ascii=True)
        where = f"id: {self.place}\n" if self.place else ""
        return f"{where}event: {self.kind}\ndata: {document}\n\n"


def mail_news(stored: Stored) -> News:
    """That a message has come in; enough to say so in a sentence."""
    document = {
        "thread_id": stored.message.thread_id,
        "message_id": stored.id,
        "type": stored.type,
        "sender": stored.message.sender,
        "at": stored.at.isoformat(),
        "position": stored.arrival,
    }
    return News("mail", document, place_after(stored), stored.message.thread_id)


class Viewer:
    """Somebody who looks at a thread, or at all of them; `place` is how far she was told.

    `client` is the machine that she looks from. A guest may look `until` her link expires.
    """

    def __init__(
        self,
        place: Place | None = None,
        thread_id: str | None = None,
        client: str = "",
        until: datetime | None = None,
    ) -> None:
        self.place = place
        self.thread_id = thread_id
        self.client = client
        self.until = until
        self.is_over = False
        self.waiting: list[News] = []
        self._loop = asyncio.get_running_loop()
        self._is_told = asyncio.Event()

    def put(self, news: News) -> None:
        """Something for her. Only under the feed's lock."""
        if self.until and news.for_guests is not None:
            news = news._replace(document=news.for_guests)
        if news.thread_id is None or self.thread_id in (None, news.thread_id):
            self.is_over |= len(self.waiting) >= _MOST_WAITING
            self.waiting.append(news)

    def wake(self) -> None:
        """There is something to take; from any thread."""
        with suppress(RuntimeError):  # the loop has ended, and she with it
            self._loop.call_soon_threadsafe(self._is_told.set)

    async def told(self, seconds: float) -> None:
        """Until there is something, or the time is up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_told.wait()
        self._is_told.clear()


class Feed:
    """What came in last, and all who look. From any thread."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._lock = threading.Lock()
        self._most = most_kept
        self._before = Place(0)  # what came before the first that is kept
        self._kept: deque[News] = deque()
        self._place: Place | None = None  # how far it has come; unknown until it begins
        self._absence: News | None = None
        self._viewers: set[Viewer] = set()
        self._is_closed = False

    @property
    def place(self) -> Place | None:
        """How far it has come; None before it began."""
        return self._place

    def __len__(self) -> int:
        return len(self._viewers)

    def of(self, client: str) -> int:
        """How many look from that machine."""
        with self._lock:
            return sum(each.client == client for each in self._viewers)

    def join(self, viewer: Viewer) -> None:
        """She looks from now on; what she has missed waits for her."""
        with self._lock:
            self._viewers.add(viewer)
            viewer.is_over |= self._is_closed
            if self._absence:
                viewer.put(self._absence)
            if self._place:
                self._catch_up(viewer, self._place)
        viewer.wake()

    def leave(self, viewer: Viewer) -> None:
        """She has gone."""
        with self._lock:
            self._viewers.discard(viewer)

    def take(self, viewer: Viewer) -> tuple[list[News], Place | None]:
        """What waits for her, and how far she has been told with it."""
        with self._lock:
            taken, viewer.waiting = viewer.waiting, []
            return taken, viewer.place

    def begin(self, before: Place, kept: Iterable[News]) -> None:
        """From here on: the latest messages, and what came before them.

        A store that was watched before may be another one now: whoever has seen another is told.
        """

        def change() -> None:
            self._before, self._kept, self._place = before, deque(kept), before
            if self._kept and self._kept[-1].place:
                self._place = self._kept[-1].place
            for viewer in self._viewers:
                # Nobody who is here already can have seen more than there is.
                is_ahead = viewer.place and viewer.place.position > self._place.position
                self._reset(viewer) if is_ahead else self._catch_up(viewer, self._place)

        self._tell(change)

    def publish(self, news: Iterable[News]) -> None:
        """What has come in, in the order of arrival."""

        def change() -> None:
            for each in news:
                self._keep(each)
                for viewer in self._viewers:
                    self._pass_on(each, viewer)

        self._tell(change)

    def away(
        self, document: Mapping[str, object], for_guests: Mapping[str, object] | None = None
    ) -> None:
        """The store cannot be reached."""

        def change() -> None:
            self._absence = News("away", document, for_guests=for_guests)
            for viewer in self._viewers:
                viewer.put(self._absence)

        self._tell(change)

    def back(self) -> None:
        """It can be again."""

        def change() -> None:
            if self._absence:
                self._absence = None
                for viewer in self._viewers:
                    viewer.put(News("back"))

        self._tell(change)

    def reset(self, viewer: Viewer) -> None:
        """She has seen another store."""
        with self._lock:
            self._reset(viewer)
        viewer.wake()

    def cut(self) -> None:
        """Every stream is to end; the viewers come back, and somebody watches again."""

        def change() -> None:
            for viewer in self._viewers:
                viewer.is_over = True

        self._tell(change)

    def close(self) -> None:
        """The same for good, also for those who come now."""
        self._is_closed = True
        self.cut()

    def _tell(self, change: Callable[[], None]) -> None:
        with self._lock:
            change()
            for viewer in self._viewers:
                viewer.wake()

    def _keep(self, news: News) -> None:
        self._kept.append(news)
        self._place = news.place
        while len(self._kept) > self._most:
            self._before = self._kept.popleft().place or self._before

    @staticmethod
    def _pass_on(news: News, viewer: Viewer) -> None:
        """What she has seen already is not told: her page may be ahead of us."""
        if news.place and (viewer.place is None or news.place.position > viewer.place.position):
            viewer.place = news.place
            viewer.put(news)

    def _reset(self, viewer: Viewer) -> None:
        """She is to begin anew. What waits for her is of no use any more."""
        viewer.waiting.clear()
        viewer.place = self._place
        viewer.put(News("reset", place=self._place))

    def _catch_up(self, viewer: Viewer, here: Place) -> None:
        seen = viewer.place
        if seen is None:
            viewer.place = here
            return
        if not self._has_been_at(seen, here):
            self._reset(viewer)
            return
        for each in list(self._kept)[max(0, seen.position - self._before.position) :]:
            self._pass_on(each, viewer)

    def _has_been_at(self, seen: Place, here: Place) -> bool:
        """Whether what she has seen is of this store, and not too long ago.

        One who is ahead of us has been looked up in the mailbox before.
        """
        behind = here.position - seen.position
        if behind < 0:
            return True
        if behind > len(self._kept):
            return False
        if behind == len(self._kept):
            return seen.is_of(self._before)
        then = self._kept[-behind - 1].place
        return then is None or seen.is_of(then)
