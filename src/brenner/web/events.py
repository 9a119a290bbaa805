"""`/events`: what comes in, told to whoever looks at a page, as server-sent events.

The stream is written here: it is a few lines, and it must end when our server does, be cut where a
viewer does not read, and tell with every sign of life how far she has been told. The place is each
event's id, so a browser that lost its connection says itself where to go on.
"""

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.diagnostics.codes.web import GUESTS_STAY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.mail.model import StoredMessage
from brenner.web import links
from brenner.web.auth import machine_at
from brenner.web.request import GUEST, GUEST_UNTIL
from brenner.web.sessions import Place, Store, place_after, place_of, read_place

# News for everybody who looks: each viewer gets what concerns her, once, and nothing is left out.
#
# What came in last is kept, so that a viewer whose connection was cut gets what she has missed. Who
# has missed more than that, or has seen another store, is told to begin anew.


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


def mail_news(stored: StoredMessage) -> News:
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


# The one who watches the mailbox for all viewers: in a thread, as long as anybody looks.


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
        except UnavailableError as error:
            absence = self._store.lost(error)
            if not self._is_away:
                self._feed.away(absence.to_json(), absence.for_guests().to_json())
            self._is_away = True
            self._idle = 0 if len(self._feed) else self._idle + 1
            self._is_told_to_end.wait(_PAUSE)

    def _begin(self) -> None:
        """Where the store is, and what came in last; viewers who were told less catch up."""
        mailbox = self._store.workspace.mailbox
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
        mailbox, here = self._store.workspace.mailbox, self._here
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


def _after(here: Place, stored: tuple[StoredMessage, ...]) -> tuple[StoredMessage, ...]:
    """What came in after the message that was told last."""
    if not here.position:
        return stored
    if not stored or not here.is_of(place_after(stored[0])):
        raise _BeginAnewError
    return stored[1:]


MOST_VIEWERS = 500
# So many from one machine, that others have places left. On this one there may be a proxy, from
# which all come.
MOST_OF_ONE, MOST_OF_THIS = 100, 400
_ALIVE_EVERY = 15.0  # seconds
_AGAIN_AFTER = 2_000  # milliseconds, after which a browser comes back
_LAST_SECONDS = 3.0
_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",  # a proxy that gathers would keep the news to itself
}


class Live:
    """The viewers of one site."""

    most_viewers = MOST_VIEWERS
    most_of_one = MOST_OF_ONE
    most_of_this = MOST_OF_THIS

    def __init__(self, store: Store) -> None:
        self._store = store
        self.feed = Feed()
        self._watcher = Watcher(store, self.feed)

    async def endpoint(self, request: Request) -> Response:
        """The stream for one viewer."""
        if request.method == "HEAD":
            return Response(headers=_HEADERS)
        client = client_of(request)
        share = self.most_of_this if client == _HERE else self.most_of_one
        if len(self.feed) >= self.most_viewers or self.feed.of(client) >= share:
            return _refused(HTTPStatus.SERVICE_UNAVAILABLE, SERVER_BUSY.at())
        thread_id = request.query_params.get("thread") or None
        allowed = request.scope.get(GUEST)
        if allowed is not None and thread_id not in allowed:
            where = " or ".join(links.session(each) for each in sorted(allowed))
            return _refused(HTTPStatus.FORBIDDEN, GUESTS_STAY.at(session=where))
        said = request.headers.get("last-event-id") or request.query_params.get("after", "")
        until = request.scope.get(GUEST_UNTIL, {}).get(thread_id)
        viewer = Viewer(read_place(said), thread_id, client, until)
        # Who says that she has seen something, and nobody knows what, begins anew.
        is_unread = bool(said) and viewer.place is None
        return _Stream(self, viewer, is_unread or await self._is_foreign(viewer.place))

    def close_streams(self) -> None:
        """The server is about to end."""
        self._watcher.stop()
        self.feed.close()

    async def ended(self) -> None:
        """Until nobody asks the mailbox any more."""
        await anyio.to_thread.run_sync(self._watcher.join, _LAST_SECONDS)

    def watch(self) -> None:
        """From now on somebody looks."""
        self._watcher.start()

    async def _is_foreign(self, seen: Place | None) -> bool:
        """Whether somebody has seen more than there is: then it was another store.

        A page can be ahead of the watcher, but not of the mailbox.
        """
        here = self.feed.place
        if seen is None or here is None or seen.position <= here.position:
            return False
        with suppress(BrennerError):
            there = await anyio.to_thread.run_sync(self._store.workspace.mailbox.position)
            return seen.position > there
        return False


_HERE = "this machine"


def client_of(request: Request) -> str:
    """The machine at the other end; who has one address of IPv6 has a whole network of them."""
    host = request.client.host if request.client else ""
    where = machine_at(host)
    return _HERE if host == "::1" or where.startswith("127.") else where


def _refused(status: int, found: Diagnostic) -> Response:
    detail = {"detail": f"{found.id}: {found.message} {found.fix}"}
    return JSONResponse(detail, status, {"Retry-After": "30"})


class _Stream(StreamingResponse):
    """An answer that lasts as long as somebody looks."""

    def __init__(self, live: Live, viewer: Viewer, is_foreign: bool) -> None:
        super().__init__(self._news(), headers=_HEADERS)
        self._live, self._viewer = live, viewer
        self._is_foreign = is_foreign

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """She counts from here on, and however it ends she has left."""
        feed = self._live.feed
        feed.join(self._viewer)
        if self._is_foreign:
            feed.reset(self._viewer)
        self._live.watch()
        try:
            await super().__call__(scope, receive, send)
        finally:
            feed.leave(self._viewer)

    async def _news(self) -> AsyncIterator[str]:
        feed, viewer = self._live.feed, self._viewer
        yield f"retry: {_AGAIN_AFTER}\n\n"
        while not viewer.is_over and (seconds := _seconds_left(viewer)) > 0:
            taken, place = feed.take(viewer)
            yield "".join(each.text for each in taken) + _sign_of_life(place)
            await viewer.told(min(_ALIVE_EVERY, seconds))


def _seconds_left(viewer: Viewer) -> float:
    """How long she may look; by her link, until it expires."""
    if viewer.until is None:
        return _ALIVE_EVERY
    return (viewer.until - datetime.now(UTC)).total_seconds()


def _sign_of_life(place: Place | None) -> str:
    """An id without data is no event, but the browser keeps it for when it comes back."""
    return f": here\nid: {place}\n\n" if place else ": here\n\n"
