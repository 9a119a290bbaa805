"""The HTTP application of `brenner serve`, and the process that runs it.

It puts the MCP endpoint and the web pages behind the access middleware, answers errors, and shuts
down on a signal after open answers are finished.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from traceback import walk_tb
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.serving import CUT_OFF
from brenner.diagnostics.codes.web import PAGE_FAILED
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.open import store_of
from brenner.mail.sealed import SealedMailbox
from brenner.mcp.server import LocationHandler, build, log_locations_only
from brenner.mcp.tool import Bindings, Caller
from brenner.server.http import Refusal
from brenner.server.mcp_endpoint import McpEndpoint
from brenner.server.middleware import LIVENESS, AccessMiddleware
from brenner.server.settings import ENDPOINTS, ServeSettings, address_for_agents
from brenner.server.signals import FINE, HANG_UP, signal_handlers
from brenner.services.client_settings import CLIENTS, OTHER
from brenner.web import links
from brenner.web.app import routes
from brenner.web.auth import BrowserAuth
from brenner.web.events import EventStreams
from brenner.web.lab.login import LabAuth
from brenner.web.request import ServerInfo, Site, make_context
from brenner.web.responses import diagnostic_page, error_page, to_response, wants_json
from brenner.web.sessions import SessionRepository

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    from mcp.server import Server
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from brenner.services.workspace import Workspace

# Error responses: a page for browsers, JSON for programs


_READ = "GET, HEAD"
_NOT_FOUND, _NOT_ALLOWED, _FAILED = 404, 405, 500
_HTML = "text/html"
_OURS = "brenner."
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def error_handlers(site: Site) -> dict[Any, Callable[..., Any]]:
    """Return the handlers by exception, as Starlette takes them.

    Addresses of agents get JSON, whatever the request accepts.
    """

    def answer(
        request: Request, found: Diagnostic, status: int, headers: Mapping[str, str] = _NO_HEADERS
    ) -> Response:
        if _is_browser(request):
            page = diagnostic_page(found, status)
            response = to_response(page, request, make_context(site, request))
        else:
            body = Refusal(status, found).body
            response = Response(body, status, media_type="application/json")
        response.headers.update(headers)
        return response

    async def unknown(request: Request, exception: HTTPException) -> Response:
        path = request.url.path
        if exception.status_code == _NOT_ALLOWED:
            methods = (exception.headers or _NO_HEADERS).get("Allow", _READ)
            allowed = ", ".join(sorted(methods.split(", ")))  # they come from a set
            words = {"method": request.method, "path": path, "allowed": allowed}
            found = codes.METHOD_NOT_ALLOWED.at(None, **words)
            return answer(request, found, _NOT_ALLOWED, {"Allow": allowed})
        return answer(request, codes.NO_SUCH_PAGE.at(path=path), exception.status_code)

    async def refused(request: Request, error: BrennerError) -> Response:
        return answer(request, error.diagnostic, error_page(error).status)

    async def failed(request: Request, error: Exception) -> Response:
        log_location(error)  # only the server's log names the place in the code
        found = PAGE_FAILED.at(method=request.method, path=request.url.path)
        return answer(request, found, _FAILED)

    return {HTTPException: unknown, BrennerError: refused, Exception: failed}


def _is_browser(request: Request) -> bool:
    """Return whether a browser asks for one of our pages."""
    accepted = request.headers.get("accept", "")
    is_for_agents = request.url.path in ENDPOINTS
    return _HTML in accepted and not is_for_agents and not wants_json(request)


def log_location(error: BaseException) -> None:
    """Log the type of an exception and the last line of our own code that it passed through."""
    places = [
        (frame.f_globals.get("__name__", ""), line) for frame, line in walk_tb(error.__traceback__)
    ]
    ours = [place for place in places if place[0].startswith(_OURS)]
    name, line = (ours or places or [(__name__, 0)])[-1]
    logger = logging.getLogger(name)
    about = (type(error), error, error.__traceback__)
    logger.handle(logger.makeRecord(name, logging.ERROR, name, line, "failed", (), about))


# Clients of Agent Mail look for `status`; `server` says which program answers.
_ALIVE = {"status": "alive", "server": "brenner"}


def application(
    server: Server[Any], settings: ServeSettings, site: Site, bindings: Bindings
) -> tuple[ASGIApp, Callable[[], None]]:
    """Build the application over a server of the SDK. `bindings` identify its callers.

    Return also a function that closes its open streams before shutdown.
    """
    mcp_endpoint = McpEndpoint(server, settings, lambda session: bool(bindings.names(session)))
    live = EventStreams(site.reading.store)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp_endpoint.run():
            site.reading.begin()
            yield
        live.close_streams()
        await live.ended()

    def close_streams() -> None:
        mcp_endpoint.close_streams()
        live.close_streams()

    addresses = [
        *(Route(path, mcp_endpoint) for path in ENDPOINTS),
        Route(LIVENESS, liveness),
        Route(links.EVENTS, live.endpoint, methods=["GET"]),
        *routes(site),
    ]
    app = Starlette(routes=addresses, lifespan=lifespan, exception_handlers=error_handlers(site))
    app.router.redirect_slashes = False  # a client that is redirected may lose its body
    return AccessMiddleware(app, settings), close_streams


async def liveness(_request: Request) -> Response:
    return JSONResponse(_ALIVE)


# Running


CUT, INTERRUPTED = 3, 130
_LAST_SECONDS = 2.0  # to put things away, once the time for what was under way is over
_KEEP_ALIVE_SECONDS = 75  # longer than agents' programs keep an unused connection
_TICK_SECONDS = 0.1
_TICKS = 864_000
_OTHER_FILES = 200


class UvicornServer(uvicorn.Server):
    """uvicorn's server with our shutdown: close streams, finish answers, exit with code 0."""

    def __init__(
        self,
        app: ASGIApp,
        close_streams: Callable[[], None],
        settings: ServeSettings,
        on_ready: Callable[[], None],
    ) -> None:
        super().__init__(_config(app, settings))
        self._close_streams = close_streams
        self._grace = settings.grace_seconds
        self._on_ready = on_ready
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call `on_ready`."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def main_loop(self) -> None:
        """Run uvicorn's ticks, and wake at once when shutdown is requested."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks = (ticks + 1) % _TICKS
            try:
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._told.wait()
            except TimeoutError:
                continue

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down within the time limit."""
        self._close_streams()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Request shutdown. Any thread may call it."""
        self.should_exit = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._told.set)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop the server on the first signal, end the process on the second."""
        with signal_handlers(self._on_signal):
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
        """Exit with an error after the timeout: a store hangs, so some requests got no answer."""
        found = CUT_OFF.at(seconds=self._grace)
        sys.stderr.write(f"brenner  {found.severity} {found.id}  {found.message}  → {found.fix}\n")
        sys.stderr.flush()
        os._exit(CUT)


def _config(app: ASGIApp, settings: ServeSettings) -> uvicorn.Config:
    """Return uvicorn's configuration: no log, and no trust in proxy headers."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=settings.most_connections + 1,  # the first number that is too many
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.grace_seconds,
    )


def serve(
    workspace: Workspace,
    settings: ServeSettings,
    listening: socket.socket,
    on_ready: Callable[[], None],
) -> int:
    """Serve a workspace on that socket until a signal arrives. Return the exit code."""
    set_up_logging()
    _raise_file_limit(settings.most_connections)
    known = Caller(Bindings(), is_strict=settings.is_strict, is_open=settings.is_open)
    server = build(workspace, known)
    app = application(server, settings, site_of(workspace, settings), known.bindings)
    UvicornServer(*app, settings, on_ready).run(sockets=[listening])
    return FINE


def site_of(workspace: Workspace, settings: ServeSettings) -> Site:
    """Return the web site of a workspace. The store's address is shown without its password."""
    project, way = workspace.project, address_for_agents(settings)
    about = ServerInfo(
        name=project.folder.name or str(project.folder),
        folder=str(project.folder),
        store=store_of(project).shown,
        endpoint=way.url,
        is_strict=settings.is_strict,
        wants_token=way.wants_token,
        clients=tuple((name, way.command(name, write=name != OTHER)) for name in CLIENTS),
        remark=way.remark,
    )
    door = LabAuth(workspace, settings.lab_secret) if settings.is_lab else None
    entrance = None if settings.token is None else BrowserAuth(settings.token)
    reading = SessionRepository(workspace)
    readers = workspace._replace(mailbox=SealedMailbox(workspace.mailbox, _no_name))
    return Site(
        readers,
        about,
        SessionRepository(readers, reading.store),
        settings.is_lab,
        door,
        entrance,
        (workspace, reading),
    )


def _no_name() -> None:
    """Return no name: without a login, the reader of a page is unknown."""


def set_up_logging() -> None:
    """Reduce the libraries' logs to locations: their messages may quote a request."""
    log_locations_only()
    logging.basicConfig(handlers=[LocationHandler(logging.ERROR)], level=logging.ERROR, force=True)


def _raise_file_limit(wanted: int) -> None:
    """Raise the limit of open files: many systems allow fewer than we allow connections."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + _OTHER_FILES
    limit = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
