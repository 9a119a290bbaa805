"""The application: the endpoint for agents, the page for people, and the gate before both."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from mcp.server import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from brenner.mcp.caller import Bindings
from brenner.server.eras import Eras
from brenner.server.failures import Failures
from brenner.server.gate import LIVENESS, Gate
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.web import links
from brenner.web.live import Live
from brenner.web.routes import routes
from brenner.web.site import Site

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
    eras = Eras(server, settings, lambda session: bool(bindings.names(session)))
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
    return Application(Gate(app, settings), close_streams)


async def _liveness(_request: Request) -> Response:
    return JSONResponse(_ALIVE)
