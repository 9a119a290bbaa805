"""How many requests one client may send: so many a second, and twice as many in a burst."""

import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_CLIENTS = 10_000
_BURST_SECONDS = 2


class Rates:
    """A bucket of permits for each client's address, filled at a steady rate.

    Clients that have not been heard of for long have a full one, and are forgotten.
    """

    def __init__(self, a_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._a_second = a_second
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take a permit; the seconds to wait where there is none."""
        now, full = self._clock(), float(self._a_second * _BURST_SECONDS)
        left, before = self._buckets.pop(client, (full, now))
        left = min(full, left + (now - before) * self._a_second)
        is_granted = left >= 1
        self._buckets[client] = (left - is_granted, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if is_granted else (1 - left) / self._a_second
