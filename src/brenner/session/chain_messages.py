"""What one message means to the versions of its thread."""

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from brenner.diagnostics.codes.artifacts import RECORD_UNREADABLE
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.codes.publishing import COMPILED_WITHOUT_RECORD
from brenner.diagnostics.model import Diagnostic
from brenner.markdown.blocks import blocks
from brenner.protocol.compiled import read_compiled
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.message_types import DELTA, INFO
from brenner.protocol.subjects import parse_subject
from brenner.session.declarations import changes_versions
from brenner.session.rebuild import Candidate, Filed
from brenner.session.record import UnreadableRecordError, read_record, was_record
from brenner.session.void import Void, voided_by

# The end of a list that is too long for the message: its command shows all asides of the thread
_HAS_MORE = re.compile(r"\n- and [0-9]+ more: `brenner check --thread=")
_NO_TYPE = "message without a valid prefix"


class Aside(NamedTuple):
    """A delta block in a message that contributes nothing, and when that came in."""

    arrival: int
    diagnostic: Diagnostic


class Declared(NamedTuple):
    """A void, and where its declaration stands in the thread: it is about what is before it."""

    void: Void
    at: datetime
    id: int


def type_of(filed: Filed) -> str | None:
    """The message type; None for mail that is not the protocol's."""
    subject = parse_subject(filed.posted.message.subject)
    return subject.type if subject else None


def candidate_of(filed: Filed) -> Candidate | Diagnostic:
    """A COMPILED message with a record, or why it can be no version.

    What was a record once, a newer release's or one that was damaged on its way, is one all the
    same, where the subject says of which version: its number is not given again in silence.
    """
    message = filed.posted.message
    body = read_compiled(message)
    if body.record is None:
        found = COMPILED_WITHOUT_RECORD.at(thread_id=message.thread_id)
        return found._replace(message_id=filed.posted.id)
    said = body.subject_version
    try:
        record = read_record(body.record)
    except UnreadableRecordError as error:
        if said is not None and was_record(body.record):
            return Candidate(filed, said, None, str(error), said, body.inline)
        words = {"reason": str(error), "thread_id": message.thread_id}
        found = RECORD_UNREADABLE.at(body.record_line, **words)
        return found._replace(message_id=filed.posted.id)
    return Candidate(filed, record.version, record, "", said, body.inline)


def declared_by(filed: Filed, operators: Collection[str]) -> tuple[Declared, ...]:
    """The versions that a message declares void; only an operator can."""
    if not filed.counts_for(operators) or type_of(filed) != INFO.name:
        return ()
    voids = voided_by(filed.posted.message)
    return tuple(Declared(void, filed.posted.at, filed.posted.id) for void in voids)


def is_decision(filed: Filed) -> bool:
    """Whether a message says that it voids or adopts something: then it matters who may."""
    return changes_versions(filed.posted.message)


def is_listed_in(aside: Aside, version: Candidate) -> bool:
    """Return whether a version lists an aside, so that the next one need not.

    The message may have come in while the version was being made: then its body does not list it.
    An imported version lists ids of another store, and an adopted artifact comes without a list.
    """
    compiled = version.filed
    if aside.arrival > compiled.arrival:
        return False
    if not compiled.is_local or (version.record and version.record.adopted):
        return True
    found = aside.diagnostic
    listed = compiled.posted.message.body.partition("\n## Full Artifact\n")[0]
    place = f"\n- {found.id} (message {found.message_id}, line {found.line}): "
    return place in listed or _HAS_MORE.search(listed) is not None


def asides_of(filed: Filed) -> Iterator[Aside]:
    """The delta blocks in a message that is no DELTA."""
    name, body = type_of(filed), filed.posted.message.body
    if name == DELTA.name or "delta" not in body:
        return
    found = DELTA_NOT_CONTRIBUTED.at(type=name or _NO_TYPE)._replace(message_id=filed.posted.id)
    for block in filter(is_delta_fence, blocks(body)):
        yield Aside(filed.arrival, found._replace(line=block.line))
