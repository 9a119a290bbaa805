"""What a message of a thread brings to the artifact: delta blocks, or a kickoff's question."""

from itertools import takewhile
from typing import NamedTuple

from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import Block, Kind, blocks
from brenner.markdown.escape import fields
from brenner.protocol.body import (
    Section,
    check_version_field,
    find_section,
    is_seen,
    normalised,
    sections,
    title,
)
from brenner.protocol.delta.parse import read_blocks, with_repairs
from brenner.protocol.delta.schema import DeltaBlock
from brenner.protocol.grammar import VERSION
from brenner.protocol.message_types import DELTA, KICKOFF
from brenner.protocol.messages import Posted
from brenner.protocol.roster import Roster, read_configuration
from brenner.protocol.subjects import Subject, parse_subject


class Contribution(NamedTuple):
    """A DELTA message, read: its blocks, and the version that it states as its base."""

    posted: Posted
    shorthand: str
    blocks: list[DeltaBlock]
    stated_base: int | None
    warnings: tuple[Diagnostic, ...] = ()


class Kickoff(NamedTuple):
    """A KICKOFF message, read. `is_titled` says that the question is only its title (R15)."""

    posted: Posted
    question: str
    context: str
    is_titled: bool
    roster: Roster | None = None


def read_posted(posted: Posted) -> Contribution | Kickoff | None:
    """What the message brings; None for those types that bring nothing."""
    subject = parse_subject(posted.message.subject)
    if subject is None:
        return None
    if subject.type == DELTA.name:
        return _contribution(posted, subject)
    return _kickoff(posted) if subject.type == KICKOFF.name else None


def _contribution(posted: Posted, subject: Subject) -> Contribution:
    found = blocks(posted.message.body)
    deltas = with_repairs(read_blocks(found, posted.message.thread_id))
    warnings = tuple(check_version_field(DELTA, found))
    return Contribution(posted, subject.role or "", deltas, stated_base(found), warnings)


def stated_base(body: list[Block], label: str = DELTA.version_field) -> int | None:
    """The version that `**Base Version**: vN` states; of several the first.

    A KICKOFF of a later round states it in a field of another name.
    """
    name = normalised(label)
    values = [field.value for field in fields(body) if normalised(field.name) == name]
    stated = [int(match[1]) for match in map(VERSION.fullmatch, values) if match]
    return stated[0] if stated else None


def _kickoff(posted: Posted) -> Kickoff:
    body = posted.message.body
    found = blocks(body)
    under = sections(found)
    question, context = find_section(under, "Research Question"), find_section(under, "Context")
    heading = title(found)
    asked = _text(question, body) if question else (heading.text.strip() if heading else "")
    said = _text(context, body) if context else ""
    return Kickoff(posted, asked, said, question is None, read_configuration(found))


def _text(section: Section, body: str) -> str:
    """What stands in a section, as it was written, up to the next heading; comments aside."""
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    until_heading = takewhile(lambda block: block.kind is not Kind.HEADING, section.contents)
    seen = [block for block in until_heading if is_seen(block)]
    return "\n".join(lines[seen[0].line - 1 : seen[-1].end]).strip() if seen else ""
