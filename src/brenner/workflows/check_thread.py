"""Check the mail of a thread as it was received (message document, Post-receive Validation)."""

from collections.abc import Iterator
from typing import NamedTuple

from brenner.check.message import check_stored
from brenner.check.report import Report
from brenner.diagnostics.model import Diagnostic, worst_first
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import Stored
from brenner.mail.rules import unknown_recipients, unknown_sender, unknown_thread
from brenner.thread.ids import check_thread_id


class CheckedMessage(NamedTuple):
    """A stored message and what was found in it. Lines count in the body."""

    stored: Stored
    report: Report


def check_thread(mailbox: Mailbox, thread_id: str) -> tuple[CheckedMessage, ...]:
    """Every message of the thread, in its order."""
    messages = mailbox.thread(thread_id).messages
    if not messages:
        known = [thread.thread_id for thread in mailbox.threads()]
        raise unknown_thread(thread_id, known)
    names = {agent.name for agent in mailbox.agents()}
    of_the_thread = {found.id for found in check_thread_id(thread_id)}
    first, *rest = (CheckedMessage(stored, _report(stored, names)) for stored in messages)
    return (first, *(_without(checked, of_the_thread) for checked in rest))


def _without(checked: CheckedMessage, told: set[str]) -> CheckedMessage:
    """The same without what is wrong with the thread's ID, which is told once."""
    left = tuple(found for found in checked.report.violations if found.id not in told)
    return checked._replace(report=checked.report._replace(violations=left))


def _report(stored: Stored, names: set[str]) -> Report:
    report = check_stored(stored.message)
    found = [*report.violations, *_unknown(stored, names)]
    placed = [each._replace(message_id=stored.id) for each in found]
    return report._replace(violations=tuple(sorted(placed, key=worst_first)))


def _unknown(stored: Stored, names: set[str]) -> Iterator[Diagnostic]:
    """Names that the mailbox does not know."""
    sender = unknown_sender(stored.message.sender, names)
    yield from [sender] if sender else []
    yield from unknown_recipients(stored.message, names)
