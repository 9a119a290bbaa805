"""Runs the server until it is told to end, and then finishes what is under way."""

import asyncio
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from brenner.diagnostics.codes.serving import CUT_OFF
from brenner.mail.open import store_of
from brenner.mcp.caller import Bindings, Fetched
from brenner.mcp.logs import Places, tell_places_only
from brenner.mcp.protocol import Brain, build
from brenner.server.app import Application, application
from brenner.server.connecting import CLIENTS, way_of
from brenner.server.connections import config_of
from brenner.server.ending import FINE, HANG_UP, handled
from brenner.server.memory import give_back_large_blocks
from brenner.server.settings import ServeSettings
from brenner.services.workspace import Desk
from brenner.web.entrance import Entrance
from brenner.web.lab.door import Door
from brenner.web.reading import Reading
from brenner.web.site import About, Client, Site

CUT, INTERRUPTED = 3, 130
_LAST_SECONDS = 2.0  # to put things away, once the time for what was under way is over
_TICK_SECONDS = 0.1
_TICKS = 864_000
_OTHER_FILES = 200


class Running(uvicorn.Server):
    """uvicorn's server, with our way to end: streams first, answers finished, exit code 0."""

    def __init__(
        self, app: Application, settings: ServeSettings, on_ready: Callable[[], None]
    ) -> None:
        config = config_of(settings)
        config.app = app.asgi
        super().__init__(config)
        self._application = app
        self._grace = settings.grace_seconds
        self._on_ready = on_ready
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin; then say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def main_loop(self) -> None:
        """Until somebody says that it is enough; that is noticed at once."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks = (ticks + 1) % _TICKS
            try:
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._told.wait()
            except TimeoutError:
                continue

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, within the time that there is for it."""
        self._application.close_streams()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """End soon; from any thread."""
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._told.set)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal ends the server; one more ends the process at once."""
        with handled(self._on_signal):
            yield

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.should_exit and number == HANG_UP:
            return
        if self.should_exit:
            os._exit(INTERRUPTED)
        last = threading.Timer(self._grace + _LAST_SECONDS, self._give_up)
        last.daemon = True
        last.start()
        self.stop()

    def _give_up(self) -> None:
        """A store that hangs cannot be waited for; nobody who got no answer is told that all is
        well.
        """
        found = CUT_OFF.at(seconds=self._grace)
        sys.stderr.write(f"brenner  {found.severity} {found.id}  {found.message}  → {found.fix}\n")
        sys.stderr.flush()
        os._exit(CUT)


def serve(
    desk: Desk,
    settings: ServeSettings,
    listening: socket.socket,
    on_ready: Callable[[], None],
) -> int:
    """Serve the mail of a desk on that socket until somebody ends it; the exit code."""
    _write_places_only()
    give_back_large_blocks()
    _open_more_files(settings.most_connections)
    brain = Brain(desk, Bindings(), Fetched(), is_strict=settings.is_strict)
    app = application(build(brain), settings, site_of(desk, settings), brain.bindings)
    Running(app, settings, on_ready).run(sockets=[listening])
    return FINE


def site_of(desk: Desk, settings: ServeSettings) -> Site:
    """The web pages of a desk; the store is shown without its password."""
    project, way = desk.project, way_of(settings)
    about = About(
        name=project.folder.name or str(project.folder),
        folder=str(project.folder),
        store=store_of(project).shown,
        endpoint=way.url,
        is_strict=settings.is_strict,
        wants_token=way.wants_token,
        clients=tuple(Client(name, way.command(name)) for name in CLIENTS),
        remark=way.remark,
    )
    door = Door(desk, settings.lab_secret) if settings.is_lab else None
    entrance = None if settings.token is None else Entrance(settings.token)
    return Site(desk, about, Reading(desk), settings.is_lab, door, entrance)


def _write_places_only() -> None:
    """Whatever a library writes to its log may quote a request; only the place is told."""
    tell_places_only()
    logging.basicConfig(handlers=[Places(logging.ERROR)], level=logging.ERROR, force=True)


def _open_more_files(wanted: int) -> None:
    """A connection is an open file; many systems allow fewer of them than we allow connections."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + _OTHER_FILES
    limit = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
