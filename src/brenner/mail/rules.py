"""What every home holds to when it takes a message in. Pure: the clock's time is an argument."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from brenner.diagnostics.codes import mail as codes
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.limits import MOST_BODY_BYTES, MOST_KEY_BYTES
from brenner.mail.model import Debt, Envelope, InboxFilter, Received, Since, Stored, Trust
from brenner.mail.query import Query
from brenner.protocol.message_types import COMPILED, DELTA, INFO, KICKOFF
from brenner.protocol.messages import Message, in_thread_order
from brenner.session.versions import is_decision
from brenner.text import nearest, perhaps

# A clock that is set back a little must not put an answer before its question. One that is set
# back by more was wrong before, and is right now.
SMOOTHED = timedelta(hours=1)


def next_time(now: datetime, last: datetime | None) -> datetime:
    """The time of a new message, given the last one that this store gave."""
    return last if last and now < last <= now + SMOOTHED else now


def prepared(message: Message) -> Message:
    """The message as it is stored: each recipient once."""
    return message._replace(recipients=tuple(dict.fromkeys(message.recipients)))


def prepared_envelope(envelope: Envelope, message: Message) -> Envelope:
    """The envelope as it is stored. Copies go to recipients, and what is not told is not trusted.

    A copy for anybody else would be lost in silence: that is a mistake of the program.
    """
    copies = tuple(dict.fromkeys(envelope.cc))
    strangers = [name for name in copies if name not in message.recipients]
    if strangers:
        reason = f"copies for {', '.join(strangers)}, to whom the message does not go"
        raise ValueError(reason)
    return envelope._replace(cc=copies, trust=envelope.trust or Trust.UNVERIFIED)


def in_thread(message: Message, message_id: int) -> Message:
    """The message as the one of that id: without a thread it begins one, called after it."""
    return message if message.thread_id else message._replace(thread_id=str(message_id))


def check_storable(message: Message, known: Collection[str], key: str | None = None) -> None:
    """Refuse what no home could keep whole, or could deliver to nobody."""
    found = _first_refusal(message, known) or _check_key(key)
    if found:
        raise Refused(found)


def _first_refusal(message: Message, known: Collection[str]) -> Diagnostic | None:
    fields = {
        "thread": message.thread_id,
        "subject": message.subject,
        "body": message.body,
    }
    for what, text in fields.items():
        found = unstorable(what, text, MOST_BODY_BYTES)
        if found:
            return found
    return (
        unknown_sender(message.sender, known)
        or next(iter(unknown_recipients(message, known)), None)
        or (None if message.recipients else codes.SENT_TO_NOBODY.at())
    )


def unstorable(what: str, text: str, most: int) -> Diagnostic | None:
    """Why a text cannot be kept as it is, in any home."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return codes.UNSTORABLE_TEXT.at(what=what, reason="it holds half of a character")
    if "\0" in text:
        return codes.UNSTORABLE_TEXT.at(what=what, reason="it holds a NUL character")
    if size > most:
        return codes.FIELD_TOO_LONG.at(what=what, most=most)
    return None


def _check_key(key: str | None) -> Diagnostic | None:
    return unstorable("key", key, MOST_KEY_BYTES) if key is not None else None


def unknown_sender(name: str, known: Collection[str]) -> Diagnostic | None:
    """Who sends must be registered."""
    if name in known:
        return None
    return codes.UNKNOWN_SENDER.at(name=name, suggestion=perhaps(nearest(name, known)))


def unknown_recipients(message: Message, known: Collection[str]) -> list[Diagnostic]:
    """A message to somebody who does not exist would be lost in silence."""
    return [
        codes.UNKNOWN_RECIPIENT.at(name=name, suggestion=perhaps(nearest(name, known)))
        for name in message.recipients
        if name not in known
    ]


def no_such_agent(name: str, known: Collection[str]) -> Refused:
    """Somebody asked about a name that is not registered."""
    return Refused(codes.NO_SUCH_AGENT.at(name=name, suggestion=perhaps(nearest(name, known))))


def unknown_thread(thread_id: str, known: Iterable[str]) -> Refused:
    """Somebody asked about a thread that nobody has written to."""
    suggestion = perhaps(nearest(thread_id, known))
    return Refused(codes.UNKNOWN_THREAD.at(thread=thread_id, suggestion=suggestion))


def check_reply(reply_to: Stored, message: Message) -> None:
    """An answer stands in the thread of its question."""
    if reply_to.message.thread_id != message.thread_id:
        thread = reply_to.message.thread_id
        raise Refused(codes.REPLY_ELSEWHERE.at(id=reply_to.id, thread=thread))


def decides(message: Message, operator: str | None) -> bool | None:
    """Return whether a decision counts, now that it is stored; None where there is none.

    Settled here, it does not depend on what the operator is called later.
    """
    if operator is None or not is_decision(message):
        return None
    return message.sender == operator


def check_same(
    key: str, first: Stored, message: Message, reply_to: int | None, envelope: Envelope
) -> None:
    """A key that was used before must come with the same message.

    How urgent it is and for whom it is a copy belong to it. How its sender is known does not: who
    repeats a send may have shown a secret meanwhile.
    """
    again = in_thread(message, first.id)
    if not is_same(first, again, envelope) or first.reply_to != reply_to:
        found = codes.KEY_REUSED.at(key=key, id=first.id)
        raise Refused(found._replace(message_id=first.id))


def is_same(first: Stored, message: Message, envelope: Envelope) -> bool:
    """Whether it is that message, with the same on its envelope."""
    return first.message == message and first.envelope == envelope._replace(
        trust=first.envelope.trust
    )


def check_position(thread_id: str, expected: int | Since | None, position: int) -> None:
    """A conditional send goes through only if nobody has written to the thread meanwhile."""
    if isinstance(expected, int) and expected != position:
        raise Refused(codes.THREAD_MOVED.at(thread=thread_id, expected=expected, position=position))


def overtaking(since: Since, arrived: Iterable[Stored]) -> Stored | None:
    """Return the first of these messages that breaks the condition, or None.

    Other mail never does: otherwise any agent could keep versions from being published.
    """
    return next((each for each in arrived if _overtakes(since, each)), None)


def _overtakes(since: Since, stored: Stored) -> bool:
    if stored.arrival <= since.arrival:
        return False
    if stored.type == COMPILED.name:
        return True
    if stored.type in (KICKOFF.name, DELTA.name):
        return since.contributions
    counts = stored.decides
    if counts is None:
        counts = stored.message.sender in since.operators
    return stored.type == INFO.name and counts and is_decision(stored.message)


def check_since(thread_id: str, since: Since, arrived: Iterable[Stored]) -> None:
    """Refuse a conditional send if one of the messages that came in breaks its condition."""
    found = overtaking(since, arrived)
    if found:
        words = {"thread": thread_id, "type": found.type or "", "id": str(found.id)}
        raise Refused(codes.VERSION_OVERTAKEN.at(None, **words)._replace(message_id=found.id))


def check_recipient(stored: Stored, name: str) -> None:
    """Only a recipient can mark or acknowledge a message."""
    if name not in stored.message.recipients:
        recipients = ", ".join(stored.message.recipients)
        raise Refused(codes.NOT_A_RECIPIENT.at(id=stored.id, name=name, recipients=recipients))


def check_reader(query: Query, reader: str | None) -> None:
    """Some filters ask about somebody's own inbox."""
    for name, is_asked in (("is:unread", query.is_unread), ("needs:ack", query.needs_ack)):
        if is_asked and reader is None:
            raise Refused(codes.FILTER_NEEDS_READER.at(filter=name))


def fits(wanted: InboxFilter, received: Received) -> bool:
    """Whether a message of an inbox is one of those asked for."""
    stored = received.stored
    return (
        not (wanted.unread and received.is_read)
        and (received.owes_ack or not wanted.owed)
        and (not wanted.types or stored.type in wanted.types)
        and wanted.thread_id in (None, stored.message.thread_id)
    )


def grouped_debts(open_debts: Iterable[tuple[str, Stored]]) -> tuple[Debt, ...]:
    """Debts by debtor and content, the oldest first: copies of a message are owed once."""
    copies: dict[tuple[str, str], list[Stored]] = {}
    for debtor, stored in open_debts:
        copies.setdefault((debtor, stored.content_hash), []).append(stored)
    debts = []
    for (debtor, _), group in copies.items():
        group.sort(key=order)
        debts.append(Debt(debtor, group[0], group[-1], len(group)))
    return tuple(sorted(debts, key=lambda debt: (order(debt.first), debt.debtor)))


def order(stored: Stored) -> tuple[datetime, int]:
    """The sort key of a thread and, backwards, of an inbox (R9)."""
    return in_thread_order(stored.posted)
