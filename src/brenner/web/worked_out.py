"""Values that are worked out when they are first asked for: by one thread, and the others wait."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class worked_out(Generic[_T]):  # noqa: N801  it is used as `property` is
    """A property that is worked out once for each object.

    Each value has a lock of its own, so that nobody waits for what she has not asked for.
    """

    def __init__(self, work: Callable[[Any], _T]) -> None:
        self._work = work
        self.__doc__ = work.__doc__
        self.name = work.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> "worked_out[_T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> "worked_out[_T] | _T":
        if instance is None:
            return self
        # What is in the dictionary of the object is found there, and this is not called again.
        return once(vars(instance), self.name, lambda: self._work(instance))

    def known(self, instance: object) -> _T | None:
        """What was worked out for that object already."""
        return vars(instance).get(self.name)

    def give(self, instance: object, value: _T) -> None:
        """Let that object have a value that is known from elsewhere."""
        vars(instance)[self.name] = value


def once(made: dict[Any, Any], name: Hashable, work: Callable[[], _T]) -> _T:
    """What is under that name; where there is nothing yet, one works it out."""
    found = made.get(name, _NOTHING)
    if found is _NOTHING:
        with made.setdefault((_LOCK, name), threading.RLock()):
            try:
                found = made.get(name, _NOTHING)
                if found is _NOTHING:
                    found = made[name] = work()
            finally:  # nothing stays of what cannot be worked out
                made.pop((_LOCK, name), None)
    value: _T = found
    return value


_LOCK, _NOTHING = "lock of", object()


class Few(Generic[_T]):
    """Values that are worked out once, as long as they are among the few asked for last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._slots: OrderedDict[Hashable, dict[Any, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, name: Hashable, work: Callable[[], _T]) -> _T:
        """What is under that name; who has it keeps it, also when it has gone from here."""
        with self._lock:
            slot = self._slots.setdefault(name, {})
            self._slots.move_to_end(name)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
        try:
            return once(slot, name, work)
        finally:
            with self._lock:
                if name not in slot and self._slots.get(name) is slot:
                    del self._slots[name]


class AWhile(Generic[_T]):
    """A value that is worked out again once it is some seconds old: what changes without mail."""

    seconds = 5.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[float, _T] | None = None

    def get(self, work: Callable[[], _T]) -> _T:
        """The value; one works it out, and the others wait."""
        with self._lock:
            now = time.monotonic()
            if self._kept is None or now - self._kept[0] >= self.seconds:
                self._kept = (now, work())
            return self._kept[1]
