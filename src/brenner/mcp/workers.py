"""The threads in which calls are worked off: so many for all, and no more than a share for one.

Somebody who asks for much at once waits for herself. Whether the server is well is answered apart
from all that: it is asked when nothing else is.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

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
