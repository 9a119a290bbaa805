"""The ACKs of a thread: those that are owed, and those that were given."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from brenner.markdown.blocks import blocks
from brenner.protocol.body import find_section, named_in, says_just, sections
from brenner.protocol.message_types import ACK, ACK_STATUSES, wants_ack
from brenner.session.letters import Letter
from brenner.session.rebuild import Filed
from brenner.session.status import OpenAck

_COMPLETED = ACK_STATUSES[-1]


class Given(NamedTuple):
    """An ACK: who gave it, for which contents, and whether she says that she has done her part."""

    sender: str
    contents: frozenset[str]
    is_completed: bool


def open_acks(thread: Sequence[Letter]) -> tuple[OpenAck, ...]:
    """What is owed, the oldest first: copies of a message are owed once, as a mailbox has it."""
    settled = {
        (number, each.message.sender) for each in thread for number in each.filed.acknowledges
    }
    copies: dict[tuple[str, str], list[Letter]] = {}
    for each in thread:
        for name in debtors(each):
            if (each.id, name) not in settled:
                copies.setdefault((name, each.content), []).append(each)
    owed = [_open_ack(name, group) for (name, _), group in copies.items()]
    return tuple(sorted(owed, key=lambda each: (each.since, each.message_id, each.debtor)))


def debtors(letter: Letter) -> tuple[str, ...]:
    """Who owes an ACK for a message when it comes in."""
    message = letter.message
    if not wants_ack(message):
        return ()
    return tuple(name for name in dict.fromkeys(message.recipients) if name != message.sender)


def _open_ack(debtor: str, copies: Sequence[Letter]) -> OpenAck:
    first, last = copies[0], copies[-1]
    return OpenAck(
        debtor=debtor,
        message_id=first.id,
        last_message_id=last.id,
        times_sent=len(copies),
        type=first.type,
        sender=first.message.sender,
        subject=first.message.subject,
        since=first.at,
        last_sent=last.at,
    )


def given_acks(thread: Sequence[Letter], contents: Collection[str]) -> tuple[Given, ...]:
    """The ACKs about any of these contents, in their order: what they settled, and what they name.

    An ACK may name what nobody owed one for, or what was acknowledged before. It can mean only
    what was there when it came in, so that no more of them are read than came in after it.
    """
    about = [each for each in thread if each.content in contents]
    first = min((each.filed.arrival for each in about), default=None)
    if first is None:
        return ()
    named = _Numbers(about)
    acks = (each for each in thread if each.type == ACK.name and each.filed.arrival > first)
    given = (_given(each, named) for each in acks)
    return tuple(each for each in given if each.contents)


class _Numbers:
    """Messages by their numbers: those in an ACK are of the store in which it was written."""

    def __init__(self, about: Iterable[Letter]) -> None:
        self._here = {each.id: each for each in about}
        imported = (each for each in self._here.values() if not each.filed.is_local)
        self._elsewhere = {each.filed.origin_id: each for each in imported}

    def contents(self, ack: Filed, named: Sequence[int]) -> Iterator[str]:
        """What an ACK is about: what it settled and what it names, or else what it replies to."""
        written = self._here if ack.is_local else self._elsewhere
        found = [*map(self._here.get, ack.acknowledges), *map(written.get, named)]
        if not named and ack.reply_to is not None:
            found.append(self._here.get(ack.reply_to))
        return (each.content for each in found if each and each.filed.arrival < ack.arrival)


def _given(ack: Letter, numbers: _Numbers) -> Given:
    found = sections(blocks(ack.message.body))
    contents = frozenset(numbers.contents(ack.filed, named_in(found)))
    status = find_section(found, "Status")
    is_completed = status is not None and says_just(status.chosen_line, _COMPLETED)
    return Given(ack.message.sender, contents, is_completed)
