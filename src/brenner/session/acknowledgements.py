"""What an `ACK:` message settles (message document, ACK Semantics; rulings, Small decisions).

A message whose ACK is required is owed by each of its recipients, its own sender aside. The debt
is about the content: an ACK settles every copy of the message that its sender still owes.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from brenner.grammar import ACKNOWLEDGED_IDS
from brenner.markdown.blocks import Kind, blocks
from brenner.thread.sections import Section, find_section, sections

_SECTION = "Message ID"
_DIGITS = re.compile(r"[0-9]+")
_MOST_DIGITS = 18  # no id has as many; what is longer names a message that nobody knows
_MARKS = re.compile(r"[*_`\[\]]")


UNREADABLE = (0,)  # the id of no message


class OpenDebt(NamedTuple):
    """A message of the thread that its recipient has not acknowledged yet."""

    message_id: int
    content_hash: str


def named_messages(body: str, reply_to: int | None = None) -> tuple[int, ...]:
    """The ids that an ACK names: under `## Message ID`, in a line or as a list, or else the message
    that it is a reply to. A number there that is no id names something, but nobody can say what;
    words name nothing.
    """
    return named_in(sections(blocks(body)), reply_to)


def named_in(under: list[Section], reply_to: int | None = None) -> tuple[int, ...]:
    """The same, of a body whose sections are known."""
    section = find_section(under, _SECTION)
    named: dict[int, None] = {}
    for line in _lines(section) if section else ():
        found = ACKNOWLEDGED_IDS.match(_MARKS.sub("", line).lstrip("-+• \t"))
        if found is None:
            break
        named |= dict.fromkeys(int(digits[:_MOST_DIGITS]) for digits in _DIGITS.findall(found[1]))
    if section and not named and _DIGITS.search(section.first_line):
        return UNREADABLE
    return tuple(named) or (() if reply_to is None else (reply_to,))


def _lines(section: Section) -> Iterator[str]:
    for block in section.contents:
        if block.kind is not Kind.PARAGRAPH or block.quoted:
            return
        yield from block.text.strip().split("\n")


def settled_by(
    named: Collection[int], named_contents: Collection[str], owed: Iterable[OpenDebt]
) -> tuple[int, ...]:
    """Which of its sender's open debts in the thread an ACK settles.

    `named_contents` are the content hashes of those messages of the thread that it names. An ACK
    that names none settles the only debt; of several, nobody can say which it means.
    """
    debts = list(owed)
    contents = {debt.content_hash for debt in debts}
    if named:
        contents &= set(named_contents)
    elif len(contents) > 1:
        contents = set()
    return tuple(debt.message_id for debt in debts if debt.content_hash in contents)
