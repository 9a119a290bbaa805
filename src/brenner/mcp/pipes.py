"""The standard input and output, taken over for a protocol.

While they are taken, nobody else reads or writes them by accident: what a library prints goes to
the standard error, and a program that we start has no input. Reading and writing wait in threads,
and wait no longer when they are told so.
"""

import os
import select
from collections.abc import Iterator
from errno import EAGAIN
from typing import Self

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
