"""What makes a message findable: its words, tags for filters, and the times around it."""

from brenner.mail.model import Stored, type_of
from brenner.mail.sqlite.database import Database
from brenner.mail.sqlite.rows import microseconds
from brenner.mail.words import items_of, words_of

SPAN = 1_000  # arrivals


def index(database: Database, stored: Stored, thread: int, sender: int) -> None:
    """Make a message findable, by its words and by tags for what filters ask."""
    message = stored.message
    items = items_of(f"{message.subject}\n{message.body}")
    tags = [tag("thread", thread), tag("sender", sender)]
    tags += [tag("item", item) for item in items]
    tags += [tag("type", name) for name in [type_of(message)] if name]
    texts = (" ".join(words_of(message.subject)), " ".join(words_of(message.body)), " ".join(tags))
    database.execute(
        "INSERT INTO search (rowid, subject, body, tags) VALUES (?, ?, ?, ?)",
        (stored.arrival, *texts),
    )


def tag(kind: str, value: str | int) -> str:
    """What a filter asks for, as a word that no text has: a text is in other columns."""
    return f"{kind}{value}".lower()


def note_time(database: Database, stored: Stored) -> None:
    """Keep the span of times of the arrivals around this one."""
    database.execute(
        "INSERT INTO spans VALUES (?1, ?2, ?2) ON CONFLICT DO UPDATE"
        " SET first_at = min(first_at, ?2), last_at = max(last_at, ?2)",
        (stored.arrival // SPAN, microseconds(stored.at)),
    )
