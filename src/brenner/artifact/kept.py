"""Mappings that are looked at in few places: what is not asked for is neither read nor copied.

A state remembers everything that was ever said in its thread, and a round asks for little of it.
So the memory of a published state may be kept as text, of which each value is read when somebody
asks for it; and a round notes what it changes beside that memory, not in a copy of it.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
# What reading a text of our own can come to that somebody has changed, its checksum included
_FAULTS = (AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_text(read: Callable[[T], V], text: T) -> V:
    """What a text, or one in parts, says; ValueError, and nothing else, where it cannot be read."""
    try:
        return read(text)
    except _FAULTS as fault:
        message = f"What was kept cannot be read: {fault!r}"
        raise ValueError(message) from fault


class Kept(Mapping[K, V]):
    """Values that are kept as texts; each is read when it is first asked for, and remembered.

    `texts` has every key, in order; those without a text have their value already. A value must
    not be changed: its text stands for it when everything is written again.
    """

    def __init__(
        self,
        texts: Mapping[K, str | None],
        read: Callable[[str], V],
        values: Mapping[K, V] = MappingProxyType({}),
    ) -> None:
        self.texts = texts
        self._read = read
        self._values = dict(values)

    def __getitem__(self, key: K) -> V:
        """The value; ValueError where its text is damaged."""
        if key not in self._values:
            self._values[key] = read_text(self._read, self.texts[key] or "")
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        """Whether there is such a value, without reading it."""
        return key in self.texts

    def __iter__(self) -> Iterator[K]:
        """The keys, in order."""
        return iter(self.texts)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.texts)

    def __repr__(self) -> str:
        """As that of the frozen mapping which it stands for: all values are read."""
        return repr(MappingProxyType(dict(self)))

    def changed(self, changes: Mapping[K, V]) -> "Kept[K, V]":
        """The same with other values under some keys."""
        texts = {**self.texts, **dict.fromkeys(changes)}
        return Kept(texts, self._read, {**self._values, **changes})


class Layer(Generic[K, V]):
    """What is changed over a mapping that is not."""

    def __init__(self, below: Mapping[K, V]) -> None:
        self._below = below
        self._own: dict[K, V] = {}

    def get(self, key: K, default: V) -> V:
        """The value as it stands."""
        return self._own[key] if key in self._own else self._below.get(key, default)

    def __setitem__(self, key: K, value: V) -> None:
        """Set a value."""
        self._own[key] = value

    def own(self, key: K, copied: Callable[[V], V], default: V) -> V:
        """The value, to be changed in place: at first a copy of the one below."""
        if key not in self._own:
            self._own[key] = copied(self._below.get(key, default))
        return self._own[key]

    def flat(self) -> Mapping[K, V]:
        """Both as one mapping, which must not be changed any more."""
        return updated(self._below, self._own) if self._own else self._below


def updated(before: Mapping[K, V], changes: Mapping[K, V]) -> Mapping[K, V]:
    """A mapping with some values changed; what is kept as text stays so."""
    if isinstance(before, Kept):
        return before.changed(changes)
    return MappingProxyType({**before, **changes})
