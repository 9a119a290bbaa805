"""How often somebody may try to come in: a few times, then after waits that grow.

A try counts before it is looked at, so that many at once are no way round. Whoever waits hears
nothing about what she tried. What cannot be guessed may be looked at first, and need not wait.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

_FREE, _FREE_OF_ALL = 5, 50
_LONGEST, _LONGEST_OF_ALL = 60.0, 10.0  # seconds; nobody can keep the operator out for long
_FORGOTTEN = 3600.0
_MOST_PLACES = 10_000
_PREFIX = 64
_EVERYWHERE = ""

Clock = Callable[[], float]


class _Failures(NamedTuple):
    times: int
    last: float


class Tries:
    """The failures of each address, and of all together."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, address: str) -> int:
        """Take a try; the seconds to wait where there is none."""
        now, place = self._clock(), place_of(address)
        with self._lock:
            wait = max(
                self._wait(place, now, _FREE, _LONGEST),
                self._wait(_EVERYWHERE, now, _FREE_OF_ALL, _LONGEST_OF_ALL),
            )
            if wait > 0:
                return math.ceil(wait)
            for each in (place, _EVERYWHERE):
                before = self._failures.pop(each, _Failures(0, now))
                self._failures[each] = _Failures(before.times + 1, now)
            while len(self._failures) > _MOST_PLACES:
                self._failures.popitem(last=False)
        return 0

    def forget(self, address: str) -> None:
        """Somebody there has shown the right one, without a try."""
        with self._lock:
            self._failures.pop(place_of(address), None)

    def succeeded(self, address: str) -> None:
        """That was the right one: what was tried from there before counts for nothing."""
        with self._lock:
            self._failures.pop(place_of(address), None)
            before = self._failures.pop(_EVERYWHERE, None)
            if before and before.times > 1:
                self._failures[_EVERYWHERE] = before._replace(times=before.times - 1)

    def _wait(self, place: str, now: float, free: int, longest: float) -> float:
        known = self._failures.get(place)
        if known is None or known.times < free:
            return 0.0
        if now - known.last > _FORGOTTEN:
            del self._failures[place]
            return 0.0
        pause = min(longest, 2.0 ** min(known.times - free + 1, 30))
        return known.last + pause - now


def place_of(address: str) -> str:
    """Where somebody is: who has one address of IPv6 has a whole network of them."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return f"{int(known) >> (128 - _PREFIX):x}/{_PREFIX}"
