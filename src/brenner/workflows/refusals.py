"""Tell each author of refused blocks what is wrong with them, once (message document, Error
Responses).
"""

from collections.abc import Iterable

from brenner.artifact.state import Entry, Outcome
from brenner.mail.mailbox import Ability
from brenner.mail.model import Sent, Stored
from brenner.protocol.messages import Message
from brenner.session.validation_reply import compose_refusal
from brenner.workflows.desk import Desk
from brenner.workflows.once import send_once


def notify(desk: Desk, ledger: Iterable[Entry], latest: int) -> tuple[Sent, ...]:
    """Mail the Validation Error reply for every message with refused blocks that has none yet.

    `latest` is the version that the thread has come to; 0 before the first.
    """
    by_message: dict[int, list[Entry]] = {}
    for entry in ledger:
        if entry.state is Outcome.REFUSED:
            by_message.setdefault(entry.message_id, []).append(entry)
    replies = _Replies(desk)
    sent = []
    for number, entries in by_message.items():
        posted = desk.mailbox.message(number).posted
        reply = compose_refusal(posted, tuple(entries), desk.actor, latest)
        sent.append(_send(desk, number, reply, replies))
    return tuple(each for each in sent if each.is_new)


class _Replies:
    """The answers in the thread, read once, and after that only what came in since."""

    def __init__(self, desk: Desk) -> None:
        self._mailbox = desk.mailbox
        self._has_links = Ability.REPLY_LINKS not in desk.mailbox.lacks
        self._arrival = 0
        self._found: dict[tuple[int | None, str], Stored] = {}

    def to(self, message_id: int, reply: Message) -> Stored | None:
        """The first answer to a message with that subject, whoever sent it.

        Where a home keeps no links the subject must do: it names the message.
        """
        for stored in self._mailbox.thread_arrivals(reply.thread_id, self._arrival):
            self._arrival = stored.arrival
            about = stored.reply_to if self._has_links else None
            self._found.setdefault((about, stored.message.subject), stored)
        return self._found.get((message_id if self._has_links else None, reply.subject))


def _send(desk: Desk, message_id: int, reply: Message, replies: _Replies) -> Sent:
    """What a message says never changes, so neither does what is refused in it: one reply does."""
    return send_once(
        desk.mailbox,
        reply,
        lambda: replies.to(message_id, reply),
        key=f"validation error of message {message_id}",
        reply_to=message_id,
    )
