"""Items of sessions for the search and the palette: their texts, and which match a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.diff import value_text
from brenner.mail.search import tokenize
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import RESEARCH_THREAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from brenner.artifact.model import Artifact, Item, KillRecord
    from brenner.mail.search import Query

_HEADINGS = ("name", "condition")


class IndexedItem(NamedTuple):
    """An item of the latest version of a session. `text` has a line for each of its other texts.

    `name_words` and `words` are the folded words of the name and of all texts, between spaces.
    """

    session: str
    section: str
    id: str
    name: str
    text: str
    name_words: str
    words: str
    killed: KillRecord | None = None

    @property
    def size(self) -> int:
        """The approximate size in memory, in characters."""
        return len(self.text) + len(self.words) + 2 * len(self.name)


def index_artifact(thread_id: str, artifact: Artifact) -> tuple[IndexedItem, ...]:
    """Index all items of an artifact, in its order. Empty parts are left out."""
    return tuple(
        _index_item(thread_id, section.id, item)
        for section, item in artifact.all_items()
        if item.fields or item.killed
    )


def _index_item(thread_id: str, section: str, item: Item) -> IndexedItem:
    is_question = section == RESEARCH_THREAD.id
    name = item.text("statement") if is_question else item.title
    text = "\n".join(_texts(item, ("statement",) if is_question else _HEADINGS))
    name_words = _words(name)
    reason = item.killed.reason if item.killed else ""
    words = f"{_words(item.id)}\n{name_words}\n{_words(text)}\n{_words(reason)}"
    return IndexedItem(thread_id, section, item.id, name, text, name_words, words, item.killed)


def _texts(item: Item, headings: tuple[str, ...]) -> Iterator[str]:
    """Yield the other texts. IDs of sessions in references would be found by their words."""
    for name, value in item.fields.items():
        is_text = name not in (*headings, "references") and not isinstance(value, bool)
        if is_text and (text := value_text(value)):
            yield text


def _words(text: str) -> str:
    return f" {' '.join(tokenize(text))} "


# Matching


class FoundItems(NamedTuple):
    """The best matches, and the number of all."""

    items: tuple[IndexedItem, ...] = ()
    total: int = 0


NO_ITEMS = FoundItems()


def asks_for_items(query: Query) -> bool:
    """Return whether items can match a query. The other filters are about messages."""
    return not (
        query.types
        or query.senders
        or query.is_unread
        or query.needs_ack
        or query.before
        or query.after
    )


def find_items(
    query: Query, sessions: Iterable[Iterable[IndexedItem]], most: int = 50
) -> FoundItems:
    """Return the items that match every word and filter, the best first.

    An ID that the query names comes before names, and these before other texts. Killed items come
    after active ones. Otherwise the order is that of the sessions and of their artifacts.
    """
    phrases = [f" {' '.join(phrase)} " for phrase in query.phrases]
    if not asks_for_items(query) or not (phrases or query.items):
        return NO_ITEMS
    ids = {phrase.strip().upper() for phrase in phrases}
    found = [
        item
        for items in sessions
        for item in items
        if (not query.items or item.id in query.items)
        and (not query.threads or item.session in query.threads)
        and all(phrase in item.words for phrase in phrases)
    ]

    def rank(item: IndexedItem) -> tuple[int, bool]:
        in_name = all(phrase in item.name_words for phrase in phrases)
        return (0 if item.id in ids else 1 if in_name else 2, item.killed is not None)

    return FoundItems(tuple(sorted(found, key=rank)[:most]), len(found))
