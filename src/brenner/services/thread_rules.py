"""The rules on a message that depend on its thread: versions, a kickoff's context, a handoff.

They hold when a message is sent, and when the mail of a thread is checked.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from brenner.diagnostics.codes import messages as codes
from brenner.diagnostics.model import is_error, worst_first
from brenner.diagnostics.truncate import truncate_for_message
from brenner.mail.rules import check_position
from brenner.markdown.blocks import parse_blocks
from brenner.protocol.body import handoff_target, state_instead_of_context
from brenner.protocol.compiled import check_version_sequence, subject_version
from brenner.protocol.message_types import COMPILED, HANDOFF, INFO, KICKOFF
from brenner.protocol.messages import Message, StoredMessage, content_hash
from brenner.session.decisions import Void, voids_in
from brenner.text import closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from brenner.diagnostics.model import Diagnostic
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.validate import Report
    from brenner.services.send import SendOptions


def check_in_thread(
    mailbox: Mailbox, message: Message, report: Report, options: SendOptions, lines_before: int
) -> Report:
    """Return the report of a message that is about to be sent, with the rules of its thread.

    No correction of its text alone makes up for an error that the thread decides.
    """
    found = [each.moved(lines_before) for each in _unsent_faults(mailbox, message, options)]
    kept = [each for each in report.violations if each.code is not codes.CONTEXT_NEEDS_ARTIFACT]
    if not found and len(kept) == len(report.violations):
        return report
    together = truncate_for_message(sorted((*kept, *found), key=worst_first))
    corrected = None if any(map(is_error, found)) else report.corrected
    return report._replace(violations=together, corrected=corrected)


def _unsent_faults(
    mailbox: Mailbox, message: Message, options: SendOptions
) -> Iterator[Diagnostic]:
    operator = options.operator
    if message.type == HANDOFF.name:
        yield from handoff_faults(message, {agent.name for agent in mailbox.agents()}, operator)
    elif message.type == COMPILED.name:
        yield from _version_faults_if_sent(mailbox, message, options)
    elif message.type == KICKOFF.name and state_instead_of_context(parse_blocks(message.body)):
        earlier = mailbox.thread(message.thread_id).messages
        yield from context_faults(message, has_artifact=has_version(earlier, operator))


def _version_faults_if_sent(
    mailbox: Mailbox, message: Message, options: SendOptions
) -> Iterator[Diagnostic]:
    """Check AP-002. A message that is stored already is only sent again, perhaps by its key.

    Raise RequestError if the thread is not at the position that a conditional send expects: a
    wrong number follows from that.
    """
    page = mailbox.thread(message.thread_id)
    earlier, operator = page.messages, options.operator
    own_hash = content_hash(message)
    if any(each.content_hash == own_hash for each in earlier):
        return
    check_position(message.thread_id, options.position, page.position)
    unsent = StoredMessage(2**62, datetime.max.replace(tzinfo=UTC), message)
    for found in check_version_sequence([*earlier, unsent], voided_messages(earlier, operator)):
        if found.message_id == unsent.id:
            yield found._replace(message_id=None)


def context_faults(message: Message, *, has_artifact: bool) -> Iterator[Diagnostic]:
    """Yield MB-003 if a kickoff has only `## Current State`, and there is no artifact (R3)."""
    section = None if has_artifact else state_instead_of_context(parse_blocks(message.body))
    if section:
        yield codes.MB_003.at(section.line, hint="")


def handoff_faults(message: Message, known: Collection[str], operator: str) -> Iterator[Diagnostic]:
    """Yield a warning if a handoff goes to an agent that is not registered."""
    target = handoff_target(parse_blocks(message.body))
    names = {name.casefold() for name in (*known, operator)}
    if target and target[0].casefold() not in names:
        name, line = target
        suggestion = did_you_mean(closest(name, known))
        yield codes.HANDOFF_TO_UNKNOWN.at(line, name=name, suggestion=suggestion)


def has_version(messages: Sequence[StoredMessage], operator: str) -> bool:
    """Return whether a COMPILED message that is not void is among the messages of a thread."""
    compiled = [each.id for each in messages if subject_version(each.message.subject) is not None]
    return bool(compiled) and not voided_messages(messages, operator).issuperset(compiled)


def voided_messages(messages: Sequence[StoredMessage], operator: str) -> set[int]:
    """Return the COMPILED messages that the operator voided, or whose number the operator freed."""
    voided: set[int] = set()
    earlier: dict[int, list[int]] = {}
    for stored in messages:
        number = subject_version(stored.message.subject)
        if number is not None:
            earlier.setdefault(number, []).append(stored.id)
        elif stored.type == INFO.name and stored.counts_for({operator}):
            voids = voids_in(stored.message)
            voided |= _named_messages(messages, voids)
            for void in voids:
                if not void.is_exact:
                    voided.update(earlier.get(void.version, ()))
    return voided


def _named_messages(messages: Sequence[StoredMessage], voids: Sequence[Void]) -> set[int]:
    named = {(void.content_hash, void.version) for void in voids if void.is_exact}
    return {
        stored.id
        for stored in messages
        if (stored.content_hash, subject_version(stored.message.subject)) in named
    }
