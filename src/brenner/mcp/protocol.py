"""The server of the official SDK, built from our tables of tools and resources.

Nothing here knows how requests arrive. Tools are plain functions that may wait: each runs in a
worker thread, and what has begun is finished, even where whoever called has gone away.
"""

from typing import Any, NamedTuple

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from brenner import __version__
from brenner.mcp import results
from brenner.mcp.arguments import schema
from brenner.mcp.caller import Bindings, Caller, Fetched
from brenner.mcp.instructions import INSTRUCTIONS
from brenner.mcp.offers import OFFERS, Offers
from brenner.mcp.tool import Call
from brenner.mcp.workers import Workers
from brenner.services.identity import SECRET_HEADER
from brenner.services.workspace import Desk

NAME = "brenner"
STDIO = "stdio"
CHECKED_HEADER = "Brenner-Checked"
_SESSION_HEADER = "Mcp-Session-Id"
_APART = ("health_check",)  # tools that are answered however much is under way

Context = ServerRequestContext[Any, Any]


class Brain(NamedTuple):
    """What all connections share: the desk, who speaks for whom, who has seen what.

    `secret` is that of the one agent at the other end of the standard input; over HTTP it comes
    with each request.
    """

    desk: Desk
    bindings: Bindings
    fetched: Fetched
    is_strict: bool = False
    secret: str | None = None


def build(brain: Brain, offers: Offers = OFFERS) -> Server[Any]:
    """A server that offers all that. It serves any number of connections."""
    served = _Served(brain, offers)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        get_tool_input_schema=served.schemas.get,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=served.list_resources,
        on_list_resource_templates=served.list_templates,
        on_read_resource=served.read_resource,
    )
    server.middleware.clear()  # what agents say to each other is nobody's telemetry
    return server


def caller_of(brain: Brain, context: Context) -> Caller:
    """Who calls, as far as the connection tells.

    A session counts only where the transport has made sure of it: then the client was initialised
    in it. Elsewhere the header is whatever somebody has written.
    """
    known = Caller(brain.bindings, brain.fetched, is_strict=brain.is_strict)
    if context.request is None:
        return known._replace(connection=STDIO, secret=brain.secret)
    headers = context.request.headers
    is_session = (
        context.session.client_params is not None
        and context.protocol_version not in MODERN_PROTOCOL_VERSIONS
    )
    return known._replace(
        connection=headers.get(_SESSION_HEADER) if is_session else None,
        secret=headers.get(SECRET_HEADER) or None,
        is_checked=headers.get(CHECKED_HEADER, "").lower() == "true",
    )


class _Served:
    """The handlers of one server."""

    def __init__(self, brain: Brain, offers: Offers) -> None:
        self._brain = brain
        self._tools = {tool.name: tool for tool in offers.tools}
        self._resources = offers.resources
        self.schemas = {tool.name: schema(tool.arguments) for tool in offers.tools}
        self._workers = Workers()

    async def list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        listed = [
            types.Tool(
                name=tool.name,
                description=tool.about,
                input_schema=self.schemas[tool.name],
                annotations=types.ToolAnnotations(read_only_hint=True)
                if tool.is_read_only
                else None,
            )
            for tool in self._tools.values()
        ]
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = caller_of(self._brain, context)
        call = Call(self._brain.desk, caller, params.arguments or {})

        def work() -> types.CallToolResult:
            return results.called(self._tools, params.name, call)

        if params.name in _APART:
            return await self._workers.finish_apart(work)
        return await self._workers.finish(work, _client_of(context, caller))

    async def list_resources(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        listed = [
            types.Resource(
                uri=each.template,
                name=each.name,
                description=each.about,
                mime_type=results.JSON,
            )
            for each in self._resources
            if "{" not in each.template
        ]
        return types.ListResourcesResult(resources=listed)

    async def list_templates(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        listed = [
            types.ResourceTemplate(
                uri_template=each.template,
                name=each.name,
                description=each.about,
                mime_type=results.JSON,
            )
            for each in self._resources
            if "{" in each.template
        ]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller = caller_of(self._brain, context)
        call, uri = Call(self._brain.desk, caller, {}), str(params.uri)
        client = _client_of(context, caller)
        return await self._workers.finish(lambda: results.read(self._resources, uri, call), client)


def _client_of(context: Context, caller: Caller) -> str | None:
    """Whose share a call is taken from: that of the session, else of the connection.

    Whoever is alone at the other end of the standard input has no need of shares.
    """
    if context.request is None:
        return None
    where = context.request.client
    return caller.connection or (f"{where.host}:{where.port}" if where else "")
