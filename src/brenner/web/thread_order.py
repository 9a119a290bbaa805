"""Where messages stand in their thread: in which round, on which page, under what they answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from brenner.mail.model import Stored
from brenner.web import links
from brenner.web.reading import Session

ON_A_PAGE = 100  # messages


class Place(NamedTuple):
    """The round of a message, and how many of the round stand before it."""

    round: int
    before: int


def places(session: Session) -> Mapping[int, Place]:
    """The place of every message, by its number."""
    return {
        filed.posted.id: Place(each.number, index)
        for each in session.rounds
        for index, filed in enumerate(each.messages)
    }


def by_number(session: Session) -> Mapping[int, Stored]:
    """Every message by its number, in the order of the thread."""
    return {each.id: each for each in session.stored}


def replies(session: Session) -> Mapping[int, Sequence[Stored]]:
    """What answers each message, in order; a copy of it answers nothing."""
    known, found = session.once(by_number), dict[int, list[Stored]]()
    for each in session.stored:
        if each.reply_to and each.reply_to in known and copied(session, each) is None:
            found.setdefault(each.reply_to, []).append(each)
    return found


def copied(session: Session, stored: Stored) -> int | None:
    """The message that this one repeats: it names it, and is the same."""
    first = session.once(by_number).get(stored.reply_to or 0)
    return first.id if first and first.content_hash == stored.content_hash else None


def address(session: Session, message_id: int) -> str | None:
    """Where the thread's page shows a message; None where it is not in this thread."""
    place = session.once(places).get(message_id)
    if place is None:
        return None
    page = place.before // ON_A_PAGE + 1
    asked = {"round": place.round, "page": page if page > 1 else None}
    return f"{links.session(session.thread_id, 'thread', **asked)}#m{message_id}"


def as_tree(messages: Sequence[Stored]) -> Iterator[tuple[Stored, int]]:
    """The messages, each before what answers it, and how deep it stands.

    What answers none of those before it is a root.
    """
    below: dict[int | None, list[Stored]] = {None: []}
    for each in messages:
        # Only what stands before it can be answered, so that no circle comes about
        parent = each.reply_to if each.reply_to in below else None
        below[parent].append(each)
        below[each.id] = []
    waiting = [(each, 0) for each in reversed(below[None])]
    while waiting:
        each, depth = waiting.pop()
        yield each, depth
        waiting += [(answer, depth + 1) for answer in reversed(below[each.id])]
