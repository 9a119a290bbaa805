"""Check the mail of a thread as it was received (message document, Post-receive Validation)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from brenner.artifact.merge.engine import OPERATOR
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored
from brenner.mail.rules import unknown_recipients, unknown_sender, unknown_thread
from brenner.protocol.compiled import check_sequence, subject_version
from brenner.protocol.message_types import INFO
from brenner.protocol.thread_ids import check_thread_id
from brenner.protocol.validate import Report, check_stored
from brenner.session.versions import Void, voided_by
from brenner.workflows.chains import filed


class CheckedMessage(NamedTuple):
    """A stored message and what was found in it. Lines count in the body."""

    stored: Stored
    report: Report


def check_thread(
    mailbox: Mailbox, thread_id: str, operator: str = OPERATOR
) -> tuple[CheckedMessage, ...]:
    """Every message of the thread, in its order; only the operator can have voided one."""
    messages = mailbox.thread(thread_id).messages
    if not messages:
        known = [thread.thread_id for thread in mailbox.threads()]
        raise unknown_thread(thread_id, known)
    names = {agent.name for agent in mailbox.agents()}
    of_the_thread = {found.id for found in check_thread_id(thread_id)}
    of_versions = _by_message(messages, operator)
    first, *rest = (
        CheckedMessage(stored, _report(stored, names, of_versions.get(stored.id, [])))
        for stored in messages
    )
    return (first, *(_without(checked, of_the_thread) for checked in rest))


def _without(checked: CheckedMessage, told: set[str]) -> CheckedMessage:
    """The same without what is wrong with the thread's ID, which is told once."""
    left = tuple(found for found in checked.report.violations if found.id not in told)
    return checked._replace(report=checked.report._replace(violations=left))


def _by_message(messages: Sequence[Stored], operator: str) -> dict[int, list[Diagnostic]]:
    """What is wrong with the versions of the thread, by the id of the message."""
    found: dict[int, list[Diagnostic]] = {}
    for each in check_sequence([stored.posted for stored in messages], _voided(messages, operator)):
        found.setdefault(each.message_id or 0, []).append(each)
    return found


def _voided(messages: Sequence[Stored], operator: str) -> set[int]:
    """The COMPILED messages that the operator has declared void, or whose number she has freed."""
    voided: set[int] = set()
    earlier: dict[int, list[int]] = {}
    for stored in messages:
        number = subject_version(stored.message.subject)
        if number is not None:
            earlier.setdefault(number, []).append(stored.id)
        elif stored.type == INFO.name and filed(stored).counts_for({operator}):
            voids = voided_by(stored.message)
            voided |= _named(messages, voids)
            for void in voids:
                if not void.is_exact:
                    voided.update(earlier.get(void.version, ()))
    return voided


def _named(messages: Sequence[Stored], voids: Sequence[Void]) -> set[int]:
    """Return the ids of the messages that the exact records of a declaration name."""
    named = {(void.content_hash, void.version) for void in voids if void.is_exact}
    return {
        stored.id
        for stored in messages
        if (stored.content_hash, subject_version(stored.message.subject)) in named
    }


def _report(stored: Stored, names: set[str], of_versions: list[Diagnostic]) -> Report:
    report = check_stored(stored.message)
    found = [*report.violations, *_unknown(stored, names), *of_versions]
    placed = [each._replace(message_id=stored.id) for each in found]
    return report._replace(violations=tuple(sorted(placed, key=worst_first)))


def _unknown(stored: Stored, names: set[str]) -> Iterator[Diagnostic]:
    """Names that the mailbox does not know."""
    sender = unknown_sender(stored.message.sender, names)
    yield from [sender] if sender else []
    yield from unknown_recipients(stored.message, names)
