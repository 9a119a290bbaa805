"""The MCP server of the official SDK, built from our tables of tools and resources.

It is independent of the transport. Tools are plain functions that may block: each runs in a worker
thread. A call that has begun is finished even if its client disconnects.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
import traceback
from collections import Counter
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

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
from brenner.diagnostics.repeats import Repeats, group_repeats
from brenner.mail.open import with_place
from brenner.mail.sealed import SealedMailbox, SealedThreads
from brenner.mcp import errors as told
from brenner.mcp import tools_agents
from brenner.mcp import tools_mail as mail_tools
from brenner.mcp import tools_session as own_tools
from brenner.mcp.agent_mail_format import check_project_key
from brenner.mcp.arguments import find_resource, read_arguments, schema, unknown_resource
from brenner.mcp.identity import proven_reader
from brenner.mcp.resources import RESOURCES
from brenner.mcp.tool import Call, Caller, Resource, Tool, ToolResult
from brenner.mcp.untrusted_text import HOW_FRAMES_LOOK
from brenner.program_settings import SECRET_HEADER, UNLOGGED_SECRET_HEADER
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from brenner.services.workspace import Workspace

# Calls: there is always a result
#
# A wrong call, a refusal and a broken store are results that the agent can act on. An unexpected
# exception is an internal error: the result says so, and the log has its location.


_NOT_YOURS = "This is an internal error of the server or of its store. Your call is not wrong."
_FAULT = "brenner: {reference}: {kind} in `{where}`, a fault of the program\n{frames}"


class ResourceError(Exception):
    """A resource that could not be read. `is_ours` means that the address is right."""

    def __init__(self, faults: Sequence[Diagnostic], *, is_ours: bool = False) -> None:
        super().__init__(faults[0].message)
        self.faults = tuple(map(told.with_tool_fix, faults))
        self.is_ours = is_ours


def call_tool(tools: Mapping[str, Tool], name: str, call: Call) -> ToolResult:
    """Parse the arguments and return the result of the tool."""
    tool = tools.get(name)
    if tool is None:
        suggestion = did_you_mean(closest(name, tools))
        found = codes.UNKNOWN_TOOL.at(tool=name, suggestion=suggestion)
        return told.refused_result([found])._replace(text=f"{found.message}\n{found.fix}")
    try:
        arguments, faults = read_arguments(name, tool.arguments, call.arguments)
        if faults:
            return told.refused_result(faults)
        call = call._replace(arguments=arguments)
        check_project_key(call)
        return tool.run(call)
    except BrennerError as error:
        error.diagnostic = with_place(error.diagnostic, call.workspace.project)
        answer = told.failed_result(error)
        is_ours = isinstance(error, UnavailableError)
        return answer._replace(text=f"{answer.text}\n{_NOT_YOURS}") if is_ours else answer
    except Exception as exception:  # noqa: BLE001  (a fault of one call is not the end of all)
        return told.refused_result([internal_error(name, exception)])


def read_resource(resources: Sequence[Resource], uri: str, call: Call) -> object:
    """Return the content at an address. Raise ResourceError if there is none."""
    found = find_resource(resources, uri)
    if found is None:
        raise ResourceError([unknown_resource(resources, uri)])
    resource, arguments, faults = found
    if faults:
        raise ResourceError(faults)
    try:
        call = call._replace(arguments=arguments)
        check_project_key(call)
        return resource.read(call)
    except RequestError as refused:
        raise ResourceError([with_place(refused.diagnostic, call.workspace.project)]) from None
    except BrennerError as error:
        raise ResourceError([error.diagnostic], is_ours=True) from None
    except Exception as exception:  # noqa: BLE001  (as above)
        raise ResourceError([internal_error(resource.template, exception)], is_ours=True) from None


def internal_error(where: str, exception: Exception) -> Diagnostic:
    """Return the diagnostic of an unexpected exception, and log its location to standard error.

    Only the location: the exception's text may quote a message or a secret.
    """
    reference = f"fault-{secrets.token_hex(4)}"
    kind = type(exception).__name__
    frames = "".join(traceback.format_tb(exception.__traceback__))
    sys.stderr.write(_FAULT.format(reference=reference, kind=kind, where=where, frames=frames))
    sys.stderr.flush()
    return codes.TOOL_FAILED.at(where=where, kind=kind, reference=reference)


# Results of the protocol
#
# A result has its value twice, as on the real Agent Mail server: as JSON text for models, and as
# structured content for programs. Notes follow as separate texts. A resource is one JSON text.


JSON = "application/json"


def call_result(tools: Mapping[str, Tool], name: str, call: Call) -> types.CallToolResult:
    """Call a tool and return its result. A result that cannot be serialised is an internal
    error.
    """
    answer = call_tool(tools, name, call)
    try:
        return result_of(answer)
    except (TypeError, ValueError, RecursionError) as exception:
        return result_of(told.refused_result([internal_error(name, exception)]))


def result_of(answer: ToolResult) -> types.CallToolResult:
    """Return a result of the protocol. A list is wrapped, and an empty one has no text."""
    value = answer.value
    is_list = isinstance(value, list | tuple)
    text = _as_json(value)
    wrapped = {"result": list(value)} if isinstance(value, list | tuple) else value
    shown = text if answer.text is None else _check_encodable(answer.text)
    is_empty = is_list and not value and answer.text is None
    notes = _check_encodable("\n".join(answer.notes))
    texts = [*([] if is_empty else [shown]), *([notes] if notes else [])]
    return types.CallToolResult(
        content=[types.TextContent(text=each) for each in texts],
        structured_content=wrapped,
        is_error=answer.is_error,
    )


def read_result(resources: Sequence[Resource], uri: str, call: Call) -> types.ReadResourceResult:
    """Read a resource. Failure is a protocol error with our message."""
    try:
        text = _as_json(read_resource(resources, uri, call))
    except ResourceError as failed:
        raise _error(failed) from None
    except (TypeError, ValueError, RecursionError) as exception:
        raise _error(ResourceError([internal_error(uri, exception)], is_ours=True)) from None
    contents = types.TextResourceContents(uri=uri, mime_type=JSON, text=text)
    return types.ReadResourceResult(contents=[contents])


def _error(failed: ResourceError) -> MCPError:
    code = types.INTERNAL_ERROR if failed.is_ours else types.INVALID_PARAMS
    message = "\n".join(map(_error_message, group_repeats(failed.faults)))
    return MCPError(code=code, message=message, data=told.error_json(failed.faults))


def _error_message(group: Repeats) -> str:
    """Return our message. For an unknown resource, use Agent Mail's, which clients recognise."""
    found = group.first
    if found.code is UNKNOWN_RESOURCE:
        return f"{found.message} {found.fix}"
    return told.line_of(group)


def _as_json(value: object) -> str:
    return _check_encodable(
        json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    )


def _check_encodable(text: str) -> str:
    """Return the text unchanged. Raise UnicodeEncodeError if it has a lone surrogate, which
    would break the connection.
    """
    text.encode()
    return text


# Instructions, which a client reads first


INSTRUCTIONS = " ".join(
    (
        "Brenner: a research group that works by mail on one shared artifact.",
        "(1) Call `register_agent` once, with the name that you were given, your program and your",
        "model. Store the `registration_token`.",
        "(2) `brenner_task` shows what you have to do in a thread: role, round, open critiques.",
        "(3) `brenner_artifact` shows the latest version, whole or in part.",
        "(4) `brenner_post` sends your contribution as structured arguments. Only such posts, and",
        "messages with the subject `DELTA[gpt]: …` (your model's shorthand, not your role), get",
        "into the artifact.",
        "A result with isError changed nothing, unless it says otherwise. Each problem names its",
        "fix, and `brenner_explain` explains its code. Fix the call and repeat it.",
        "In results of `brenner_…` tools,",
        HOW_FRAMES_LOOK,
    )
)


# All tools, in the order in which they are listed


TOOLS: tuple[Tool, ...] = (
    *own_tools.TOOLS,
    *tools_agents.AGENT_TOOLS_TOOLS,
    *mail_tools.TOOLS,
    *tools_agents.TOOLS,
)


# Worker threads: a limit for all clients, and a share for each
#
# A client with many calls waits for its own. Health checks run outside the limits, since they are
# most needed when the server is busy.


_MOST_AT_ONCE = 16
_SHARE = 4
_MOST_APART = 4

T = TypeVar("T")


class WorkerThreads:
    """The worker threads of one server, with a limit for all clients and a share for each."""

    def __init__(self) -> None:
        self._all = anyio.CapacityLimiter(_MOST_AT_ONCE)
        self._apart = anyio.CapacityLimiter(_MOST_APART)
        self._shares: dict[str, anyio.Semaphore] = {}
        self._users: Counter[str] = Counter()

    async def finish(self, work: Callable[[], T], client: str | None) -> T:
        """Run it in a thread.

        A call that is cancelled while it waits is never started. One that has begun is finished,
        and its result is dropped. Without a client there is no share.
        """
        if client is None:
            return await anyio.to_thread.run_sync(work, limiter=self._all)
        async with self._share_of(client):
            return await anyio.to_thread.run_sync(work, limiter=self._all)

    async def run_apart(self, work: Callable[[], T]) -> T:
        """Run quick work in a thread of a separate small pool, so that it does not wait for
        other calls.
        """
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


def build(
    workspace: Workspace,
    known: Caller,
    tools: Sequence[Tool] = TOOLS,
    resources: Sequence[Resource] = RESOURCES,
) -> Server[Any]:
    """Build a server with these tools and resources, for any number of connections.

    `known` is what is known of every caller. Its secret is that of the one agent on standard input;
    over HTTP the secret comes with each request.
    """
    named = {tool.name: tool for tool in tools}
    workers = WorkerThreads()
    sealed = SealedThreads(workspace.mailbox)

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        call = _sealed(Call(workspace, caller_of(known, context), params.arguments or {}), sealed)
        work = partial(call_result, named, params.name, call)
        if params.name in _APART:
            return await workers.run_apart(work)
        return await workers.finish(work, _client_of(context, call.caller))

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        call = _sealed(Call(workspace, caller_of(known, context), {}), sealed)
        work = partial(read_result, resources, str(params.uri), call)
        return await workers.finish(work, _client_of(context, call.caller))

    server: Server[Any] = Server(
        NAME,
        version=__version__,
        instructions=INSTRUCTIONS,
        get_tool_input_schema={tool.name: schema(tool.arguments) for tool in tools}.get,
        on_list_tools=_answer_with(lambda: _tool_list(tools)),
        on_call_tool=call_tool,
        on_list_resources=_answer_with(lambda: _resource_list(resources)),
        on_list_resource_templates=_answer_with(lambda: _template_list(resources)),
        on_read_resource=read_resource,
    )
    server.middleware.clear()  # messages of agents must not become telemetry
    return server


def _sealed(call: Call, threads: SealedThreads) -> Call:
    """Return the call with the mailbox as its caller may read it (R33)."""
    mailbox = SealedMailbox(call.workspace.mailbox, partial(proven_reader, call), threads)
    return call._replace(workspace=call.workspace._replace(mailbox=mailbox))


def _answer_with(
    listed: Callable[[], T],
) -> Callable[[Context, types.PaginatedRequestParams | None], Awaitable[T]]:
    async def answer(_context: Context, _params: types.PaginatedRequestParams | None) -> T:
        return listed()

    return answer


def _tool_list(tools: Sequence[Tool]) -> types.ListToolsResult:
    read_only = types.ToolAnnotations(read_only_hint=True)
    listed = [
        types.Tool(
            name=tool.name,
            description=tool.about,
            input_schema=schema(tool.arguments),
            annotations=read_only if tool.is_read_only else None,
        )
        for tool in tools
    ]
    return types.ListToolsResult(tools=listed)


def _resource_list(resources: Sequence[Resource]) -> types.ListResourcesResult:
    listed = [
        types.Resource(uri=each.template, name=each.name, description=each.about, mime_type=JSON)
        for each in resources
        if "{" not in each.template
    ]
    return types.ListResourcesResult(resources=listed)


def _template_list(resources: Sequence[Resource]) -> types.ListResourceTemplatesResult:
    listed = [
        types.ResourceTemplate(
            uri_template=each.template, name=each.name, description=each.about, mime_type=JSON
        )
        for each in resources
        if "{" in each.template
    ]
    return types.ListResourceTemplatesResult(resource_templates=listed)


def caller_of(known: Caller, context: Context) -> Caller:
    """Return who calls, as far as the connection shows.

    A session ID counts only if the transport has verified it, which means that the client was
    initialised in it. Otherwise the header could be anything.
    """
    if context.request is None:
        return known._replace(connection=STDIO)
    headers = context.request.headers
    is_session = (
        context.session.client_params is not None
        and context.protocol_version not in MODERN_PROTOCOL_VERSIONS
    )
    return known._replace(
        connection=headers.get(_SESSION_HEADER) if is_session else None,
        secret=headers.get(SECRET_HEADER) or headers.get(UNLOGGED_SECRET_HEADER) or None,
        is_checked=headers.get(CHECKED_HEADER, "").lower() == "true",
    )


def _client_of(context: Context, caller: Caller) -> str | None:
    """Return the client whose share a call uses: the session, else the connection.

    The single client on standard input needs no share.
    """
    if context.request is None:
        return None
    where = context.request.client
    return caller.connection or (f"{where.host}:{where.port}" if where else "")


# Logging: locations only. The SDK's log messages may quote a request, and so a secret.


_LOGGER = "mcp"


class LocationHandler(logging.Handler):
    """A log handler that writes the location and the exception type to standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        what = f" {kind.__name__}" if kind else ""
        level = record.levelname.lower()
        sys.stderr.write(f"brenner: {record.name}:{record.lineno} {level}{what}\n")
        sys.stderr.flush()


def log_locations_only() -> None:
    """Install the handler. Warnings, which clients can cause, are not logged."""
    logger = logging.getLogger(_LOGGER)
    logger.handlers = [LocationHandler(logging.ERROR)]
    logger.setLevel(logging.ERROR)
    logger.propagate = False
