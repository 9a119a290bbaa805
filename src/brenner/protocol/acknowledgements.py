"""Which owed ACKs a message settles (message document, ACK Semantics; R24; Small decisions).

If an ACK is required, each recipient except the sender has to send one. The requirement is about
the content: one ACK acknowledges every copy of the message that the agent has not acknowledged.
A contribution and the end of a session settle ACKs, too. Every store and the status of a session
use the functions of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.body import BodySection, find_section, parse_sections
from brenner.protocol.grammar import ACKNOWLEDGED_IDS
from brenner.protocol.message_types import DELTA, KICKOFF, wants_ack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from brenner.protocol.messages import Message

_MESSAGE_ID_SECTION = "Message ID"
_DIGITS = lazy_pattern(r"[0-9]+")
_MOST_DIGITS = 18  # no ID is that long; a longer number names an unknown message
_INLINE_MARKS = lazy_pattern(r"[*_`\[\]]")
UNREADABLE_IDS = (0,)  # an ID that no message has


def acknowledged_ids(body: str, reply_to: int | None = None) -> tuple[int, ...]:
    """Return the message IDs that an ACK names: under `## Message ID`, on one line or as a list.

    If it names none, because there is no such section or only words in it, the result is the
    message that the ACK replies to, if any. A number that is no ID gives `UNREADABLE_IDS`.
    """
    return acknowledged_ids_in(parse_sections(parse_blocks(body)), reply_to)


def acknowledged_ids_in(under: list[BodySection], reply_to: int | None = None) -> tuple[int, ...]:
    """Do the same as `acknowledged_ids` for a body whose sections are parsed already."""
    section = find_section(under, _MESSAGE_ID_SECTION)
    named: dict[int, None] = {}
    for line in _leading_lines(section) if section else ():
        found = ACKNOWLEDGED_IDS.match(_INLINE_MARKS.sub("", line).lstrip("-+• \t"))
        if found is None:
            break
        named |= dict.fromkeys(int(digits[:_MOST_DIGITS]) for digits in _DIGITS.findall(found[1]))
    if section and not named and _DIGITS.search(section.first_line):
        return UNREADABLE_IDS
    return tuple(named) or (() if reply_to is None else (reply_to,))


def _leading_lines(section: BodySection) -> Iterator[str]:
    for block in section.contents:
        if block.kind is not BlockKind.PARAGRAPH or block.quoted:
            return
        yield from block.text.strip().split("\n")


def settled_message_ids(
    named: Collection[int], named_contents: Collection[str], owed: Iterable[tuple[int, str]]
) -> tuple[int, ...]:
    """Return the messages that an ACK acknowledges, of those that its sender still owes one.

    `named` are the IDs in the ACK, `named_contents` the content hashes of the thread's messages
    with these IDs, and `owed` the ID and content hash of each message that the sender of the ACK
    has not acknowledged. An ACK that names none acknowledges the only open message; if several are
    open, it acknowledges none.
    """
    debts = list(owed)
    contents = {content_hash for _, content_hash in debts}
    if named:
        contents &= set(named_contents)
    elif len(contents) > 1:
        contents = set()
    return tuple(message_id for message_id, content_hash in debts if content_hash in contents)


# ACKs that settle without an ACK (R24)


class SettledDebts(NamedTuple):
    """The owed ACKs of a thread that a message settles: those of a type and of a debtor.

    None stands for every type, and for every debtor.
    """

    type: str | None = None
    debtor: str | None = None

    def includes(self, message_type: str | None, debtor: str) -> bool:
        return self.type in (None, message_type) and self.debtor in (None, debtor)


def debts_settled_by(message: Message, *, ends_session: bool) -> SettledDebts | None:
    """Return the earlier debts of its thread that a message settles, although it is no ACK.

    A contribution confirms receipt of the kickoffs. The end of the session settles everything.
    """
    if ends_session:
        return SettledDebts()
    if message.type == DELTA.name:
        return SettledDebts(KICKOFF.name, message.sender)
    return None


def debtors(message: Message) -> tuple[str, ...]:
    """Return the agents that owe an ACK for a message when it arrives."""
    if not wants_ack(message):
        return ()
    return tuple(name for name in dict.fromkeys(message.recipients) if name != message.sender)
