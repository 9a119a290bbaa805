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
_NEW_ENOUGH = timedelta(minutes=1)


class _Kept(NamedTuple):
    page: Page  # without its document
    document: bytes
    at: datetime
    place: Place | None


class LastGood:
    """Documents by address, small; those that nobody has asked for longest go first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._bytes = 0

    def keep(self, address: str, page: Page, at: datetime, place: Place | None) -> None:
        """Keep a page; not again and again while the mail is the same."""
        before = self._kept.get(address)
        if before and before.place == place and at - before.at < _NEW_ENOUGH:
            return
        text = json.dumps(page.document, ensure_ascii=False, separators=(",", ":"))
        document = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        kept = _Kept(page._replace(document={}, cookies=()), document, at, place)
        with self._lock:
            self._drop(address)
            self._kept[address] = kept
            self._bytes += len(kept.document)
            while self._bytes > self._most and self._kept:
                self._drop(next(iter(self._kept)))

    def _drop(self, address: str) -> None:
        gone = self._kept.pop(address, None)
        self._bytes -= len(gone.document) if gone else 0

    def find(self, address: str, absence: Absence) -> Page | None:
        """The page as it was, saying so; None where there is none."""
        with self._lock:
            kept = self._kept.get(address)
            if kept is None:
                return None
            self._kept.move_to_end(address)
        document = json.loads(zlib.decompress(kept.document).decode("utf-8", "surrogatepass"))
        return stale(kept.page._replace(document=document), absence, kept.at)


def stale(page: Page, absence: Absence, as_of: datetime | None) -> Page:
    """A page that tells of an earlier time, or of files alone, because the store is away."""
    told = {**absence.to_json(), "as_of": as_of.isoformat() if as_of else None}
    return page._replace(document={**page.document, "stale": told}, cookies=())
