"""The server on the standard input and output: one agent, one connection.

The input ends when the agent's program ends, or closes it on purpose after its last request: so
what is under way is finished, and answered, before we end too.
"""

import json
import os
import select
import signal
from collections.abc import Iterable, Iterator
from errno import EAGAIN, ETIME
from typing import Any, NamedTuple, NoReturn, Self

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from brenner.limits import MOST_REQUEST_BYTES
from brenner.mcp.arguments import too_much_to_parse
from brenner.mcp.server import tell_places_only

# The standard input and output, taken over for a protocol.
#
# While they are taken, nobody else reads or writes them by accident: what a library prints goes to
# the standard error, and a program that we start has no input. Reading and writing wait in threads,
# and wait no longer when they are told so.


_IN, _OUT, _ERR = 0, 1, 2
_CHUNK = 64 * 1024
_WRITABLE = 4096  # so much a pipe that can be written to takes without waiting
_END = b"\n"
_NOBODY = "nobody reads it"


class Pipes:
    """What comes in and what goes out, as bytes."""

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
        """What has come; nothing at the end, or after `read_no_more`."""
        ready, _, _ = select.select([self._source, self._last_read], [], [])
        return b"" if self._last_read in ready else os.read(self._source, _CHUNK)

    def write(self, data: bytes) -> None:
        """Write all of it. After `wait_no_more`, what nobody reads is a `BlockingIOError`."""
        rest = memoryview(data)
        while rest:
            _, writable, _ = select.select([self._last_write], [self._sink], [])
            if not writable:
                raise BlockingIOError(EAGAIN, _NOBODY)
            rest = rest[os.write(self._sink, rest[:_WRITABLE]) :]

    def read_no_more(self) -> None:
        """Take it as the end of the input."""
        os.write(self._end_reading, _END)

    def wait_no_more(self) -> None:
        """Do not wait any longer for somebody to read what is written."""
        os.write(self._end_writing, _END)


class Lines:
    """Lines out of chunks; one that is longer than `most` bytes is None, and takes no room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = bytearray()
        self._is_too_long = False

    def of(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that end in the chunk. An empty one is the end: then the last line is whole."""
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
_TOO_LONG = f"The line is longer than {MOST_REQUEST_BYTES} bytes; nothing of it was read."
_NOT_JSON = "The line is not JSON."
_NOT_RPC = "The line is JSON, but no single JSON-RPC request or notification."

_TOO_LATE = "an answer came too long after the end"

Message = types.JSONRPCMessage


class Ended(NamedTuple):
    """How it ended: the exit code, and why answers were lost, if any were."""

    code: int
    lost: OSError | None = None


def serve(server: Server[Any], grace_seconds: float = _GRACE_SECONDS) -> Ended:
    """Serve until the input ends, or somebody says so. Then nobody waits longer than that."""
    tell_places_only()
    with Pipes() as pipes:
        return anyio.run(_Connection(server, pipes, grace_seconds).run)


class UnderWay:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: list[str] = []  # nobody keeps a client from using one twice
        self._changed = anyio.Event()

    def note(self, message: Message) -> None:
        """A message has come in. A request that is called off gets no answer."""
        if isinstance(message, types.JSONRPCRequest):
            self._ids.append(str(message.id))
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self._forget((message.params or {}).get("requestId"))

    def answered(self, message: Message) -> None:
        """A message has gone out."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._forget(message.id)

    @property
    def are_some(self) -> bool:
        """Whether there is any."""
        return bool(self._ids)

    async def are_fewer(self, than: int) -> None:
        """Wait until there are fewer."""
        while len(self._ids) >= than:
            await self._changed.wait()

    def _forget(self, number: object) -> None:
        if str(number) in self._ids:
            self._ids.remove(str(number))
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


class _Connection:
    """The one connection of the process."""

    def __init__(self, server: Server[Any], pipes: Pipes, grace_seconds: float) -> None:
        self._server = server
        self._pipes = pipes
        self._grace_seconds = grace_seconds
        self._code = FINE
        self._lost: OSError | None = None

    async def run(self) -> Ended:
        """Read, serve and write at the same time."""
        self._under_way = UnderWay()
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
        if self._lost is None and self._under_way.are_some:
            self._lost = TimeoutError(ETIME, _TOO_LATE)
        return Ended(self._code, self._lost)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """A first signal ends it when all is done and read; a second one at once."""
        wanted = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
        with scope:
            with anyio.open_signal_receiver(*wanted) as signals:
                number = await anext(signals)
            self._code = INTERRUPTED if number == signal.SIGINT else FINE
            self._pipes.read_no_more()
            await anyio.sleep(self._grace_seconds)
            self._pipes.wait_no_more()

    async def _listen(
        self,
        server: ObjectSendStream[SessionMessage | Exception],
        answers: ObjectSendStream[SessionMessage],
    ) -> None:
        lines = Lines(MOST_REQUEST_BYTES)
        async with server, answers:
            while chunk := await anyio.to_thread.run_sync(self._pipes.read):
                await self._take(lines.of(chunk), server, answers)
            await self._take(lines.of(b""), server, answers)
            with anyio.move_on_after(self._grace_seconds):
                await self._under_way.are_fewer(1)
            self._pipes.wait_no_more()

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
            await self._under_way.are_fewer(_MOST_UNDER_WAY)
            self._under_way.note(message)
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
                    self._lost = error  # who cannot be answered has gone: there is no more to do
                    self._pipes.read_no_more()
                self._under_way.answered(each.message)


def message_of(line: bytes | None) -> Message:
    """The message in a line; a line that is none is answered with the reason."""
    if line is None:
        return _refused(types.INVALID_REQUEST, _TOO_LONG)
    found = too_much_to_parse(line)
    if found is not None:
        return _refused(types.INVALID_REQUEST, f"{found.id}: {found.message} {found.fix}")
    try:
        value = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return _refused(types.PARSE_ERROR, _NOT_JSON)
    number = value.get("id") if isinstance(value, dict) else None
    is_number = isinstance(number, str | int) and not isinstance(number, bool)
    try:
        return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _refused(types.INVALID_REQUEST, _NOT_RPC, number if is_number else None)


def _refused(code: int, reason: str, number: str | int | None = None) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=reason)
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
