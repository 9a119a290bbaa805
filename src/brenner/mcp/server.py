"""The server of the official SDK, built from our tables of tools and resources.

Nothing here knows how requests arrive. Tools are plain functions that may wait: each runs in a
worker thread, and what has begun is finished, even where whoever called has gone away.
"""

import json
import logging
import secrets
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, NoReturn, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from brenner import __version__
from brenner.diagnostics.codes import serving as codes
from brenner.diagnostics.codes.serving import UNKNOWN_RESOURCE
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.mcp import errors as told
from brenner.mcp import resources, tools_agents
from brenner.mcp import tools_mail as mail_tools
from brenner.mcp import tools_session as own_tools
from brenner.mcp.arguments import find, read_arguments, schema, unknown
from brenner.mcp.framing import HOW_FRAMES_LOOK
from brenner.mcp.tool import Answer, Bindings, Call, Caller, Fetched, Resource, Tool
from brenner.services.identity import SECRET_HEADER
from brenner.services.workspace import Workspace
from brenner.text import closest, did_you_mean

# One call from its raw arguments to its answer. Whatever happens, there is an answer.
#
# A wrong call, a refusal and a broken store are answers that the agent can act on. What nobody
# expected is a fault of ours: the agent learns that it is not hers, and the log where it happened.


_NOT_YOURS = "It is an internal error of the server or of its store; your call is not wrong."
_FAULT = "brenner: {reference}: {kind} in `{where}`, a fault of the program\n{frames}"


class Failed(Exception):
    """A resource that could not be read; `is_ours` if nothing is wrong with the address."""

    def __init__(self, faults: Sequence[Diagnostic], *, is_ours: bool = False) -> None:
        super().__init__(faults[0].message)
        self.faults = tuple(map(told.in_tools, faults))
        self.is_ours = is_ours


def call_tool(tools: Mapping[str, Tool], name: str, call: Call) -> Answer:
    """What the tool answers; the arguments of the call are as they were given."""
    tool = tools.get(name)
    if tool is None:
        suggestion = did_you_mean(closest(name, tools))
        found = codes.UNKNOWN_TOOL.at(tool=name, suggestion=suggestion)
        return told.refused([found])._replace(text=f"{found.message}\n{found.fix}")
    try:
        reading = read_arguments(name, tool.arguments, call.arguments)
        if reading.faults:
            return told.refused(reading.faults)
        return tool.run(call._replace(arguments=reading.arguments))
    except BrennerError as error:
        answer = told.failed(error)
        is_ours = isinstance(error, UnavailableError)
        return answer._replace(text=f"{answer.text}\n{_NOT_YOURS}") if is_ours else answer
    except Exception as exception:  # noqa: BLE001  (a fault of one call is not the end of all)
        return told.refused([fault(name, exception)])


def read_resource(resources: Sequence[Resource], uri: str, call: Call) -> object:
    """What stands at the address; `Failed` if there is nothing to read."""
    found = find(resources, uri)
    if found is None:
        raise Failed([unknown(resources, uri)])
    if found.faults:
        raise Failed(found.faults)
    try:
        return found.resource.read(call._replace(arguments=found.arguments))
    except RequestError as refused:
        raise Failed([refused.diagnostic]) from None
    except BrennerError as error:
        raise Failed([error.diagnostic], is_ours=True) from None
    except Exception as exception:  # noqa: BLE001  (as above)
        _raise_fault(found.resource.template, exception)


def _raise_fault(where: str, exception: Exception) -> NoReturn:
    raise Failed([fault(where, exception)], is_ours=True) from None


def fault(where: str, exception: Exception) -> Diagnostic:
    """What nobody expected; where it happened is written to the standard error.

    Only places in the program are: what an exception says may quote a message, or a secret.
    """
    reference = f"fault-{secrets.token_hex(4)}"
    kind = type(exception).__name__
    frames = "".join(traceback.format_tb(exception.__traceback__))
    sys.stderr.write(_FAULT.format(reference=reference, kind=kind, where=where, frames=frames))
    sys.stderr.flush()
    return codes.TOOL_FAILED.at(where=where, kind=kind, reference=reference)


# Answers as the protocol has them.
#
# A tool's answer has its value twice, as the real Agent Mail server gives it: as JSON text for
# those
# who read, and as structured content for programs. What must not be missed is a text behind it. A
# resource is one JSON text.


JSON = "application/json"


def called(tools: Mapping[str, Tool], name: str, call: Call) -> types.CallToolResult:
    """Call a tool; what comes of it. An answer that cannot be written down is a fault of ours."""
    answer = call_tool(tools, name, call)
    try:
        return result_of(answer)
    except (TypeError, ValueError, RecursionError) as exception:
        return result_of(told.refused([fault(name, exception)]))


def result_of(answer: Answer) -> types.CallToolResult:
    """An answer; a list is wrapped, and an empty one has no text."""
    value = answer.value
    is_list = isinstance(value, list | tuple)
    text = _written(value)
    wrapped = {"result": list(value)} if isinstance(value, list | tuple) else value
    shown = text if answer.text is None else _whole(answer.text)
    is_empty = is_list and not value and answer.text is None
    notes = _whole("\n".join(answer.notes))
    texts = [*([] if is_empty else [shown]), *([notes] if notes else [])]
    return types.CallToolResult(
        content=[types.TextContent(text=each) for each in texts],
        structured_content=wrapped,
        is_error=answer.is_error,
    )


def read(resources: Sequence[Resource], uri: str, call: Call) -> types.ReadResourceResult:
    """Read a resource; what cannot be read is an error of the protocol, in our words."""
    try:
        text = _written(read_resource(resources, uri, call))
    except Failed as failed:
        raise _error(failed) from None
    except (TypeError, ValueError, RecursionError) as exception:
        raise _error(Failed([fault(uri, exception)], is_ours=True)) from None
    contents = types.TextResourceContents(uri=uri, mime_type=JSON, text=text)
    return types.ReadResourceResult(contents=[contents])


def _error(failed: Failed) -> MCPError:
    code = types.INTERNAL_ERROR if failed.is_ours else types.INVALID_PARAMS
    message = "\n".join(map(_said, failed.faults))
    return MCPError(code=code, message=message, data=told.document(failed.faults))


def _said(found: Diagnostic) -> str:
    """In our words; that there is no such resource in those of Agent Mail, which clients know."""
    if found.code is UNKNOWN_RESOURCE:
        return f"{found.message} {found.fix}"
    return told.line_of(found)


def _written(value: object) -> str:
    return _whole(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _whole(text: str) -> str:
    """The text, if it can be sent at all: half a character would take the connection down."""
    text.encode()
    return text


# What an agent is told of the server before anything else.


INSTRUCTIONS = " ".join(
    (
        "Brenner: a research group that works by mail on one shared artifact.",
        "(1) `register_agent` once, with the name that you were given, your program and model;",
        "keep the `registration_token`.",
        "(2) `brenner_task` says what you owe in a thread: your role, the round, open critiques.",
        "(3) `brenner_artifact` shows the latest version, whole or in parts.",
        "(4) `brenner_post` sends your contribution as structured arguments. Only what is posted",
        "so, or under `DELTA[gpt]: …` (your model's shorthand, not your role), gets into the",
        "artifact.",
        "An answer with isError did nothing, unless it says otherwise: each problem names its fix,",
        "and `brenner_explain` explains its code. Mend it and call again.",
        "In what `brenner_…` tools answer:",
        HOW_FRAMES_LOOK,
    )
)


# Everything that the server offers to agents, put together from one table per subject.


class Offers(NamedTuple):
    """The tools in the order in which they are listed, and the resources."""

    tools: tuple[Tool, ...]
    resources: tuple[Resource, ...]


OFFERS = Offers(
    (
        *own_tools.TOOLS,
        *tools_agents.AGENT_TOOLS_TOOLS,
        *mail_tools.TOOLS,
        *tools_agents.TOOLS,
    ),
    resources.RESOURCES,
)


# The threads in which calls are worked off: so many for all, and no more than a share for one.
#
# Somebody who asks for much at once waits for herself. Whether the server is well is answered apart
# from all that: it is asked when nothing else is.


_MOST_AT_ONCE = 16
_SHARE = 4
_MOST_APART = 4

T = TypeVar("T")


class Workers:
    """The threads of one server."""

    def __init__(self) -> None:
        self._all = anyio.CapacityLimiter(_MOST_AT_ONCE)
        self._apart = anyio.CapacityLimiter(_MOST_APART)
        self._shares: dict[str, anyio.Semaphore] = {}
        self._users: Counter[str] = Counter()

    async def finish(self, work: Callable[[], T], client: str | None) -> T:
        """Do it in a thread. A call that is cancelled while it waits for its turn is not begun;
        one that has begun ends, and its answer is dropped. Without a client nobody else is there.
        """
        if client is None:
            return await anyio.to_thread.run_sync(work, limiter=self._all)
        async with self._share_of(client):
            return await anyio.to_thread.run_sync(work, limiter=self._all)

    async def finish_apart(self, work: Callable[[], T]) -> T:
        """The same for what takes no time, and waits for nothing of that."""
        return await anyio.to_thread.run_sync(work, limiter=self._apart)

    @asynccontextmanager
    async def _share_of(self, client: str) -> AsyncIterator[None]:
        share = self._shares.setdefault(client, anyio.Semaphore(_SHARE))
        self._users[client] += 1
        try:
            async with share:
                yield
        finally:
            self._users[client] -= 1
            if not self._users[client]:
                del self._users[client], self._shares[client]


NAME = "brenner"
STDIO = "stdio"
CHECKED_HEADER = "Brenner-Checked"
_SESSION_HEADER = "Mcp-Session-Id"
_APART = ("health_check",)  # tools that are answered however much is under way

Context = ServerRequestContext[Any, Any]


class ServerState(NamedTuple):
    """What all connections share: the desk, who speaks for whom, who has seen what.

    `secret` is that of the one agent at the other end of the standard input; over HTTP it comes
    with each request.
    """

    workspace: Workspace
    bindings: Bindings
    fetched: Fetched
    is_strict: bool = False
    secret: str | None = None


def build(brain: ServerState, offers: Offers = OFFERS) -> Server[Any]:
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


def caller_of(brain: ServerState, context: Context) -> Caller:
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

    def __init__(self, brain: ServerState, offers: Offers) -> None:
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
        call = Call(self._brain.workspace, caller, params.arguments or {})

        def work() -> types.CallToolResult:
            return called(self._tools, params.name, call)

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
                mime_type=JSON,
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
                mime_type=JSON,
            )
            for each in self._resources
            if "{" in each.template
        ]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        caller = caller_of(self._brain, context)
        call, uri = Call(self._brain.workspace, caller, {}), str(params.uri)
        client = _client_of(context, caller)
        return await self._workers.finish(lambda: read(self._resources, uri, call), client)


def _client_of(context: Context, caller: Caller) -> str | None:
    """Whose share a call is taken from: that of the session, else of the connection.

    Whoever is alone at the other end of the standard input has no need of shares.
    """
    if context.request is None:
        return None
    where = context.request.client
    return caller.connection or (f"{where.host}:{where.port}" if where else "")


# What the SDK writes to its log: only where something went wrong, never what was in it.
#
# Its words may quote a request, and with it a message, a session or a secret.


_LOGGER = "mcp"


class Places(logging.Handler):
    """Writes the place in the program, and the kind of exception, to the standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        kind = record.exc_info[0] if record.exc_info else None
        what = f" {kind.__name__}" if kind else ""
        level = record.levelname.lower()
        sys.stderr.write(f"brenner: {record.name}:{record.lineno} {level}{what}\n")
        sys.stderr.flush()


def tell_places_only() -> None:
    """From now on; warnings, which clients cause, are not told at all."""
    logger = logging.getLogger(_LOGGER)
    logger.handlers = [Places(logging.ERROR)]
    logger.setLevel(logging.ERROR)
    logger.propagate = False
