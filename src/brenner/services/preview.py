"""Preview what a message would do in the next merge: which blocks would be rejected, and why."""

from collections.abc import Iterator
from datetime import UTC, datetime

from brenner.artifact.merge.draft import NOWHERE, Elsewhere
from brenner.artifact.merge.engine import merge
from brenner.artifact.state import Entry, State, empty_state
from brenner.artifact.state import Outcome as PreviewOutcome
from brenner.config import Project
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.codes.mail import AFTER_THE_END, WOULD_BE_REFUSED
from brenner.diagnostics.codes.merging import CIRCULAR_REFERENCE, WOULD_CLOSE_CIRCLE
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.mail.mailbox import Mailbox
from brenner.protocol.delta.parse import line_at
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message, PostedMessage
from brenner.services.references import Given, Sessions, given_in, leading_nowhere, reached
from brenner.services.version_store import load_if_small
from brenner.services.workspace import Workspace
from brenner.session.versions import VersionHistory
from brenner.session.versions import type_of as preview_type_of


def preview_merge(
    mailbox: Mailbox, message: Message, operator: str, project: Project | None = None
) -> Iterator[Diagnostic]:
    """What would be refused or left out as the sessions stand. Lines count in the body.

    Where the project is not known, nobody can look into its `artifacts/`, and so nothing is said of
    other sessions.
    """
    unread: list[PostedMessage] = []
    state = empty_state(message.thread_id)
    if mailbox.thread(message.thread_id, limit=1).position:
        history = load_if_small(mailbox, message.thread_id, operator, _MOST_UNREAD)
        if history is None or history.broken:
            return
        yield from _after_the_end(history)
        state, unread = history.state, [filed.posted for filed in history.unread]
    messages = [*unread, _LAST._replace(message=message)]
    given = list(given_in(messages[-1])) if project else []
    if project is None or not given:
        for entry in _entries(state, messages, NOWHERE):
            yield from _errors(entry)
        return
    sessions = Sessions(Workspace(mailbox, project, operator))
    entries = _entries(state, messages, reached(state.artifact, messages, sessions))
    for entry in entries:
        yield from _errors(entry)
    applied = {entry.block for entry in entries if entry.state is PreviewOutcome.APPLIED}
    for each in given:
        if each.block.number in applied and each.edge.target.session != message.thread_id:
            yield from _nowhere(each, sessions)
    yield from sessions.problems


def _after_the_end(history: VersionHistory) -> Iterator[Diagnostic]:
    """That nobody compiles it by himself; a kickoff of a later round says otherwise."""
    if history.is_closed and not any(
        preview_type_of(each) == KICKOFF.name for each in history.unread
    ):
        yield AFTER_THE_END.at(version=history.number)


def _entries(state: State, messages: list[PostedMessage], elsewhere: Elsewhere) -> list[Entry]:
    """What would become of the blocks of the last message."""
    ledger = merge(state, messages, elsewhere=elsewhere).ledger
    return [entry for entry in ledger if entry.message_id == messages[-1].id]


def _errors(entry: Entry) -> Iterator[Diagnostic]:
    """Why a block would be refused, or applied without one of its references."""
    for found in entry.diagnostics:
        if entry.state is PreviewOutcome.REFUSED and found.severity is ERROR:
            words = {"block": str(entry.block), "reason": found.message, "fix": found.fix}
            said = WOULD_BE_REFUSED.at(found.line, **words)
        elif entry.state is PreviewOutcome.APPLIED and found.code is CIRCULAR_REFERENCE:
            said = WOULD_CLOSE_CIRCLE.at(found.line, reason=found.message, fix=found.fix)
        else:
            continue
        yield said._replace(block=entry.block, also=(found.id,))


def _nowhere(given: Given, sessions: Sessions) -> Iterator[Diagnostic]:
    """That a reference leads nowhere yet. What is no ID at all, the check has told."""
    for found in leading_nowhere([given.edge], sessions):
        if UNKNOWN_REFERENCE.id not in found.also:
            line = line_at(given.block, ("payload", "references", given.place))
            yield found._replace(line=line, block=given.block.number)


# Beyond that many unread messages a send would be slow; whoever compiles hears of it all the same.
_MOST_UNREAD = 200


_LAST = PostedMessage(2**62, datetime.max.replace(tzinfo=UTC), Message("", "", (), "", ""))
