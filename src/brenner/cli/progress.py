"""Progress of long work on the standard error, for who watches it."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Self

_SHOWN_AFTER = 1.0
_SHOWN_EVERY = 0.2
_MEGABYTE = 1_000_000


def watched(portions: Iterable[bytes], doing: str) -> Iterator[bytes]:
    """The portions as they are; after a second, how many megabytes went by. The end state stays."""
    if not sys.stderr.isatty():
        yield from portions
        return
    size, following = 0, time.monotonic() + _SHOWN_AFTER
    is_shown = False
    for portion in portions:
        size += len(portion)
        if time.monotonic() >= following:
            sys.stderr.write(f"\r{doing} {size / _MEGABYTE:.1f} MB")
            sys.stderr.flush()
            is_shown, following = True, time.monotonic() + _SHOWN_EVERY
        yield portion
    if is_shown:
        sys.stderr.write(f"\r{doing} {size / _MEGABYTE:.1f} MB\n")


class Progress:
    """`Sending 12 of 32` while something is counted, once it has taken a second."""

    def __init__(self) -> None:
        self._following = time.monotonic() + _SHOWN_AFTER
        self._width = 0  # of what is shown now

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        """So far so many are done."""
        if time.monotonic() < self._following or not sys.stderr.isatty():
            return
        said = f"{doing} {done:,}" + (f" of {total:,}" if total is not None else "")
        sys.stderr.write(f"\r{said:<{self._width}}")
        sys.stderr.flush()
        self._width, self._following = len(said), time.monotonic() + _SHOWN_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """What comes next begins on a line of its own."""
        if self._width:
            sys.stderr.write("\n")
