"""Messages that wait for somebody: critiques, blockers, questions, handoffs."""

from collections.abc import Sequence

from brenner.markdown.blocks import blocks
from brenner.markdown.escape import fields
from brenner.protocol.body import Section, find_section, listed_value, sections
from brenner.protocol.message_types import (
    BLOCKED,
    BLOCKER_TYPES,
    CRITIQUE,
    HANDOFF,
    QUESTION,
    SEVERITIES,
    URGENCIES,
)
from brenner.protocol.subjects import parse_subject
from brenner.session.letters import Letter
from brenner.session.open_acks import Given, debtors
from brenner.session.status import OpenAck, OpenMessage

_ITEM = "item"
# The section that says what a message is about, and the one that says how much it matters
_ABOUT = {
    CRITIQUE.name: "Target",
    BLOCKED.name: "Blocker",
    QUESTION.name: "Question",
    HANDOFF.name: "Item",
}
_RANK = {
    CRITIQUE.name: ("Severity", SEVERITIES),
    BLOCKED.name: ("Type", BLOCKER_TYPES),
    QUESTION.name: ("Urgency", URGENCIES),
}


def unowed(thread: Sequence[Letter]) -> set[str]:
    """The contents of those for which nobody owes an ACK, from the start."""
    found = [each for each in thread if each.type in _ABOUT]
    return {each.content for each in found} - {each.content for each in found if debtors(each)}


def open_messages(
    thread: Sequence[Letter], owed: Sequence[OpenAck], given: Sequence[Given]
) -> tuple[OpenMessage, ...]:
    """Those that nobody has taken care of yet, in their order; copies of a message count once.

    One is open while a recipient owes its ACK. Where nobody owes one, it is open until any ACK is
    about it.
    """
    free = unowed(thread)
    acknowledged = {content for each in given for content in each.contents}
    contents = {each.id: each.content for each in thread}
    waiting: dict[str, list[str]] = {}
    for ack in owed:
        waiting.setdefault(contents[ack.message_id], []).append(ack.debtor)
    copies: dict[str, list[Letter]] = {}
    for each in thread:
        if each.type in _ABOUT:
            copies.setdefault(each.content, []).append(each)
    return tuple(
        _open_message(group[0], tuple(sorted(waiting.get(content, ()))))
        for content, group in copies.items()
        if content in waiting or (content in free and content not in acknowledged)
    )


def _open_message(letter: Letter, waiting_for: tuple[str, ...]) -> OpenMessage:
    name = letter.type or ""
    found = sections(blocks(letter.message.body))
    subject = parse_subject(letter.message.subject)
    about = _about(find_section(found, _ABOUT[name]))
    return OpenMessage(
        message_id=letter.id,
        type=name,
        sender=letter.message.sender,
        subject=letter.message.subject,
        at=letter.at,
        waiting_for=waiting_for,
        about=about or (subject.description if subject else ""),
        rank=_rank(name, found),
    )


def _about(section: Section | None) -> str:
    """What it is about: of a target that is told field by field, the item (publish document)."""
    listed = fields(list(section.contents)) if section else []
    told = {each.name.casefold(): each.value for each in listed}
    return told.get(_ITEM) or _first_line(section)


def _first_line(section: Section | None) -> str:
    return section.first_line if section else ""


def _rank(name: str, found: list[Section]) -> str:
    if name not in _RANK:
        return ""
    title, values = _RANK[name]
    section = find_section(found, title)
    return (listed_value(section.chosen_line, values) if section else None) or ""
