"""The application: the endpoint for agents, the page for people, and the gate before both."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from traceback import walk_tb
from types import FrameType, MappingProxyType
from typing import Any, NamedTuple, NoReturn

import uvicorn
from mcp.server import Server
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.serving import CUT_OFF
from brenner.diagnostics.codes.web import PAGE_FAILED
from brenner.diagnostics.model import BrennerError, Diagnostic
from brenner.mail.open import store_of
from brenner.mcp.server import Places, ServerState, build, tell_places_only
from brenner.mcp.tool import Bindings, Fetched
from brenner.server.connections import config_of
from brenner.server.http import Refusal
from brenner.server.mcp_endpoint import McpEndpoint
from brenner.server.middleware import LIVENESS, AccessMiddleware
from brenner.server.settings import CLIENTS, ENDPOINTS, ServeSettings, way_of
from brenner.services.workspace import Workspace
from brenner.web import links
from brenner.web.app import routes
from brenner.web.auth import BrowserAuth
from brenner.web.events import Live
from brenner.web.lab.login import LabAuth
from brenner.web.request import About, Client, Site, visit_of
from brenner.web.responses import diagnostic_page, refusal_page, respond, wants_json
from brenner.web.sessions import SessionRepository

# What is answered where nothing else could be: a page for browsers, JSON for programs.


_READ = "GET, HEAD"
_NOT_FOUND, _NOT_ALLOWED, _FAILED = 404, 405, 500
_HTML = "text/html"
_OURS = "brenner."
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Failures:
    """Answers for one site; the addresses of agents get JSON, whatever they say they accept."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @property
    def handlers(self) -> dict[Any, Callable[..., Any]]:
        """By what was raised."""
        return {HTTPException: self.unknown, BrennerError: self.refused, Exception: self.failed}

    async def unknown(self, request: Request, exception: HTTPException) -> Response:
        """An address that is not there, or what cannot be done there, in our words."""
        path = request.url.path
        if exception.status_code == _NOT_ALLOWED:
            allowed = _in_order((exception.headers or _NO_HEADERS).get("Allow", _READ))
            words = {"method": request.method, "path": path, "allowed": allowed}
            found = codes.METHOD_NOT_ALLOWED.at(None, **words)
            return self._answer(request, found, _NOT_ALLOWED, {"Allow": allowed})
        return self._answer(request, codes.NO_SUCH_PAGE.at(path=path), exception.status_code)

    async def refused(self, request: Request, error: BrennerError) -> Response:
        """What no page has caught."""
        return self._answer(request, error.diagnostic, refusal_page(error).status)

    async def failed(self, request: Request, error: Exception) -> Response:
        """A fault of ours. Only its place is told, and only to who runs the server."""
        tell_place(error)
        found = PAGE_FAILED.at(method=request.method, path=request.url.path)
        return self._answer(request, found, _FAILED)

    def _answer(
        self,
        request: Request,
        found: Diagnostic,
        status: int,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> Response:
        if _is_browser(request):
            page = diagnostic_page(found, status)
            response = respond(page, request, visit_of(self._site, request))
        else:
            body = Refusal(status, found).body
            response = Response(body, status, media_type="application/json")
        response.headers.update(headers)
        return response


def _in_order(methods: str) -> str:
    """What stands in a header comes from a set, in any order."""
    return ", ".join(sorted(methods.split(", ")))


def _is_browser(request: Request) -> bool:
    """Whether a person looks at a page of ours."""
    accepted = request.headers.get("accept", "")
    is_for_agents = request.url.path in ENDPOINTS
    return _HTML in accepted and not is_for_agents and not wants_json(request)


def tell_place(error: BaseException) -> None:
    """Log the last place in our own program that an exception came through, and its kind."""
    places = [
        (frame.f_globals.get("__name__", ""), line) for frame, line in walk_tb(error.__traceback__)
    ]
    ours = [place for place in places if place[0].startswith(_OURS)]
    name, line = (ours or places or [(__name__, 0)])[-1]
    logger = logging.getLogger(name)
    about = (type(error), error, error.__traceback__)
    logger.handle(logger.makeRecord(name, logging.ERROR, name, line, "failed", (), about))


# Clients of Agent Mail look for the first; the second says who it is that lives.
_ALIVE = {"status": "alive", "server": "brenner"}


class Application(NamedTuple):
    """The application, and what ends its open streams when the server is about to end."""

    asgi: ASGIApp
    close_streams: Callable[[], None]


def application(
    server: Server[Any], settings: ServeSettings, site: Site, bindings: Bindings
) -> Application:
    """The whole of it, over a server of the SDK. `bindings` are those that it knows callers by."""
    eras = McpEndpoint(server, settings, lambda session: bool(bindings.names(session)))
    live = Live(site.reading.store)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with eras.run():
            site.reading.begin()
            yield
        live.close_streams()
        await live.ended()

    def close_streams() -> None:
        eras.close_streams()
        live.close_streams()

    addresses = [
        *(Route(path, eras) for path in ENDPOINTS),
        Route(LIVENESS, _liveness),
        Route(links.EVENTS, live.endpoint, methods=["GET"]),
        *routes(site),
    ]
    handlers = Failures(site).handlers
    app = Starlette(routes=addresses, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False  # a client that is redirected may lose its body
    return Application(AccessMiddleware(app, settings), close_streams)


async def _liveness(_request: Request) -> Response:
    return JSONResponse(_ALIVE)


# The signals that end a server: Ctrl-C, a request to end, and the end of the terminal.


FINE = 0
# Whoever closes a terminal sends it, often twice; who wants a server to outlive that ignores it.
HANG_UP = getattr(signal, "SIGHUP", None)  # not on Windows
_Handler = Callable[[int, FrameType | None], None]


@contextmanager
def handled(handler: _Handler, *, with_ctrl_c: bool = True) -> Iterator[None]:
    """Whoever tells us to end is heard by the handler; only the main thread hears anything."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, *([signal.SIGINT] if with_ctrl_c else [])]
    if HANG_UP is not None and signal.getsignal(HANG_UP) is not signal.SIG_IGN:
        numbers.append(HANG_UP)
    before = {each: signal.signal(each, handler) for each in numbers}
    try:
        yield
    finally:
        for each, old in before.items():
            signal.signal(each, old)


@contextmanager
def ends_before_it_serves() -> Iterator[None]:
    """Nothing is under way yet, so it ends at once, and all is well; Ctrl-C is as everywhere."""
    with handled(_end, with_ctrl_c=False):
        yield


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(FINE)


# Memory that large requests and answers took goes back to the system when they are done.
#
# The C library of Linux learns from the first large block that is freed to keep such blocks for
# itself, each thread in a place of its own. A server whose clients ask for ten megabytes now and
# then would hold hundreds for the rest of its life.


_LARGE_BYTES = 128 * 1024
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of <malloc.h>; to set it ends the learning


def give_back_large_blocks() -> bool:
    """From now on; whether this system can be told so."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BYTES))
    except (OSError, AttributeError):  # another C library
        return False


# Runs the server until it is told to end, and then finishes what is under way.


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
    workspace: Workspace,
    settings: ServeSettings,
    listening: socket.socket,
    on_ready: Callable[[], None],
) -> int:
    """Serve the mail of a desk on that socket until somebody ends it; the exit code."""
    _write_places_only()
    give_back_large_blocks()
    _open_more_files(settings.most_connections)
    brain = ServerState(workspace, Bindings(), Fetched(), is_strict=settings.is_strict)
    app = application(build(brain), settings, site_of(workspace, settings), brain.bindings)
    Running(app, settings, on_ready).run(sockets=[listening])
    return FINE


def site_of(workspace: Workspace, settings: ServeSettings) -> Site:
    """The web pages of a desk; the store is shown without its password."""
    project, way = workspace.project, way_of(settings)
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
    door = LabAuth(workspace, settings.lab_secret) if settings.is_lab else None
    entrance = None if settings.token is None else BrowserAuth(settings.token)
    return Site(workspace, about, SessionRepository(workspace), settings.is_lab, door, entrance)


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
