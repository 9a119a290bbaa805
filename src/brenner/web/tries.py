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

from brenner.diagnostics.codes.web import TOO_MANY_ATTEMPTS
from brenner.diagnostics.model import BrennerError, Refused

_FREE, _FREE_OF_ALL = 5, 50
_LONGEST, _LONGEST_OF_ALL = 60.0, 10.0  # seconds; nobody can keep the operator out for long
_FORGOTTEN = 3600.0
_MOST_MACHINES = 10_000
_PREFIX = 64
_EVERYWHERE = ""

Clock = Callable[[], float]


class WaitError(Refused):
    """Too many have failed; so many seconds are to pass first."""

    def __init__(self, seconds: int) -> None:
        super().__init__(TOO_MANY_ATTEMPTS.at(seconds=seconds))
        self.seconds = seconds


def seconds_to_wait(error: BrennerError | None) -> int | None:
    """How long to wait before the next attempt, where that is what is wrong."""
    return error.seconds if isinstance(error, WaitError) else None


def wait_header(seconds: object) -> dict[str, str]:
    """The header that says so to programs."""
    return {"Retry-After": str(seconds)} if seconds else {}


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
        now, machine = self._clock(), machine_at(address)
        with self._lock:
            wait = max(
                self._wait(machine, now, _FREE, _LONGEST),
                self._wait(_EVERYWHERE, now, _FREE_OF_ALL, _LONGEST_OF_ALL),
            )
            if wait > 0:
                return math.ceil(wait)
            for each in (machine, _EVERYWHERE):
                before = self._failures.pop(each, _Failures(0, now))
                self._failures[each] = _Failures(before.times + 1, now)
            while len(self._failures) > _MOST_MACHINES:
                self._failures.popitem(last=False)
        return 0

    def forget(self, address: str) -> None:
        """Somebody there has shown the right one, without a try."""
        with self._lock:
            self._failures.pop(machine_at(address), None)

    def succeeded(self, address: str) -> None:
        """That was the right one: what was tried from there before counts for nothing."""
        with self._lock:
            self._failures.pop(machine_at(address), None)
            before = self._failures.pop(_EVERYWHERE, None)
            if before and before.times > 1:
                self._failures[_EVERYWHERE] = before._replace(times=before.times - 1)

    def _wait(self, machine: str, now: float, free: int, longest: float) -> float:
        known = self._failures.get(machine)
        if known is None or known.times < free:
            return 0.0
        if now - known.last > _FORGOTTEN:
            del self._failures[machine]
            return 0.0
        pause = min(longest, 2.0 ** min(known.times - free + 1, 30))
        return known.last + pause - now


def machine_at(address: str) -> str:
    """The machine at an address: who has one address of IPv6 has a whole network of them."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return f"{int(known) >> (128 - _PREFIX):x}/{_PREFIX}"
