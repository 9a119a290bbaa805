"""`/events`: new mail for open pages, as server-sent events.

The stream is written by hand. It must end with the server, disconnect viewers that do not read, and
send a cursor with each keepalive. The cursor is the event ID, so a browser resumes by itself after
a lost connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import deque
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.responses import JSONResponse, Response, StreamingResponse

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.diagnostics.codes.web import GUESTS_STAY
from brenner.diagnostics.model import BrennerError, Diagnostic, UnavailableError
from brenner.named_tuple import NamedTuple
from brenner.web import links
from brenner.web.auth import client_network
from brenner.web.request import GUEST_EXPIRY_SCOPE, GUEST_SCOPE
from brenner.web.sessions import (
    MailCursor,
    StoreMonitor,
    StoreOutage,
    cursor_after,
    cursor_at,
    parse_cursor,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from brenner.protocol.messages import StoredMessage

# The feed: each viewer gets every event that concerns it, exactly once


MAX_REPLAY = 500  # messages; a viewer that missed more reloads the page
_MAX_QUEUED = 1_000  # events per viewer; a slower one is disconnected, reconnects and catches up
_EMPTY: Mapping[str, object] = MappingProxyType({})


class FeedEvent(NamedTuple):
    """One event: `mail`, `reset`, `away` or `back`. A `mail` event has the cursor after it."""

    kind: str
    document: Mapping[str, object] = _EMPTY
    cursor: MailCursor | None = None
    thread_id: str | None = None
    for_guests: Mapping[str, object] | None = None  # a version with fewer details

    @property
    def text(self) -> str:
        """The event in the format of server-sent events."""
        document = json.dumps(dict(self.document), ensure_ascii=True)
        where = f"id: {self.cursor}\n" if self.cursor else ""
        return f"{where}event: {self.kind}\ndata: {document}\n\n"


def mail_event(stored: StoredMessage) -> FeedEvent:
    """Return the event for a new message, with enough fields for one sentence about it."""
    document = {
        "thread_id": stored.message.thread_id,
        "message_id": stored.id,
        "type": stored.type,
        "sender": stored.message.sender,
        "at": stored.at.isoformat(),
        "position": stored.arrival,
    }
    return FeedEvent("mail", document, cursor_after(stored), stored.message.thread_id)


class Viewer:
    """An open page that shows one thread, or all of them. `cursor` is the last event that it
    got.

    `client` is the network of the browser. `until` is the expiry of a guest link.
    """

    def __init__(
        self,
        cursor: MailCursor | None = None,
        thread_id: str | None = None,
        client: str = "",
        until: datetime | None = None,
    ) -> None:
        self.cursor = cursor
        self.thread_id = thread_id
        self.client = client
        self.until = until
        self.is_over = False
        self.queue: list[FeedEvent] = []
        self._loop = asyncio.get_running_loop()
        self._wakeup = asyncio.Event()

    def enqueue(self, event: FeedEvent) -> None:
        """Queue an event if it concerns this viewer. Only under the lock of the feed."""
        if self.until and event.for_guests is not None:
            event = event._replace(document=event.for_guests)
        if event.thread_id is None or self.thread_id in (None, event.thread_id):
            self.is_over |= len(self.queue) >= _MAX_QUEUED
            self.queue.append(event)

    def wake(self) -> None:
        """Signal that events are queued. Callable from any thread."""
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._wakeup.set)

    async def wait(self, seconds: float) -> None:
        """Wait until events are queued, or until the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wakeup.wait()
        self._wakeup.clear()


class Feed:
    """The recent events, and all viewers. Thread-safe.

    A viewer that lost its connection gets the recent events that it missed. One that missed more,
    or has seen another store, gets `reset`.
    """

    def __init__(self, max_replay: int = MAX_REPLAY) -> None:
        self._lock = threading.Lock()
        self._max_replay = max_replay
        self._before_recent = MailCursor(0)  # before the first recent event
        self._recent: deque[FeedEvent] = deque()
        self._cursor: MailCursor | None = None  # of the latest event; None until it begins
        self._outage_event: FeedEvent | None = None
        self._viewers: set[Viewer] = set()
        self._is_closed = False

    @property
    def cursor(self) -> MailCursor | None:
        """The cursor of the latest event, None before the start."""
        return self._cursor

    def __len__(self) -> int:
        return len(self._viewers)

    def count_from(self, client: str) -> int:
        with self._lock:
            return sum(each.client == client for each in self._viewers)

    def join(self, viewer: Viewer) -> None:
        """Add a viewer and queue the events that it has missed."""
        with self._lock:
            self._viewers.add(viewer)
            viewer.is_over |= self._is_closed
            if self._outage_event:
                viewer.enqueue(self._outage_event)
            if self._cursor:
                self._catch_up(viewer, self._cursor)
        viewer.wake()

    def leave(self, viewer: Viewer) -> None:
        with self._lock:
            self._viewers.discard(viewer)

    def take(self, viewer: Viewer) -> tuple[list[FeedEvent], MailCursor | None]:
        """Return and clear the queue of a viewer, with the cursor after it."""
        with self._lock:
            events, viewer.queue = viewer.queue, []
            return events, viewer.cursor

    def begin(self, before: MailCursor, recent: Iterable[FeedEvent]) -> None:
        """Start, or start again, with the recent events and the cursor before them.

        The store may have been replaced, so viewers that have seen more than it contains are reset.
        """
        with self._change():
            self._before_recent, self._recent, self._cursor = before, deque(recent), before
            if self._recent and self._recent[-1].cursor:
                self._cursor = self._recent[-1].cursor
            for viewer in self._viewers:
                # A viewer that has seen more than the store contains has seen another store.
                is_ahead = viewer.cursor and viewer.cursor.position > self._cursor.position
                self._reset(viewer) if is_ahead else self._catch_up(viewer, self._cursor)

    def publish(self, events: Iterable[FeedEvent]) -> None:
        """Deliver new events, in the order of arrival."""
        with self._change():
            for event in events:
                self._record(event)
                for viewer in self._viewers:
                    self._deliver(event, viewer)

    def publish_outage(self, outage: StoreOutage | None) -> None:
        """Report that the store cannot be reached, or (None) that it can be reached again."""
        with self._change():
            is_change = outage or self._outage_event
            event = FeedEvent("back")
            if outage:
                for_guests = outage.for_guests().to_json()
                event = FeedEvent("away", outage.to_json(), for_guests=for_guests)
            self._outage_event = event if outage else None
            for viewer in self._viewers if is_change else ():
                viewer.enqueue(event)

    def reset(self, viewer: Viewer) -> None:
        """Reset a viewer that has seen another store."""
        with self._change():
            self._reset(viewer)

    def disconnect_all(self, *, is_closed: bool = False) -> None:
        """End all streams; if the feed `is_closed`, also those that begin later.

        Otherwise the viewers reconnect, which starts a new watcher.
        """
        with self._change():
            self._is_closed |= is_closed
            for viewer in self._viewers:
                viewer.is_over = True

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Hold the lock, then wake the viewers."""
        with self._lock:
            yield
            for viewer in self._viewers:
                viewer.wake()

    def _record(self, event: FeedEvent) -> None:
        self._recent.append(event)
        self._cursor = event.cursor
        while len(self._recent) > self._max_replay:
            self._before_recent = self._recent.popleft().cursor or self._before_recent

    @staticmethod
    def _deliver(event: FeedEvent, viewer: Viewer) -> None:
        """Queue an event unless the viewer has it already: its page may be ahead of the feed."""
        if event.cursor and (
            viewer.cursor is None or event.cursor.position > viewer.cursor.position
        ):
            viewer.cursor = event.cursor
            viewer.enqueue(event)

    def _reset(self, viewer: Viewer) -> None:
        """Replace the queue of a viewer with `reset`."""
        viewer.queue.clear()
        viewer.cursor = self._cursor
        viewer.enqueue(FeedEvent("reset", cursor=self._cursor))

    def _catch_up(self, viewer: Viewer, current: MailCursor) -> None:
        seen = viewer.cursor
        if seen is None:
            viewer.cursor = current
            return
        if not self._is_recent(seen, current):
            self._reset(viewer)
            return
        for each in list(self._recent)[max(0, seen.position - self._before_recent.position) :]:
            self._deliver(each, viewer)

    def _is_recent(self, seen: MailCursor, current: MailCursor) -> bool:
        """Return whether the cursor is of this store and recent enough to resume from.

        A cursor ahead of the feed has been checked against the mailbox before.
        """
        behind = current.position - seen.position
        if behind < 0:
            return True
        if behind > len(self._recent):
            return False
        if behind == len(self._recent):
            return seen.matches(self._before_recent)
        then = self._recent[-behind - 1].cursor
        return then is None or seen.matches(then)


# The watcher: one thread polls the mailbox while there are viewers


_POLL_SECONDS = 1.0  # how soon it notices a stop request, or that no viewer is left
_RETRY_SECONDS = 0.5  # between two attempts while the store is away
_MAX_IDLE_POLLS = 30  # without a viewer, after which the thread ends
_RECHECK_POLLS = 10  # without new mail, after which the store is checked for replacement


class MailWatcher:
    """A thread that watches the mailbox for all viewers, and ends after the last one has left."""

    def __init__(self, store: StoreMonitor, feed: Feed) -> None:
        self._store = store
        self._feed = feed
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop_requested = threading.Event()
        self._cursor = MailCursor(0)
        self._is_away = False
        self._idle_polls = 0  # without a viewer
        self._quiet_polls = 0  # without new mail

    def start(self) -> None:
        """Start the thread, unless it runs."""
        with self._lock:
            self._idle_polls = 0
            if self._thread is None and not self._stop_requested.is_set():
                self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Request the end of the thread; `join` waits for it."""
        self._stop_requested.set()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, or until the timeout."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _run(self) -> None:
        try:
            while not self._stop_requested.is_set() and not self._stop_if_idle():
                self._watch()
        except Exception:
            if self._stop_requested.is_set():  # the mailbox was closed
                return
            logging.getLogger(__name__).exception("the watcher has ended")
            with self._lock:
                self._thread = None
            self._feed.disconnect_all()

    def _stop_if_idle(self) -> bool:
        """Return whether the thread ends, as no viewer is left. A later one starts a new thread."""
        with self._lock:
            if not self._is_idle:
                return False
            self._thread = None
            return True

    @property
    def _is_idle(self) -> bool:
        return not len(self._feed) and self._idle_polls >= _MAX_IDLE_POLLS

    def _watch(self) -> None:
        """Poll until the store is lost or replaced, or no viewer is left."""
        try:
            self._resync()
            while not self._stop_requested.is_set() and not self._is_idle and self._poll():
                pass
        except UnavailableError as error:
            outage = self._store.mark_lost(error)
            if not self._is_away:
                self._feed.publish_outage(outage)
            self._is_away = True
            self._idle_polls = 0 if len(self._feed) else self._idle_polls + 1
            self._stop_requested.wait(_RETRY_SECONDS)

    def _resync(self) -> None:
        """Read the recent messages and let the viewers catch up."""
        mailbox = self._store.workspace.mailbox
        first = max(0, mailbox.position() - MAX_REPLAY)
        before, stored = cursor_at(mailbox, first), mailbox.arrivals(first)
        self._cursor = cursor_after(stored[-1]) if stored else before
        self._store.mark_found()
        self._feed.begin(before, [mail_event(each) for each in stored])
        self._feed.publish_outage(None)
        self._is_away, self._quiet_polls = False, 0

    def _poll(self) -> bool:
        """Wait for new messages and publish them. Return False if they are too many, or if they do
        not follow the last known one.
        """
        self._idle_polls = 0 if len(self._feed) else self._idle_polls + 1
        mailbox, current = self._store.workspace.mailbox, self._cursor
        position = mailbox.wait(current.position, _POLL_SECONDS)
        self._quiet_polls += 1
        if position == current.position and self._quiet_polls < _RECHECK_POLLS:
            return True
        self._quiet_polls = 0
        if position - current.position > MAX_REPLAY:
            return False
        new = mailbox.arrivals(max(0, current.position - 1))
        if current.position:
            if not new or not current.matches(cursor_after(new[0])):
                return False
            new = new[1:]
        if new:
            self._feed.publish([mail_event(each) for each in new])
            self._cursor = cursor_after(new[-1])
        return True


MAX_VIEWERS = 500
# Per client, so that others get through. All clients behind a local proxy are this machine.
MAX_PER_CLIENT, MAX_LOCAL = 100, 400
_KEEPALIVE_SECONDS = 15.0
_RECONNECT_MS = 2_000  # until a browser reconnects
_SHUTDOWN_SECONDS = 3.0
_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",  # a buffering proxy would delay the events
}


class EventStreams:
    most_viewers = MAX_VIEWERS
    most_of_one = MAX_PER_CLIENT
    most_of_this = MAX_LOCAL

    def __init__(self, store: StoreMonitor) -> None:
        self._store = store
        self.feed = Feed()
        self._watcher = MailWatcher(store, self.feed)

    async def endpoint(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(headers=_HEADERS)
        client = client_of(request)
        limit = self.most_of_this if client == _LOCALHOST else self.most_of_one
        if len(self.feed) >= self.most_viewers or self.feed.count_from(client) >= limit:
            return _error_response(HTTPStatus.SERVICE_UNAVAILABLE, SERVER_BUSY.at())
        thread_id = request.query_params.get("thread") or None
        allowed = request.scope.get(GUEST_SCOPE)
        if allowed is not None and thread_id not in allowed:
            where = " or ".join(links.session(each) for each in sorted(allowed))
            return _error_response(HTTPStatus.FORBIDDEN, GUESTS_STAY.at(session=where))
        last_id = request.headers.get("last-event-id") or request.query_params.get("after", "")
        until = request.scope.get(GUEST_EXPIRY_SCOPE, {}).get(thread_id)
        viewer = Viewer(parse_cursor(last_id), thread_id, client, until)
        # A viewer whose cursor cannot be parsed must reload.
        is_unread = bool(last_id) and viewer.cursor is None
        return _EventStream(self, viewer, is_unread or await self._is_foreign(viewer.cursor))

    def close_streams(self) -> None:
        """End all streams before the server stops."""
        self._watcher.stop()
        self.feed.disconnect_all(is_closed=True)

    async def ended(self) -> None:
        """Wait until the watcher no longer reads the mailbox."""
        await anyio.to_thread.run_sync(self._watcher.join, _SHUTDOWN_SECONDS)

    def watch(self) -> None:
        self._watcher.start()

    async def _is_foreign(self, seen: MailCursor | None) -> bool:
        """Return whether a viewer has seen more than the store contains, so it was another
        store.

        A page can be ahead of the watcher, but not of the mailbox.
        """
        current = self.feed.cursor
        if seen is None or current is None or seen.position <= current.position:
            return False
        with suppress(BrennerError):
            there = await anyio.to_thread.run_sync(self._store.workspace.mailbox.position)
            return seen.position > there
        return False


_LOCALHOST = "this machine"


def client_of(request: Request) -> str:
    """Return the network of the client; one name for this machine."""
    host = request.client.host if request.client else ""
    where = client_network(host)
    return _LOCALHOST if host == "::1" or where.startswith("127.") else where


def _error_response(status: int, found: Diagnostic) -> Response:
    detail = {"detail": f"{found.id}: {found.message} {found.fix}"}
    return JSONResponse(detail, status, {"Retry-After": "30"})


class _EventStream(StreamingResponse):
    """A response that lasts as long as the page is open."""

    def __init__(self, streams: EventStreams, viewer: Viewer, is_foreign: bool) -> None:
        super().__init__(self._stream(), headers=_HEADERS)
        self._streams, self._viewer = streams, viewer
        self._is_foreign = is_foreign

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Register the viewer, stream, and remove the viewer however the stream ends."""
        feed = self._streams.feed
        feed.join(self._viewer)
        if self._is_foreign:
            feed.reset(self._viewer)
        self._streams.watch()
        try:
            await super().__call__(scope, receive, send)
        finally:
            feed.leave(self._viewer)

    async def _stream(self) -> AsyncIterator[str]:
        feed, viewer = self._streams.feed, self._viewer
        yield f"retry: {_RECONNECT_MS}\n\n"
        while not viewer.is_over and (seconds := _seconds_left(viewer)) > 0:
            events, cursor = feed.take(viewer)
            # A comment and the cursor: an ID without data is no event, but browsers store it.
            keepalive = f": here\nid: {cursor}\n\n" if cursor else ": here\n\n"
            yield "".join(each.text for each in events) + keepalive
            await viewer.wait(min(_KEEPALIVE_SECONDS, seconds))


def _seconds_left(viewer: Viewer) -> float:
    """Return the seconds until the guest link expires. Other viewers always have some left."""
    if viewer.until is None:
        return _KEEPALIVE_SECONDS
    return (viewer.until - datetime.now(UTC)).total_seconds()
