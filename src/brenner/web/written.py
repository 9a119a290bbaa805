"""Pages as they were written for somebody, for those who ask for the same in the same moment.

A page follows from the address, the mail, and the time; some also from files, marks of readers, or
what a browser keeps. Two who ask at the same place of the mail within two seconds get the same
words: relative times are no finer than that, and what is not mail is at most that old. What was
made for one person alone is never kept.
"""

import gzip
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from brenner.web.worked_out import once

LIFE = 2.0  # seconds
_WORTH_PACKING = 2_000  # bytes
_PACKING = 5
PACKED = "gzip"
_MOST_BYTES = 32 * 1024 * 1024


class Text(NamedTuple):
    """A page as it goes over the line."""

    body: bytes
    media_type: str
    tag: str
    packed: bytes = b""

    @classmethod
    def of(cls, text: str, media_type: str) -> "Text":
        """With the tag by which a browser knows that it has it already."""
        body = text.encode(errors="replace")
        return cls(body, media_type, f'"{sha256(body).hexdigest()[:32]}"')

    def with_packed(self) -> "Text":
        """Also as most browsers would rather have it: it takes a tenth of the way.

        Only for what holds no secret: how small it gets tells something of what is in it.
        """
        if len(self.body) < _WORTH_PACKING:
            return self
        return self._replace(packed=gzip.compress(self.body, _PACKING, mtime=0))

    @property
    def size(self) -> int:
        """What it takes to keep it."""
        return len(self.body) + len(self.packed)


def takes_packed(accepted: str) -> bool:
    """Whether a browser says that it can read what is packed."""
    for each in accepted.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";q=")
        if name == PACKED:
            return weight.strip("0.") != "" or not weight
    return False


class Cookies(Mapping[str, str]):
    """What a browser keeps for us; whether a page has looked at it makes it that person's page."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self.was_read = False

    def __getitem__(self, name: str) -> str:
        self.was_read = True
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        self.was_read = True
        return iter(self._given)

    def __len__(self) -> int:
        self.was_read = True
        return len(self._given)


class NotForOthersError(Exception):
    """What was made is for one person, or no page; it is handed on to her."""

    def __init__(self, made: object) -> None:
        super().__init__()
        self.made = made


class Written:
    """What was written in these seconds; one writes, and those who want the same wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[Hashable, Text] = {}
        self._slot = -1
        self._bytes = 0

    def get(self, key: Hashable, write: Callable[[], Text]) -> Text:
        """What is under that key; `write` raises `NotForOthersError` with what nobody shares."""
        made = self._now()
        if key in made:
            return made[key]
        text = once(made, key, write)
        self._count(text.size)
        return text

    def _now(self) -> dict[Hashable, Text]:
        slot = int(self._clock() / LIFE)
        with self._lock:
            if slot != self._slot or self._bytes > _MOST_BYTES:
                self._made, self._slot, self._bytes = {}, slot, 0
            return self._made

    def _count(self, size: int) -> None:
        with self._lock:
            self._bytes += size
