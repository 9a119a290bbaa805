"""The index of words in SQLite (FTS5). It is read in the order of arrivals."""

from typing import TYPE_CHECKING

from brenner.mail.model import Stored
from brenner.mail.query import Query
from brenner.mail.sql.database import Look, Numbers, Statements
from brenner.mail.sql.tags import asked_tags, tags_of
from brenner.mail.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable


class WordIndex:
    """The table `search`. A tag is a word like others, in a column of its own."""

    def __init__(self, database: Statements) -> None:
        self._database = database

    def add(self, stored: Stored, thread: int, sender: int) -> None:
        """Make a message findable."""
        message = stored.message
        texts = (words_of(message.subject), words_of(message.body), tags_of(stored, thread, sender))
        self._database.execute(
            "INSERT INTO search (rowid, subject, body, tags) VALUES (?, ?, ?, ?)",
            (stored.arrival, *map(" ".join, texts)),
        )

    def look(self, query: Query, numbers: Numbers) -> Look | None:
        """The query in the language of FTS5.

        Words hold letters, digits and § only, so nothing in them can be taken for an operator.
        """
        parts = [f'{{subject body}} : "{" ".join(phrase)}"' for phrase in query.phrases]
        parts += [f"tags : ({' OR '.join(_quoted(tags))})" for tags in asked_tags(query, numbers)]
        if not parts:
            return None
        expression = " AND ".join(f"({part})" for part in parts)
        source = "search f CROSS JOIN messages m"
        return Look(source, "f.rowid", ("search MATCH ?", "m.arrival = f.rowid"), (expression,))


def _quoted(words: "Iterable[str]") -> list[str]:
    return [f'"{word}"' for word in words]
