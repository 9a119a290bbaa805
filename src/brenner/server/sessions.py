"""Which sessions of clients are open, and which one has to go where there are too many.

Programs that are killed never end their sessions. Without this, as many of them as there may be
would keep everybody else out for a day. But somebody who opens many must not end those of others:
an agent whose session is gone goes on in a new one, and nobody vouches for her mail any more. So
a session that speaks for a name stays.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LEFT_SECONDS = 600.0  # who has not spoken for a name in this time, nor said anything, is gone


class _Session:
    """When it was used last, and how many of its requests are under way."""

    def __init__(self, at: float) -> None:
        self.used_at = at
        self.under_way = 0


class Sessions:
    """The open ones, in the order in which they were opened.

    `is_bound` tells whether one speaks for a name.
    """

    def __init__(
        self,
        most: int,
        is_bound: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._is_bound = is_bound
        self._clock = clock
        self._open: dict[str, _Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, session: str) -> None:
        """There is a new one."""
        self._open[session] = _Session(self._clock())

    def forget(self, session: str) -> None:
        """It has ended."""
        self._open.pop(session, None)

    @contextmanager
    def used(self, session: str) -> Iterator[None]:
        """While something of it is under way it does not have to go."""
        known = self._open.get(session)
        if known is None:  # it is gone, or was never there
            yield
            return
        known.under_way += 1
        try:
            yield
        finally:
            known.under_way -= 1
            known.used_at = self._clock()

    @property
    def are_too_many(self) -> bool:
        """Whether one has to go before another one is opened."""
        return len(self._open) >= self._most

    def to_end(self) -> str | None:
        """The one that goes: left long ago, else the newest. None where all of them stay."""
        idle = [name for name, each in self._open.items() if not each.under_way]
        unbound = [name for name in idle if not self._is_bound(name)]
        if not unbound:
            return None
        before = self._clock() - _LEFT_SECONDS
        oldest = min(unbound, key=lambda name: self._open[name].used_at)
        return oldest if self._open[oldest].used_at < before else unbound[-1]
