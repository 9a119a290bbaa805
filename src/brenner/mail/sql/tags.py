"""What an index of words keeps of a message: its words, and tags for what filters ask."""

from brenner.mail.model import Stored, type_of
from brenner.mail.query import Query
from brenner.mail.sql.database import Numbers
from brenner.mail.words import items_of


def tag(kind: str, value: str | int) -> str:
    """What a filter asks for, in one word."""
    return f"{kind}{value}".lower()


def tags_of(stored: Stored, thread: int, sender: int) -> list[str]:
    """The tags of a message."""
    message = stored.message
    items = items_of(f"{message.subject}\n{message.body}")
    tags = [tag("thread", thread), tag("sender", sender)]
    tags += [tag("item", item) for item in items]
    return tags + [tag("type", name) for name in [type_of(message)] if name]


def asked_tags(query: Query, numbers: Numbers) -> list[list[str]]:
    """The tags that a query asks for: one of each group."""
    alternatives = (
        [tag("type", name) for name in query.types],
        [tag("sender", number) for number in numbers.senders],
        [tag("thread", number) for number in numbers.threads],
        [tag("item", item) for item in query.items],
    )
    return [tags for tags in alternatives if tags]
