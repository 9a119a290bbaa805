"""The last good page of every address, for while the store is away.

Its document is kept, not its words: how long ago something was is said anew each time.
"""

import json
import threading
import zlib
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.web.page import Page
from brenner.web.place import Place
from brenner.web.store import Absence

MOST_BYTES = 16 * 1024 * 1024
MOST_PAGES = 2_000
MOST_ADDRESS = 2_000  # characters; nobody has followed a longer one to find it again
_BESIDE = 500  # bytes, about, that a page takes beside its texts
_NEW_ENOUGH = timedelta(minutes=1)


class _Kept(NamedTuple):
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


class LastGood:
    """Documents by address, small; those that nobody has asked for longest go first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Asked, _Kept] = OrderedDict()
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
        size = len(document) + 4 * (len(asked.address) + len(page.title)) + _BESIDE
        kept = _Kept(page._replace(document={}, cookies=()), document, at, place, size)
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
