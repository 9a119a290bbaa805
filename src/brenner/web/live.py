"""`/events`: what comes in, told to whoever looks at a page, as server-sent events.

The stream is written here: it is a few lines, and it must end when our server does, be cut where a
viewer does not read, and tell with every sign of life how far she has been told. The place is each
event's id, so a browser that lost its connection says itself where to go on.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.diagnostics.codes.web import GUESTS_STAY
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.web import links
from brenner.web.feed import Feed, Viewer
from brenner.web.guests import GUEST, GUEST_UNTIL
from brenner.web.place import Place, read_place
from brenner.web.store import Store
from brenner.web.tries import machine_at
from brenner.web.watcher import Watcher

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
            there = await anyio.to_thread.run_sync(self._store.desk.mailbox.position)
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
