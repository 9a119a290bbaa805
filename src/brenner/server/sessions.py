"""Which sessions of clients are open, and which one has to go where there are too many.

Programs that are killed never end their sessions. Without this, as many of them as there may be
would keep everybody else out for a day.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager


class Sessions:
    """The open ones, the one that was used last at the end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._under_way)

    def opened(self, session: str) -> None:
        """There is a new one."""
        self._under_way[session] = 0

    def forget(self, session: str) -> None:
        """It has ended."""
        self._under_way.pop(session, None)

    @contextmanager
    def used(self, session: str) -> Iterator[None]:
        """While something of it is under way it does not have to go."""
        if session not in self._under_way:  # it is gone, or was never there
            yield
            return
        self._count(session, 1)
        try:
            yield
        finally:
            self._count(session, -1)

    def to_end(self) -> str | None:
        """The session to end before another one is opened: the one not used for longest."""
        if len(self._under_way) < self._most:
            return None
        return next((each for each, count in self._under_way.items() if not count), None)

    def _count(self, session: str, by: int) -> None:
        if session in self._under_way:
            self._under_way[session] += by
            self._under_way.move_to_end(session)
