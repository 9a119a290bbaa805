"""What takes seconds: it has a lane of its own, so that nobody who reads a page waits for it.

A file of a whole session, a version of long ago, or all versions rebuilt: of a large session each
takes as long as hundreds of pages. Few are made at once, few wait, and the others are told to come
again.
"""

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from brenner.diagnostics.codes.serving import SERVER_BUSY
from brenner.diagnostics.model import Unavailable
from brenner.web.visit import Visit

AT_ONCE = 2
MOST_WAITING = 6
AGAIN_AFTER = 15  # seconds, after which one is told to come again

_T = TypeVar("_T")


def is_file(visit: Visit) -> bool:
    """Whether a session is asked for as a file: the same for everybody who may see it."""
    return "form" in visit.named


def is_dear(visit: Visit) -> bool:
    """Whether it may take seconds."""
    is_verified = visit.asked.get("verify") == "1"
    return is_file(visit) or is_verified or visit.number("version") is not None


class Lane:
    """Runs such work in threads. Only from the thread of the loop."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._taken_on = 0

    async def run(self, work: Callable[[], _T]) -> _T:
        """What comes of it; where too many wait already it is not begun."""
        if self._taken_on >= AT_ONCE + MOST_WAITING:
            raise Unavailable(SERVER_BUSY.at())
        self._taken_on += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._taken_on -= 1
