"""Caches of rendered pages: a short-lived one for concurrent readers, and the last good page of
each address for store outages.
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
from brenner.web.sessions import MailCursor, StoreOutage

PAGE_TTL = 2.0  # seconds
MAX_PATH = 2_000  # characters; a longer address is not cached
_MAX_PAGES = 2_000
_PAGE_OVERHEAD = 500  # bytes per entry, approximately
_MIN_GZIP_SIZE = 2_000  # bytes
_GZIP_LEVEL = 5
GZIP = "gzip"
_MAX_PAGE_BYTES = 32 * 1024 * 1024


class ResponseBody(NamedTuple):
    """A response body with its media type, ETag and gzipped form."""

    body: bytes
    media_type: str
    etag: str
    gzipped: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(cls, text: str, media_type: str) -> "ResponseBody":
        """Encode a text and compute its ETag."""
        body = text.encode(errors="replace")
        return cls(body, media_type, f'"{sha256(body).hexdigest()[:32]}"')

    def with_gzip(self) -> "ResponseBody":
        """Return the same with a gzipped body, if it is large enough.

        Use it only for pages without secrets: the compressed size reveals something of the content.
        """
        if len(self.body) < _MIN_GZIP_SIZE:
            return self
        return self._replace(gzipped=gzip.compress(self.body, _GZIP_LEVEL, mtime=0))

    @property
    def size(self) -> int:
        """Return the memory that a cache entry takes, in bytes."""
        return len(self.body) + len(self.gzipped) + _PAGE_OVERHEAD


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an `Accept-Encoding` header allows gzip."""
    for each in accept_encoding.lower().split(","):
        name, _, weight = each.replace(" ", "").partition(";q=")
        if name == GZIP:
            return weight.strip("0.") != "" or not weight
    return False


class PageKey(NamedTuple):
    """Key of a cached page: path, format and guest scope."""

    path: str
    is_json: bool = False
    guest_of: frozenset[str] | None = None


class _PageEntry(NamedTuple):
    text: ResponseBody
    cursor: MailCursor
    at: float
    size: int


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
        self._entries: OrderedDict[PageKey, _PageEntry] = OrderedDict()
        self._bytes = 0
        self._turns: dict[PageKey, anyio.Lock] = {}
        self._waiting: Counter[PageKey] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: PageKey, cursor: MailCursor) -> ResponseBody | None:
        """Return the cached body under that key if it contains all mail up to the cursor, else
        None.
        """
        entry = self._entries.get(key)
        age = self._clock() - entry.at if entry else 0.0
        if entry is None or age >= self._ttl or not entry.cursor.includes(cursor):
            return None
        # A request that began a moment ago may get newer mail. Later it is a restored store.
        is_ahead = entry.cursor.position > cursor.position
        return None if is_ahead and age >= PAGE_TTL else entry.text

    def keep(self, key: PageKey, cursor: MailCursor, text: ResponseBody) -> None:
        """Cache a body. Drop expired entries, then the oldest ones beyond the limits."""
        if len(key.path) > MAX_PATH:
            return
        now = self._clock()
        self._drop(key)
        self._entries[key] = _PageEntry(text, cursor, now, text.size + 4 * len(key.path))
        self._bytes += self._entries[key].size
        while (oldest := next(iter(self._entries))) != key and (
            self._bytes > _MAX_PAGE_BYTES
            or len(self._entries) > _MAX_PAGES
            or now - self._entries[oldest].at >= self._ttl
        ):
            self._drop(oldest)

    def _drop(self, key: PageKey) -> None:
        dropped = self._entries.pop(key, None)
        self._bytes -= dropped.size if dropped else 0

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


# The last good page of each address


MAX_LAST_GOOD_BYTES = 16 * 1024 * 1024
MAX_LAST_GOOD_PAGES = 2_000
MAX_ADDRESS = 2_000  # characters; a longer address is not stored
_LAST_GOOD_OVERHEAD = 500  # bytes per entry, approximately
_REFRESH_AFTER = timedelta(minutes=1)


class _LastGoodEntry(NamedTuple):
    page: Page  # without its document
    document: bytes
    at: datetime
    cursor: MailCursor | None
    size: int


class LastGoodKey(NamedTuple):
    """Key of a last good page: address, guest scope, and whether the operator is logged in."""

    address: str
    guest_of: frozenset[str] | None = None
    is_operator: bool = False


class LastGoodCache:
    """The last good page of each address, least recently used first out.

    It stores the document, not the HTML, because relative times are rendered anew each time.
    """

    def __init__(self, most_bytes: int = MAX_LAST_GOOD_BYTES) -> None:
        self._max_bytes = most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[LastGoodKey, _LastGoodEntry] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def keep(self, key: LastGoodKey, page: Page, at: datetime, cursor: MailCursor | None) -> None:
        """Store a page, at most once a minute while the mail is the same."""
        before = self._entries.get(key)
        if len(key.address) > MAX_ADDRESS:
            return
        if before and before.cursor == cursor and at - before.at < _REFRESH_AFTER:
            return
        text = json.dumps(page.document, ensure_ascii=False, separators=(",", ":"))
        document = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        size = len(document) + 4 * (len(key.address) + len(page.title)) + _LAST_GOOD_OVERHEAD
        entry = _LastGoodEntry(page._replace(document={}, cookies=()), document, at, cursor, size)
        with self._lock:
            self._drop(key)
            self._entries[key] = entry
            self._bytes += entry.size
            while self._bytes > self._max_bytes or len(self._entries) > MAX_LAST_GOOD_PAGES:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: LastGoodKey) -> None:
        dropped = self._entries.pop(key, None)
        self._bytes -= dropped.size if dropped else 0

    def find(self, key: LastGoodKey, outage: StoreOutage) -> Page | None:
        """Return the page, marked as stale, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
        document = json.loads(zlib.decompress(entry.document).decode("utf-8", "surrogatepass"))
        return mark_stale(entry.page._replace(document=document), outage, entry.at)


def mark_stale(page: Page, outage: StoreOutage, as_of: datetime | None) -> Page:
    """Mark a page as stale because the store is away. `as_of` is None for a page made from
    files.
    """
    notice = {**outage.to_json(), "as_of": as_of.isoformat() if as_of else None}
    return page._replace(document={**page.document, "stale": notice}, cookies=())
