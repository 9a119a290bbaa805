"""The MCP server on standard input and output: one agent, one connection.

The input ends when the agent's program ends, or closes it after its last request. So open requests
are finished and answered before the process ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
from errno import EAGAIN, ETIME
from typing import TYPE_CHECKING, Any, NoReturn, Self

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from brenner.limits import MOST_REQUEST_BYTES
from brenner.mcp.arguments import check_raw_size
from brenner.mcp.server import log_locations_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from mcp.server import Server

# Standard input and output, reserved for the protocol
#
# Meanwhile `print` goes to standard error, and child processes have no input. Reading and writing
# block in threads, until they are stopped.


_IN, _OUT, _ERR = 0, 1, 2
_CHUNK = 64 * 1024
_WRITABLE = 4096  # so much a pipe that can be written to takes without waiting
_END = b"\n"
_NO_READER = "the client does not read it"


class StdioPipes:
    """Standard input and output as bytes."""

    def __enter__(self) -> Self:
        self._source, self._sink = os.dup(_IN), os.dup(_OUT)
        self._last_read, self._end_reading = os.pipe()
        self._last_write, self._end_writing = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, _IN)
        os.close(nothing)
        os.dup2(_ERR, _OUT)
        return self

    def __exit__(self, *_: object) -> None:
        os.dup2(self._source, _IN)
        os.dup2(self._sink, _OUT)
        os.close(self._source)
        os.close(self._sink)
        for each in (self._last_read, self._end_reading, self._last_write, self._end_writing):
            os.close(each)

    def read(self) -> bytes:
        """Return the next bytes; empty at the end of the input or after `stop_reading`."""
        ready, _, _ = select.select([self._source, self._last_read], [], [])
        return b"" if self._last_read in ready else os.read(self._source, _CHUNK)

    def write(self, data: bytes) -> None:
        """Write all bytes. After `stop_waiting`, raise BlockingIOError if the reader blocks."""
        rest = memoryview(data)
        while rest:
            _, writable, _ = select.select([self._last_write], [self._sink], [])
            if not writable:
                raise BlockingIOError(EAGAIN, _NO_READER)
            rest = rest[os.write(self._sink, rest[:_WRITABLE]) :]

    def stop_reading(self) -> None:
        """Treat the input as ended."""
        os.write(self._end_reading, _END)

    def stop_waiting(self) -> None:
        os.write(self._end_writing, _END)


class LineSplitter:
    """Splits chunks into lines. A line longer than `most` bytes becomes None and is not kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = bytearray()
        self._is_too_long = False

    def of(self, chunk: bytes) -> Iterator[bytes | None]:
        """Yield the lines that end in the chunk. An empty chunk is the end of the input."""
        *ended, rest = chunk.split(_END) if chunk else (b"", b"")
        for piece in ended:
            self._hold(piece)
            yield None if self._is_too_long else bytes(self._held)
            self._held.clear()
            self._is_too_long = False
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        if self._is_too_long or len(self._held) + len(piece) > self._most:
            self._held.clear()
            self._is_too_long = True
        else:
            self._held += piece


FINE, INTERRUPTED = 0, 130
_MOST_UNDER_WAY = 1_000
_GRACE_SECONDS = 30
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANCELLED = "notifications/cancelled"
_TOO_LONG = f"The line is longer than {MOST_REQUEST_BYTES} bytes. It was not read."
_NOT_JSON = "The line is not JSON."
_NOT_RPC = "The line is JSON, but not a single JSON-RPC request or notification."

_TOO_LATE = "a result came too late after the input had ended"

Message = types.JSONRPCMessage


def serve(server: Server[Any], grace_seconds: float = _GRACE_SECONDS) -> tuple[int, OSError | None]:
    """Serve until the input ends or a signal arrives. Wait at most `grace_seconds` after that.

    Return the exit code, and why answers were lost, if any were.
    """
    log_locations_only()
    with StdioPipes() as pipes:
        return anyio.run(_StdioConnection(server, pipes, grace_seconds).run)


class _StdioConnection:
    def __init__(self, server: Server[Any], pipes: StdioPipes, grace_seconds: float) -> None:
        self._server = server
        self._pipes = pipes
        self._grace_seconds = grace_seconds
        self._code = FINE
        self._lost: OSError | None = None

    async def run(self) -> tuple[int, OSError | None]:
        """Read, serve and write concurrently."""
        self._pending: list[str] = []  # a client may use an ID twice
        self._answered = anyio.Event()
        to_server, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, to_client = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, to_server, answers.clone())
            tasks.start_soon(self._speak, to_client)
            watch = anyio.CancelScope()
            tasks.start_soon(self._watch, watch)
            options = self._server.create_initialization_options()
            await self._server.run(received, answers, options)
            watch.cancel()
        if self._lost is None and self._pending:
            self._lost = TimeoutError(ETIME, _TOO_LATE)
        return self._code, self._lost

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """Shut down gracefully on the first signal, at once on the second."""
        wanted = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
        with scope:
            with anyio.open_signal_receiver(*wanted) as signals:
                number = await anext(signals)
            self._code = INTERRUPTED if number == signal.SIGINT else FINE
            self._pipes.stop_reading()
            await anyio.sleep(self._grace_seconds)
            self._pipes.stop_waiting()

    async def _listen(
        self,
        server: ObjectSendStream[SessionMessage | Exception],
        answers: ObjectSendStream[SessionMessage],
    ) -> None:
        lines = LineSplitter(MOST_REQUEST_BYTES)
        async with server, answers:
            while chunk := await anyio.to_thread.run_sync(self._pipes.read):
                await self._take(lines.of(chunk), server, answers)
            await self._take(lines.of(b""), server, answers)
            with anyio.move_on_after(self._grace_seconds):
                await self._wait_for_fewer(1)
            self._pipes.stop_waiting()

    async def _take(
        self,
        lines: Iterable[bytes | None],
        server: ObjectSendStream[SessionMessage | Exception],
        answers: ObjectSendStream[SessionMessage],
    ) -> None:
        for line in lines:
            if line is not None and not line.strip():
                continue
            message = message_of(line)
            if isinstance(message, types.JSONRPCError):
                await answers.send(SessionMessage(message))
                continue
            await self._wait_for_fewer(_MOST_UNDER_WAY)
            self._note(message)
            await server.send(SessionMessage(message))

    async def _speak(self, answers: ObjectReceiveStream[SessionMessage]) -> None:
        async with answers:
            async for each in answers:
                data = each.message.model_dump(by_alias=True, exclude_unset=True)
                line = json.dumps(data, separators=(",", ":")).encode() + b"\n"
                try:
                    if self._lost is None:
                        await anyio.to_thread.run_sync(self._pipes.write, line)
                except OSError as error:
                    self._lost = error  # the client is gone: nothing more to do
                    self._pipes.stop_reading()
                if isinstance(each.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._forget(each.message.id)

    def _note(self, message: Message) -> None:
        """Record an incoming message. A cancelled request gets no answer."""
        if isinstance(message, types.JSONRPCRequest):
            self._pending.append(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._forget((message.params or {}).get("requestId"))

    def _forget(self, number: object) -> None:
        if str(number) in self._pending:
            self._pending.remove(str(number))
        changed, self._answered = self._answered, anyio.Event()
        changed.set()

    async def _wait_for_fewer(self, than: int) -> None:
        while len(self._pending) >= than:
            await self._answered.wait()


def message_of(line: bytes | None) -> Message:
    """Parse a line. An invalid one becomes an error response with the reason."""
    if line is None:
        return _error_response(types.INVALID_REQUEST, _TOO_LONG)
    found = check_raw_size(line)
    if found is not None:
        return _error_response(types.INVALID_REQUEST, f"{found.id}: {found.message} {found.fix}")
    try:
        value = json.loads(line, parse_constant=_no_number)
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


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
