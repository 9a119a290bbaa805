"""Pages as they were written for somebody, for those who ask for the same in the same moment.

A page follows from the address, the mail, and the time; some also from files, marks of readers, or
what a browser keeps. Who asks within two seconds, and no mail has come in that the page lacks, gets
the same words: relative times are no finer than that, and what is not mail is at most that old.
What was made for one person alone is never kept.
"""

import gzip
import json
import threading
import time
import zlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

import anyio

from brenner.web.request import Page
from brenner.web.sessions import Absence, Place

LIFE = 2.0  # seconds
MOST_KEY = 2_000  # characters of an address; who asks for a longer one asks alone
_MOST_TEXTS = 2_000
_BESIDE = 500  # bytes, about, that a text takes beside itself
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
    headers: Mapping[str, str] = MappingProxyType({})

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
        return len(self.body) + len(self.packed) + _BESIDE


def takes_packed(accepted: str) -> bool:
    """Whether a browser says that it can read what is packed."""
    for each in accepted.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";q=")
        if name == PACKED:
            return weight.strip("0.") != "" or not weight
    return False


class Key(NamedTuple):
    """Who gets the same text: who asks for the same, in the same form, and may see as much."""

    path: str
    is_json: bool = False
    guest_of: frozenset[str] | None = None


class _Kept(NamedTuple):
    text: Text
    place: Place
    at: float
    size: int


class PageCache:
    """What was written in the last seconds. Only from the thread of the loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, life: float = LIFE) -> None:
        self._clock = clock
        self._life = life
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._bytes = 0
        self._turns: dict[Key, anyio.Lock] = {}
        self._waiting: Counter[Key] = Counter()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key, place: Place) -> Text | None:
        """What was written under that key, if it has all mail up to that place."""
        kept = self._kept.get(key)
        age = self._clock() - kept.at if kept else 0.0
        if kept is None or age >= self._life or not kept.place.has(place):
            return None
        # Who began a moment ago may be given more. Later on it is a store that was put back.
        is_ahead = kept.place.position > place.position
        return None if is_ahead and age >= LIFE else kept.text

    def keep(self, key: Key, place: Place, text: Text) -> None:
        """For whoever asks next; what is old goes, and then what is oldest."""
        if len(key.path) > MOST_KEY:
            return
        now = self._clock()
        self._drop(key)
        self._kept[key] = _Kept(text, place, now, text.size + 4 * len(key.path))
        self._bytes += self._kept[key].size
        while (oldest := next(iter(self._kept))) != key and (
            self._bytes > _MOST_BYTES
            or len(self._kept) > _MOST_TEXTS
            or now - self._kept[oldest].at >= self._life
        ):
            self._drop(oldest)

    def _drop(self, key: Key) -> None:
        gone = self._kept.pop(key, None)
        self._bytes -= gone.size if gone else 0

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncIterator[None]:
        """While this lasts nobody else writes the same."""
        lock = self._turns.setdefault(key, anyio.Lock())
        self._waiting[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._turns[key]


# The last good page of every address, for while the store is away.
#
# Its document is kept, not its words: how long ago something was is said anew each time.


MOST_BYTES = 16 * 1024 * 1024
MOST_PAGES = 2_000
MOST_ADDRESS = 2_000  # characters; nobody has followed a longer one to find it again
_LAST_GOOD_BESIDE = 500  # bytes, about, that a page takes beside its texts
_NEW_ENOUGH = timedelta(minutes=1)


class _LastGoodKept(NamedTuple):
    page: Page  # without its document
    document: bytes
    at: datetime
    place: Place | None
    size: int


class Asked(NamedTuple):
    """What was asked for, in whatever form; pages of guests are not those of others, nor are those
    of the operator who is logged in.
    """

    address: str
    guest_of: frozenset[str] | None = None
    is_operator: bool = False


class LastGoodCache:
    """Documents by address, small; those that nobody has asked for longest go first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Asked, _LastGoodKept] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, asked: Asked, page: Page, at: datetime, place: Place | None) -> None:
        """Keep a page; not again and again while the mail is the same."""
        before = self._kept.get(asked)
        if len(asked.address) > MOST_ADDRESS:
            return
        if before and before.place == place and at - before.at < _NEW_ENOUGH:
            return
        text = json.dumps(page.document, ensure_ascii=False, separators=(",", ":"))
        document = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        size = len(document) + 4 * (len(asked.address) + len(page.title)) + _LAST_GOOD_BESIDE
        kept = _LastGoodKept(page._replace(document={}, cookies=()), document, at, place, size)
        with self._lock:
            self._drop(asked)
            self._kept[asked] = kept
            self._bytes += kept.size
            while self._bytes > self._most or len(self._kept) > MOST_PAGES:
                self._drop(next(iter(self._kept)))

    def _drop(self, asked: Asked) -> None:
        gone = self._kept.pop(asked, None)
        self._bytes -= gone.size if gone else 0

    def find(self, asked: Asked, absence: Absence) -> Page | None:
        """The page as it was, saying so; None where there is none."""
        with self._lock:
            kept = self._kept.get(asked)
            if kept is None:
                return None
            self._kept.move_to_end(asked)
        document = json.loads(zlib.decompress(kept.document).decode("utf-8", "surrogatepass"))
        return stale(kept.page._replace(document=document), absence, kept.at)


def stale(page: Page, absence: Absence, as_of: datetime | None) -> Page:
    """A page that tells of an earlier time, or of files alone, because the store is away."""
    told = {**absence.to_json(), "as_of": as_of.isoformat() if as_of else None}
    return page._replace(document={**page.document, "stale": told}, cookies=())
