"""Memory that large requests and answers took goes back to the system when they are done.

The C library of Linux learns from the first large block that is freed to keep such blocks for
itself, each thread in a place of its own. A server whose clients ask for ten megabytes now and
then would hold hundreds for the rest of its life.
"""

import ctypes
import sys

_LARGE_BYTES = 128 * 1024
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of <malloc.h>; to set it ends the learning


def give_back_large_blocks() -> bool:
    """From now on; whether this system can be told so."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BYTES))
    except (OSError, AttributeError):  # another C library
        return False
