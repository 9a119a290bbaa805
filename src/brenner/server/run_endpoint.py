"""The MCP endpoint of a run: for its agents only, on a free port of loopback, in a thread.

It has no pages. Every request needs the run's token, and every call the secret of the agent that it
names. Both are valid only here, and end with the run.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Route

from brenner.mcp.server import build
from brenner.mcp.tool import Bindings, Caller
from brenner.server.app import UvicornServer, liveness, set_up_logging
from brenner.server.mcp_endpoint import McpEndpoint
from brenner.server.middleware import LIVENESS, AccessMiddleware
from brenner.server.settings import (
    ENDPOINTS,
    HOST,
    ServeSettings,
    address_for_agents,
    find_address,
    listen,
)
from brenner.services.identity import secret_digest
from brenner.services.workspace import workspace_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from starlette.types import ASGIApp

    from brenner.config import Project

_START_SECONDS = 30.0
_GRACE_SECONDS = 2
_TOKEN_BYTES = 32


def new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


@contextmanager
def run_endpoint(project: Project, token: str, granted: Mapping[str, str]) -> Iterator[str]:
    """Serve the agents of a run, and yield the address; `granted` are their secrets by name.

    The endpoint opens the project's mail for itself: a mailbox belongs to one thread of the caller.
    """
    set_up_logging()
    listening, port = listen(*find_address(HOST, 0))
    settings = ServeSettings(HOST, port, token, is_strict=True, grace_seconds=_GRACE_SECONDS)
    digests = {name: secret_digest(secret) for name, secret in granted.items()}
    caller = Caller(Bindings(), is_strict=True, grants=digests)
    is_ready = threading.Event()
    with workspace_in(project, None, create=False) as workspace:
        endpoint = McpEndpoint(
            build(workspace, caller), settings, lambda each: bool(caller.bindings.names(each))
        )
        application = _application(endpoint, settings)
        server = UvicornServer(application, endpoint.close_streams, settings, is_ready.set)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            is_ready.wait(_START_SECONDS)
            yield address_for_agents(settings).url
        finally:
            server.stop()
            thread.join(_START_SECONDS)
            listening.close()


def _application(endpoint: McpEndpoint, settings: ServeSettings) -> ASGIApp:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with endpoint.run():
            yield

    addresses = [*(Route(path, endpoint) for path in ENDPOINTS), Route(LIVENESS, liveness)]
    app = Starlette(routes=addresses, lifespan=lifespan)
    app.router.redirect_slashes = False  # a client that is redirected may lose its body
    return AccessMiddleware(app, settings)
