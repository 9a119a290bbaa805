"""What an `ACK:` message acknowledges (message document, ACK Semantics; rulings, Small decisions).

If an ACK is required, each recipient except the sender has to send one. The requirement is about
the content: one ACK acknowledges every copy of the message that the agent has not acknowledged.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from brenner.markdown.blocks import BlockKind, parse_blocks
from brenner.protocol.body import BodySection, find_section, parse_sections
from brenner.protocol.grammar import ACKNOWLEDGED_IDS

_MESSAGE_ID_SECTION = "Message ID"
_DIGITS = re.compile(r"[0-9]+")
_MOST_DIGITS = 18  # no ID is that long; a longer number names an unknown message
_INLINE_MARKS = re.compile(r"[*_`\[\]]")
UNREADABLE_IDS = (0,)  # an ID that no message has


class UnacknowledgedMessage(NamedTuple):
    """A message of the thread that its recipient has not acknowledged yet."""

    message_id: int
    content_hash: str


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
    named: Collection[int], named_contents: Collection[str], owed: Iterable[UnacknowledgedMessage]
) -> tuple[int, ...]:
    """Return the messages that an ACK acknowledges, of those that its sender still owes one.

    `named` are the IDs in the ACK, `named_contents` the content hashes of the thread's messages
    with these IDs, and `owed` the messages that the sender of the ACK has not acknowledged. An ACK
    that names none acknowledges the only open message; if several are open, it acknowledges none.
    """
    debts = list(owed)
    contents = {debt.content_hash for debt in debts}
    if named:
        contents &= set(named_contents)
    elif len(contents) > 1:
        contents = set()
    return tuple(debt.message_id for debt in debts if debt.content_hash in contents)
