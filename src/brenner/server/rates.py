"""How many requests one client may send: so many a second, and twice as many in a burst.

All programs of a machine come from one address, so a connection is the one thing that tells them
apart. Each has some requests of its own, whatever the others do. What goes beyond them, and the
first request of every connection, is taken from what the connections of one address share.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

_MOST_CLIENTS = 10_000
_BURST_SECONDS = 2
_SHARES = 10

Clock = Callable[[], float]


class Rates:
    """A bucket of permits for each client, filled at a steady rate.

    Clients that have not been heard of for long have a full one, and are forgotten.
    """

    def __init__(self, a_second: int, clock: Clock = time.monotonic) -> None:
        self._a_second = a_second
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __contains__(self, client: Hashable) -> bool:
        return client in self._buckets

    def wait(self, client: Hashable) -> float:
        """Take a permit; the seconds to wait where there is none."""
        now, full = self._clock(), float(self._a_second * _BURST_SECONDS)
        left, before = self._buckets.pop(client, (full, now))
        left = min(full, left + (now - before) * self._a_second)
        is_granted = left >= 1
        self._buckets[client] = (left - is_granted, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if is_granted else (1 - left) / self._a_second


class Turns:
    """Who may ask now: those who may come in, and apart from them those who may not.

    Who has no token never takes a permit from who has it.
    """

    def __init__(self, a_second: int, clock: Clock = time.monotonic) -> None:
        self.a_share = max(1, a_second // _SHARES)
        self._shared = Rates(a_second, clock)
        self._own = Rates(self.a_share, clock)
        self._strangers = Rates(self.a_share, clock)

    def wait(self, address: str, port: int) -> float:
        """Take a permit for a request on a connection; the seconds to wait where there is none."""
        connection = (address, port)
        if connection in self._own and not self._own.wait(connection):
            return 0.0
        seconds = self._shared.wait(address)
        if not seconds and connection not in self._own:
            self._own.wait(connection)
        return seconds

    def wait_as_stranger(self, address: str) -> float:
        """The same for somebody who shows no token, or a wrong one."""
        return self._strangers.wait(address)
