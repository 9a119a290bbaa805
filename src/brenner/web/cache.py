"""Caches: values that one thread computes for all, and rendered pages for concurrent readers."""

from __future__ import annotations

import gzip
import math
import threading
import time
from collections import Counter, OrderedDict
from contextlib import asynccontextmanager
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import anyio

from brenner.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable, Mapping

    from brenner.web.sessions import MailCursor

_T = TypeVar("_T")


class LRUCache(Generic[_T]):
    """Thread-safe LRU cache, limited by the total size of its values (without `size_of`: 1 each).

    One thread computes a missing value; threads that need the same one wait for it.
    """

    def __init__(
        self, max_size: float = math.inf, size_of: Callable[[_T], int] = lambda _: 1
    ) -> None:
        self._max_size, self._size_of, self._size = max_size, size_of, 0
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, _T] = OrderedDict()
        self._pending: dict[Hashable, threading.RLock] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the value under a key, computing it if it is missing."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            pending = self._pending.setdefault(key, threading.RLock())
        with pending:
            try:
                with self._lock:
                    if key in self._values:
                        return self._values[key]
                value = compute()
                self.put(key, value)
                return value
            finally:  # an error must leave no lock behind
                self._pending.pop(key, None)

    def put(self, key: Hashable, value: _T) -> None:
        """Store a value. Evict the least recently used ones beyond the limit."""
        with self._lock:
            self._values[key] = value
            self._size += self._size_of(value)
            while self._size > self._max_size and len(self._values) > 1:
                self._size -= self._size_of(self._values.popitem(last=False)[1])


class TTLCache(Generic[_T]):
    """One value that is computed again after some seconds, for what changes without mail."""

    seconds = 5.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entry: tuple[float, _T] | None = None

    def get(self, compute: Callable[[], _T]) -> _T:
        """Return the value. One thread computes it, and the others wait."""
        with self._lock:
            now = time.monotonic()
            if self._entry is None or now - self._entry[0] >= self.seconds:
                self._entry = (now, compute())
            return self._entry[1]


# Rendered pages


PAGE_TTL = 2.0  # seconds
MAX_PATH = 2_000  # characters; a longer address is not cached
_MAX_PAGES = 2_000
_PAGE_OVERHEAD = 500  # bytes per entry, approximately
_MIN_GZIP_SIZE = 2_000  # bytes
_GZIP_LEVEL = 5
GZIP = "gzip"
_MAX_PAGE_BYTES = 32 * 1024 * 1024
PageKey: TypeAlias = tuple[str, bool, frozenset[str] | None]  # path, is JSON, guest scope


class ResponseBody(NamedTuple):
    """A response body with its media type, ETag and gzipped form."""

    body: bytes
    media_type: str
    etag: str
    gzipped: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, text: str, media_type: str, identity: str | None = None) -> ResponseBody:
        """Encode a text and compute its ETag, from `identity` if a part of the text is random."""
        body = text.encode(errors="replace")
        known = body if identity is None else identity.encode(errors="replace")
        return cls(body, media_type, f'"{sha256(known).hexdigest()[:32]}"')

    def with_gzip(self) -> ResponseBody:
        """Return the same with a gzipped body, if it is large enough.

        The compressed size reveals something of the content. So a page that reflects a request must
        not contain a constant secret: form tokens are masked (see `Login.form_token`).
        """
        if len(self.body) < _MIN_GZIP_SIZE:
            return self
        return self._replace(gzipped=gzip.compress(self.body, _GZIP_LEVEL, mtime=0))


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an `Accept-Encoding` header allows gzip."""
    for each in accept_encoding.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";q=")
        if name == GZIP:
            return weight.strip("0.") != "" or not weight
    return False


class PageCache:
    """Short-lived cache of rendered pages, keyed by path, format and guest scope.

    A page depends on the address, the mail and the time, and sometimes on files. A cached page is
    reused for `ttl` seconds (2 by default) if it contains all mail, so nothing on it is older than
    that. Pages for one person alone are never cached. Use it only from the thread of the event
    loop.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, ttl: float = PAGE_TTL
    ) -> None:
        self._clock = clock
        self._ttl = ttl
        # Each with its cursor and the time at which it was stored
        self._entries: OrderedDict[PageKey, tuple[ResponseBody, MailCursor, float]] = OrderedDict()
        self._bytes = 0
        self._turns: dict[PageKey, anyio.Lock] = {}
        self._waiting: Counter[PageKey] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: PageKey, cursor: MailCursor) -> ResponseBody | None:
        """Return the cached body if it contains all mail up to the cursor, else None."""
        if key not in self._entries:
            return None
        body, seen, at = self._entries[key]
        age = self._clock() - at
        # A request that began a moment ago may get newer mail. Later it is a restored store.
        is_restored = seen.position > cursor.position and age >= PAGE_TTL
        return body if age < self._ttl and seen.includes(cursor) and not is_restored else None

    def keep(self, key: PageKey, cursor: MailCursor, body: ResponseBody) -> None:
        """Cache a body. Drop expired entries, then the oldest ones beyond the limits."""
        if len(key[0]) > MAX_PATH:
            return
        now = self._clock()
        self._drop(key)
        self._entries[key] = (body, cursor, now)
        self._bytes += _entry_size(key, body)
        while (oldest := next(iter(self._entries))) != key and (
            self._bytes > _MAX_PAGE_BYTES
            or len(self._entries) > _MAX_PAGES
            or now - self._entries[oldest][2] >= self._ttl
        ):
            self._drop(oldest)

    def _drop(self, key: PageKey) -> None:
        if key in self._entries:
            self._bytes -= _entry_size(key, self._entries.pop(key)[0])

    @asynccontextmanager
    async def turn(self, key: PageKey) -> AsyncIterator[None]:
        """Hold the lock of a key, so that only one request renders that page."""
        lock = self._turns.setdefault(key, anyio.Lock())
        self._waiting[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._turns[key]


def _entry_size(key: PageKey, body: ResponseBody) -> int:
    return len(body.body) + len(body.gzipped) + 4 * len(key[0]) + _PAGE_OVERHEAD
