"""The publish document's rules for versions in a thread (AP-002, AP-009; R11, R17).

A version counts from the COMPILED message that says so, whoever posted it. Whether that message
can be rebuilt is another question, which this check does not ask.
"""

from collections.abc import Collection, Iterator, Sequence

from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.model import Diagnostic
from brenner.grammar import VERSION
from brenner.markdown.blocks import blocks
from brenner.markdown.escape import Field, fields
from brenner.thread.compiled_body import subject_version
from brenner.thread.messages import Message
from brenner.thread.posted import Posted, in_thread_order
from brenner.thread.sections import normalised
from brenner.thread.subjects import parse_subject
from brenner.thread.types import COMPILED, TYPES


def check_sequence(
    messages: Sequence[Posted], voided: Collection[int] = frozenset()
) -> list[Diagnostic]:
    """What is wrong with the versions of a thread: each diagnostic names its message and line.

    `voided` are the messages that the operator has declared void: their numbers are free again.
    """
    found: list[Diagnostic] = []
    published = {0}  # v0 is the empty artifact before the first version
    latest = 0
    for posted in sorted(messages, key=in_thread_order):
        subject = parse_subject(posted.message.subject)
        if subject is None:
            continue
        if subject.type != COMPILED.name:
            unknown = _unknown_version(posted.message, TYPES[subject.type].version_field, published)
            found += (each._replace(message_id=posted.id) for each in unknown)
            continue
        number = subject_version(posted.message.subject)
        if number is None:
            continue  # AP-001 tells of it
        if number != latest + 1:
            wrong = codes.AP_002.at(version=number, expected=latest + 1)
            found.append(wrong._replace(message_id=posted.id))
        published.add(number)
        latest = latest if posted.id in voided else max(latest, number)
    return found


def _unknown_version(message: Message, name: str, published: set[int]) -> Iterator[Diagnostic]:
    """AP-009: the version that a message speaks of, where the thread does not have it yet."""
    stated = _stated(message, name) if name else None
    if stated is None:
        return
    number = int(stated.value.removeprefix("v"))
    if number not in published:
        yield codes.AP_009.at(stated.line, version=number, latest=max(published))


def _stated(message: Message, name: str) -> Field | None:
    """The first version that the message states; it is the one that counts."""
    if name.casefold() not in message.body.casefold():
        return None
    wanted = normalised(name)
    return next(
        (
            field
            for field in fields(blocks(message.body))
            if normalised(field.name) == wanted and VERSION.fullmatch(field.value)
        ),
        None,
    )
