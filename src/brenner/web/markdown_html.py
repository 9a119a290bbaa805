"""Other people's Markdown on our pages: typeset, cleaned, and whole.

What cannot be typeset, because it is too long or nests too deep, is shown as plain text, and the
page says so.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import NamedTuple, cast

from markupsafe import Markup

from brenner.web.allowed_html import PLACE, cleaned
from brenner.web.markdown_parser import MOST_NESTING, TooDeep, lines_spelled, to_html

MOST_TYPESET = 200_000  # characters; to parse more would take seconds
MOST_SHOWN = 1_000_000
_MOST_KEPT = 30_000
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
    places = tuple((cast("int", each["line"]), cast("int", each["block"])) for each in blocks)
    linked = frozenset(known) if thread_id else _NONE
    make = _kept if len(text) <= _MOST_KEPT else _parts
    return make(text, thread_id or "", linked, places)


def _parts(
    text: str, thread_id: str, known: frozenset[str], places: tuple[tuple[int, int], ...]
) -> tuple[Part, ...]:
    html = cleaned(_html(text, thread_id, known, dict(places)))
    pieces = _PLACE.split(html)
    found = [*map(int, pieces[1::2]), None]
    shown = [Part(_clean(piece), number) for piece, number in zip(pieces[::2], found, strict=True)]
    return (*shown, *(Part(Markup(""), number) for _, number in places if number not in found))


_kept = lru_cache(maxsize=400)(_parts)


def _html(text: str, thread_id: str, known: frozenset[str], places: Mapping[int, int]) -> str:
    if len(text) > MOST_TYPESET:
        return "".join(_plain(text, f"it has {len(text):,} characters"))
    try:
        return to_html(text, thread_id, known, places)
    except TooDeep:
        why = f"its quotations and lists are {MOST_NESTING} or more deep in one another"
        return "".join(_plain(text, why))


def _plain(text: str, why: str) -> Iterator[str]:
    """The text as it is, and the reason."""
    yield f'<p class="why-plain">Shown as plain text: {why}.</p>'
    shown = text[:MOST_SHOWN].replace("\r\n", "\n")
    yield f"<pre><code>{escape(lines_spelled(shown))}</code></pre>"
    if len(text) > MOST_SHOWN:
        left = len(text) - MOST_SHOWN
        yield f'<p class="why-plain">Cut here: {left:,} more characters are in the raw text.</p>'


def _clean(html: str) -> Markup:
    """What has been cleaned; the one place that says so."""
    return Markup(html)  # noqa: S704
