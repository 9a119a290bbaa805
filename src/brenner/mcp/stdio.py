"""The MCP server on standard input and output: one agent, one connection.

An agent's program ends the server by a signal, or by closing the input, perhaps right after its
last request. So open requests are finished and answered before the process ends.

The SDK's `stdio_server` cancels open requests when the input ends. It reads in a thread that SIGINT
does not stop. It does not answer a line that it cannot parse, so that the client waits forever.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager, suppress
from errno import ETIME
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from brenner.mcp.arguments import check_raw_size
from brenner.mcp.server import log_locations_only

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from mcp.server import Server

FINE, INTERRUPTED = 0, 130
_GRACE_SECONDS = 30
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_IN, _OUT, _ERR = 0, 1, 2
_CHUNK = 64 * 1024
_WRITABLE = 4096  # so much a pipe that can be written to takes without waiting
_END = b"\n"

_NOT_JSON = "The line is not JSON."
_NOT_RPC = "The line is JSON, but not a single JSON-RPC request or notification."
_TOO_LATE = "an answer was not finished, or not read, in time"


Received = SessionMessage | Exception


def serve(server: Server[Any], grace_seconds: float = _GRACE_SECONDS) -> tuple[int, OSError | None]:
    """Serve until the input ends or a signal arrives. Wait at most `grace_seconds` after that.

    Return the exit code, and why answers were lost, if any were.
    """
    log_locations_only()
    with _claim_stdio() as (source, sink):
        return anyio.run(_StdioConnection(server, source, sink, grace_seconds).run)


@contextmanager
def _claim_stdio() -> Iterator[tuple[int, int]]:
    """Reserve standard input and output for the protocol.

    Meanwhile `print` goes to standard error, and child processes have no input.
    """
    source, sink, nothing = os.dup(_IN), os.dup(_OUT), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _IN)
    os.dup2(_ERR, _OUT)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        os.dup2(source, _IN)
        os.dup2(sink, _OUT)
        os.close(source)
        os.close(sink)


class _StdioConnection:
    def __init__(self, server: Server[Any], source: int, sink: int, grace_seconds: float) -> None:
        self._server = server
        self._source, self._sink = source, sink
        self._grace_seconds = grace_seconds
        self._code = FINE
        self._lost: OSError | None = None
        self._is_stopped = False
        self._open = 1  # requests without an answer; the input counts as one

    async def run(self) -> tuple[int, OSError | None]:
        """Read, serve and write concurrently."""
        self._finished = anyio.Event()
        self._waiting = anyio.CancelScope()
        to_server, received = anyio.create_memory_object_stream[Received](0)
        answers, to_client = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks.cancel_scope
            tasks.start_soon(self._stop_on_signal)
            tasks.start_soon(self._listen, to_server, answers.clone())
            tasks.start_soon(self._speak, to_client)
            options = self._server.create_initialization_options()
            await self._server.run(received, answers, options)
            tasks.cancel_scope.cancel()
        if self._lost is None and self._open:
            self._lost = TimeoutError(ETIME, _TOO_LATE)
        return self._code, self._lost

    async def _stop_on_signal(self) -> None:
        """Shut down gracefully on the first signal. The second one has its usual effect."""
        wanted = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
        with anyio.open_signal_receiver(*wanted) as signals:
            number = await anext(signals)
        self._code = INTERRUPTED if number == signal.SIGINT else FINE
        self._stop()

    def _stop(self) -> None:
        """Treat the input as ended, and limit the time for what is open."""
        self._is_stopped = True
        self._waiting.cancel()
        self._tasks.deadline = anyio.current_time() + self._grace_seconds

    async def _listen(
        self, server: ObjectSendStream[Received], answers: ObjectSendStream[SessionMessage]
    ) -> None:
        async with server, answers:
            async for line in self._lines():
                message = message_of(line)
                if isinstance(message, types.JSONRPCError):
                    self._open += 1
                    await answers.send(SessionMessage(message))
                elif isinstance(message, types.JSONRPCRequest):
                    self._open += 1
                    cancelled = ServerMessageMetadata(on_request_unanswered=self._close_cancelled)
                    await server.send(SessionMessage(message, cancelled))
                else:
                    await server.send(SessionMessage(message))
            self._stop()
            self._close_one()
            await self._finished.wait()

    async def _lines(self) -> AsyncIterator[bytes]:
        """Yield the lines that are not blank, until the input ends."""
        held = b""
        while chunk := await self._read():
            *lines, held = (held + chunk).split(_END)
            for line in filter(bytes.strip, lines):
                yield line
        if held.strip():
            yield held

    async def _read(self) -> bytes:
        if not self._is_stopped:
            with anyio.CancelScope() as self._waiting:
                with suppress(PermissionError):  # a file, which is always readable
                    await anyio.wait_readable(self._source)
                return os.read(self._source, _CHUNK)
        return b""

    async def _speak(self, answers: ObjectReceiveStream[SessionMessage]) -> None:
        async with answers:
            async for each in answers:
                data = each.message.model_dump(by_alias=True, exclude_unset=True)
                try:
                    if self._lost is None:
                        await self._write(json.dumps(data, separators=(",", ":")).encode() + _END)
                except OSError as error:
                    self._lost = error  # the client is gone: nothing more to do
                    self._stop()
                if isinstance(each.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._close_one()

    async def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            with suppress(PermissionError):  # a file, which is always writable
                await anyio.wait_writable(self._sink)
            rest = rest[os.write(self._sink, rest[:_WRITABLE]) :]

    async def _close_cancelled(self) -> None:
        self._close_one()

    def _close_one(self) -> None:
        self._open -= 1
        if not self._open:
            self._finished.set()


def message_of(line: bytes) -> types.JSONRPCMessage:
    """Parse a line. An invalid one becomes an error response with the reason."""
    found = check_raw_size(line)
    if found is not None:
        return _error_response(types.INVALID_REQUEST, f"{found.id}: {found.message} {found.fix}")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _error_response(types.PARSE_ERROR, _NOT_JSON)
    number = value.get("id") if isinstance(value, dict) else None
    is_number = isinstance(number, str | int) and not isinstance(number, bool)
    try:
        return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _error_response(types.INVALID_REQUEST, _NOT_RPC, number if is_number else None)


def _error_response(code: int, reason: str, number: str | int | None = None) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=reason)
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=error)
