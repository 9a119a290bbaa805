"""The application: the endpoint for agents, the page for people, and the gate before both."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from mcp.server import Server
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from brenner.diagnostics.codes import serving as codes
from brenner.mcp.caller import Bindings
from brenner.server.eras import Eras
from brenner.server.gate import LIVENESS, Gate
from brenner.server.refusals import Refusal
from brenner.server.settings import ENDPOINTS, ServeSettings
from brenner.web.routes import routes
from brenner.web.site import Site

# Clients of Agent Mail look for the first; the second says who it is that lives.
_ALIVE = {"status": "alive", "server": "brenner"}
_READ = "GET, HEAD"
_METHOD_NOT_ALLOWED = 405


class Application(NamedTuple):
    """The application, and what ends its open streams when the server is about to end."""

    asgi: ASGIApp
    close_streams: Callable[[], None]


def application(
    server: Server[Any], settings: ServeSettings, site: Site, bindings: Bindings
) -> Application:
    """The whole of it, over a server of the SDK. `bindings` are those that it knows callers by."""
    eras = Eras(server, settings, lambda session: bool(bindings.names(session)))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with eras.run():
            yield

    addresses = [
        *(Route(path, eras) for path in ENDPOINTS),
        Route(LIVENESS, _liveness),
        *routes(site),
    ]
    app = Starlette(
        routes=addresses, lifespan=lifespan, exception_handlers={HTTPException: _refused}
    )
    app.router.redirect_slashes = False  # a client that is redirected may lose its body
    return Application(Gate(app, settings), eras.close_streams)


async def _liveness(_request: Request) -> Response:
    return JSONResponse(_ALIVE)


async def _refused(request: Request, exception: Exception) -> Response:
    """An address that is not there, or what cannot be done there, in our words."""
    status = exception.status_code if isinstance(exception, HTTPException) else 500
    path = request.url.path
    found = codes.NO_SUCH_PAGE.at(path=path)
    headers = {}
    if status == _METHOD_NOT_ALLOWED:
        found = codes.METHOD_NOT_ALLOWED.at(method=request.method, path=path, allowed=_READ)
        headers = {"Allow": _READ}
    body = Refusal(status, found).body
    return Response(body, status, headers, media_type="application/json")
