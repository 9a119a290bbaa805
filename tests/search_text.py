"""Write a search query as text, to test that parsing it gives the same query."""

import re

from brenner.mail.search import Query
from brenner.protocol.messages import iso


def render_query(query: Query) -> str:
    """Return a query as text that parses to the same query."""
    chosen = {
        "type": query.types,
        "from": query.senders,
        "thread": query.threads,
        "item": query.items,
        "is": ("unread",) if query.is_unread else (),
        "needs": ("ack",) if query.needs_ack else (),
        "before": (iso(query.before),) if query.before else (),
        "after": (iso(query.after),) if query.after else (),
    }
    terms = [f"{name}:{','.join(map(_quote, values))}" for name, values in chosen.items() if values]
    return " ".join([*terms, *(_quote(" ".join(phrase)) for phrase in query.phrases)])


def _quote(value: str) -> str:
    if re.fullmatch(r'[^\s",“”„]+', value):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
