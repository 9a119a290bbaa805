"""Progress of long work on the standard error, for who watches it."""

import sys
import time
from collections.abc import Iterable, Iterator

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
