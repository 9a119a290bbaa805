"""Other people's Markdown on our pages: typeset, cleaned, and whole.

What cannot be typeset, because it is too long or nests too deep, is shown as plain text, and the
page says so.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from threading import Lock
from typing import NamedTuple, cast

from markupsafe import Markup

from brenner.artifact.html import lines_html
from brenner.protocol.grammar import ITEM_ID_IN_PROSE
from brenner.web.allowed_html import PLACE, cleaned
from brenner.web.markdown_parser import MOST_NESTING, Linked, TooDeep, to_html
from brenner.web.markdown_work import MOST_WORK, Account, TooMuchWork, weight

MOST_TYPESET = 200_000  # characters; to parse more would take seconds
MOST_SHOWN = 500_000  # a browser suffers from more; and to spell out hidden ones takes long
_MOST_KEPT = 30_000_000  # characters of HTML, of all texts together
_PART_SIZE = 300  # what a piece takes beside its characters
_PLACE = re.compile(f'<hr {PLACE}="([0-9]+)">')
_NONE: frozenset[str] = frozenset()


class Part(NamedTuple):
    """A piece of the HTML of a text, and the number of the delta block that stands behind it."""

    html: Markup
    block: int | None = None


def markdown(text: str, thread_id: str | None = None, known: Iterable[str] = ()) -> Markup:
    """A text of somebody else's as HTML. IDs that are `known` are links into the thread."""
    return parts(text, thread_id, known)[0].html


def parts(
    text: str,
    thread_id: str | None = None,
    known: Iterable[str] = (),
    blocks: Iterable[Mapping[str, object]] = (),
) -> tuple[Part, ...]:
    """The same in pieces, between which the page shows what became of each delta block.

    `blocks` have a `line`, on which their fence begins, and a `block`, their number. Those that the
    text does not show stand after it: none is left out.
    """
    return _typeset(text, thread_id, known, blocks).parts


def work_of(
    text: str,
    thread_id: str | None = None,
    known: Iterable[str] = (),
    blocks: Iterable[Mapping[str, object]] = (),
) -> int:
    """How much work it was to typeset this, for pages that show many texts."""
    return _typeset(text, thread_id, known, blocks).work


class _Typeset(NamedTuple):
    """A text as it is shown, and the work that it took."""

    parts: tuple[Part, ...]
    work: int

    @property
    def size(self) -> int:
        """What it takes to keep it, about."""
        return sum(_PART_SIZE + len(each.html) for each in self.parts)


def _typeset(
    text: str,
    thread_id: str | None,
    known: Iterable[str],
    blocks: Iterable[Mapping[str, object]],
) -> _Typeset:
    places = {cast("int", each["line"]): cast("int", each["block"]) for each in blocks}
    named = {match[0] for match in ITEM_ID_IN_PROSE.finditer(text)} if thread_id else _NONE
    linked = Linked(thread_id or "", frozenset(named & set(known)), places)
    return _KEPT.get(text, linked)


class _Kept:
    """The HTML of texts that were shown lately, by their digest; so many characters of it."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._found: OrderedDict[bytes, _Typeset] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, linked: Linked) -> _Typeset:
        """What is kept of a text, or else made of it now."""
        beside = (linked.thread_id, sorted(linked.known), sorted(linked.places.items()))
        key = sha256(f"{beside!r}\n{text}".encode(errors="surrogatepass")).digest()
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = _make(text, linked)
        with self._lock:
            if key not in self._found:
                self._found[key] = made
                self._size += made.size
            while self._size > self._most:
                self._size -= self._found.popitem(last=False)[1].size
        return made


_KEPT = _Kept(_MOST_KEPT)


def _make(text: str, linked: Linked) -> _Typeset:
    account = Account(min(weight(text), MOST_WORK))
    most = account.left
    pieces = _PLACE.split(cleaned(_html(text, linked, account)))
    found = [*map(int, pieces[1::2]), None]
    shown = [Part(_clean(piece), number) for piece, number in zip(pieces[::2], found, strict=True)]
    unseen = (number for number in linked.places.values() if number not in set(found))
    return _Typeset((*shown, *(Part(Markup(""), number) for number in unseen)), most - account.left)


def _html(text: str, linked: Linked, account: Account) -> str:
    if len(text) > MOST_TYPESET:
        return "".join(_plain(text, f"it has {len(text):,} characters"))
    try:
        return to_html(text, linked, account)
    except TooDeep:
        why = f"its quotations and lists are {MOST_NESTING} or more deep in one another"
    except TooMuchWork:
        why = "it has so many marks, lines or cells that it would take too long to typeset them"
    return "".join(_plain(text, why))


def _plain(text: str, why: str) -> Iterator[str]:
    """The text as it is, and the reason."""
    yield f'<p class="why-plain">Shown as plain text: {why}.</p>'
    shown = text[:MOST_SHOWN].replace("\r\n", "\n")
    yield f"<pre><code>{lines_html(shown)}</code></pre>"
    if len(text) > MOST_SHOWN:
        left = len(text) - MOST_SHOWN
        yield f'<p class="why-plain">Cut here: {left:,} more characters are in the raw text.</p>'


def _clean(html: str) -> Markup:
    """What has been cleaned; the one place that says so."""
    return Markup(html)  # noqa: S704
