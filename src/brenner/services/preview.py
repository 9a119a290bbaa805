"""Preview what a message would do in the next merge: which blocks would be rejected, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from brenner.artifact.merge.draft import NO_OTHER_SESSIONS, OtherSessions
from brenner.artifact.merge.engine import merge
from brenner.artifact.state import BlockOutcome, Entry, State, empty_state
from brenner.diagnostics.codes.deltas import UNKNOWN_REFERENCE
from brenner.diagnostics.codes.mail import AFTER_CANCELLING, AFTER_THE_END, WOULD_BE_REFUSED
from brenner.diagnostics.codes.merging import (
    CIRCULAR_REFERENCE,
    DUPLICATE_BLOCK,
    WOULD_CLOSE_CIRCLE,
)
from brenner.diagnostics.model import ERROR, Diagnostic
from brenner.named_tuple import NamedTuple
from brenner.protocol.compiled import check_referenced_version
from brenner.protocol.delta.parse import line_at
from brenner.protocol.message_types import KICKOFF
from brenner.protocol.messages import Message, StoredMessage
from brenner.services.numbering_advice import OWN_NUMBER_CODES, assumed_base, with_own_numbers
from brenner.services.references import (
    SessionIndex,
    broken_references,
    reachable_references,
    references_in,
)
from brenner.services.version_store import load_if_small
from brenner.services.workspace import Workspace
from brenner.text import closest, did_you_mean, thread_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brenner.artifact.model import Artifact
    from brenner.config import Project
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.delta.schema import DeltaBlock
    from brenner.session.references import Edge
    from brenner.session.versions import VersionHistory


class MergePreview(NamedTuple):
    """What the next merge would do with a message, with line numbers in the body.

    Without a project its `artifacts/` cannot be read, so references to other sessions are not
    checked. `entries` are the ledger entries of its blocks, and `artifact` is what the merge would
    make of it; None if that is unknown.
    """

    violations: tuple[Diagnostic, ...] = ()
    entries: tuple[Entry, ...] = ()
    artifact: Artifact | None = None

    @property
    def is_all_refused(self) -> bool:
        """Return whether it would contribute nothing: every block would be rejected."""
        states = {entry.state for entry in self.entries}
        return states == {BlockOutcome.REFUSED}


def preview_merge(
    mailbox: Mailbox, message: Message, operator: str, project: Project | None = None
) -> MergePreview:
    """Return what the next merge would reject or leave out."""
    unread: list[StoredMessage] = []
    state = empty_state(message.thread_id)
    warnings: list[Diagnostic] = []
    if mailbox.thread(message.thread_id, limit=1).position:
        history = load_if_small(mailbox, message.thread_id, operator, _MOST_UNREAD)
        if history is None or history.broken_version:
            return MergePreview()
        warnings += _closed_warning(history)
        warnings += _no_session_warning(mailbox, history)
        warnings += assumed_base(history, message)
        state, unread = history.state, list(history.unread)
    published = {0, *(version.number for version in state.versions)}
    warnings += check_referenced_version(message, published)
    messages = [*unread, UNSENT._replace(message=message)]
    given = list(references_in(messages[-1])) if project else []
    if project is None or not given:
        entries, artifact = _merge_last(state, messages, operator, NO_OTHER_SESSIONS)
        warnings += (found for entry in entries for found in _block_warnings(entry))
        return MergePreview(tuple(warnings), tuple(entries), artifact)
    sessions = SessionIndex(Workspace(mailbox, project, operator))
    elsewhere = reachable_references(state.artifact, messages, sessions)
    entries, artifact = _merge_last(state, messages, operator, elsewhere)
    warnings += (found for entry in entries for found in _block_warnings(entry))
    applied = {entry.block for entry in entries if entry.state is BlockOutcome.APPLIED}
    for block, place, edge in given:
        if block.number in applied and edge.target.session != message.thread_id:
            warnings += _broken_reference(block, place, edge, sessions)
    return MergePreview((*warnings, *sessions.problems), tuple(entries), artifact)


def check_other_type(
    mailbox: Mailbox, message: Message, operator: str, *, has_block: bool
) -> tuple[Diagnostic, ...]:
    """Return the warnings of a message that is no DELTA.

    It may refer to a version that does not exist. If it has a delta block, the session may have
    ended, so that a DELTA would not be compiled either.
    """
    if not has_block and not any(check_referenced_version(message, ())):  # most state none
        return ()
    if not mailbox.thread(message.thread_id, limit=1).position:
        return ()
    history = load_if_small(mailbox, message.thread_id, operator, _MOST_UNREAD)
    if history is None or history.broken_version:
        return ()
    published = {0, *(version.number for version in history.state.versions)}
    ended = [_if_sent_as_delta(each) for each in _closed_warning(history)] if has_block else []
    return (*ended, *check_referenced_version(message, published))


def _closed_warning(history: VersionHistory) -> Iterator[Diagnostic]:
    """Yield a warning if the session has ended, unless an unread kickoff starts a later round."""
    if history.cancelling:
        yield AFTER_CANCELLING.at(id=history.cancelling.id)
    if history.is_closed and not any(each.type == KICKOFF.name for each in history.unread):
        thread = thread_argument(history.thread_id)
        yield AFTER_THE_END.at(version=history.number, thread=thread)


def _if_sent_as_delta(found: Diagnostic) -> Diagnostic:
    """Return the warning for a message of another type, of which nothing is compiled anyway."""
    message = found.message.replace("This message is not", "A DELTA is also not")
    return found._replace(message=message)


def _merge_last(
    state: State, messages: list[StoredMessage], operator: str, elsewhere: OtherSessions
) -> tuple[list[Entry], Artifact]:
    """Return the ledger entries of the last message's blocks, and the merged artifact."""
    merged = merge(state, messages, operator=operator, elsewhere=elsewhere)
    entries = with_own_numbers(merged.ledger, messages[-1], state.artifact)
    return entries, merged.artifact


def _no_session_warning(mailbox: Mailbox, history: VersionHistory) -> Iterator[Diagnostic]:
    """Yield a warning if the thread has neither a KICKOFF nor a version, with the session meant."""
    if history.versions or any(each.type == KICKOFF.name for each in history.unread):
        return
    from brenner.diagnostics.codes.serving import NO_SESSION_YET  # rarely needed

    meant = _session_meant(mailbox, history.thread_id)
    found = NO_SESSION_YET.at(thread=history.thread_id, suggestion=did_you_mean(meant))
    yield found._replace(suggestion=meant)


def _session_meant(mailbox: Mailbox, thread_id: str) -> str | None:
    """Return the thread with a KICKOFF whose ID contains this one, else the closest, or None."""
    known = [each.thread_id for each in mailbox.threads() if each.thread_id != thread_id]
    part, near = thread_id.casefold(), closest(thread_id, known)
    longer = [each for each in known if part in each.casefold()]
    candidates: list[str] = [*longer[:_MOST_CANDIDATES], *([near] if near else [])]
    for candidate in candidates:
        thread = mailbox.thread_arrivals(candidate, 0)
        if any(each.type == KICKOFF.name for each in thread):
            return candidate
    return None


def _block_warnings(entry: Entry) -> Iterator[Diagnostic]:
    """Yield why a block would be rejected, change nothing, or lack one of its references."""
    for found in entry.diagnostics:
        if found.code is DUPLICATE_BLOCK:
            yield found
            continue
        if entry.state is BlockOutcome.REFUSED and found.severity is ERROR:
            warning = WOULD_BE_REFUSED.at(
                found.line, block=str(entry.block), reason=found, fix=found.fix
            )
        elif entry.state is BlockOutcome.APPLIED and found.code is CIRCULAR_REFERENCE:
            warning = WOULD_CLOSE_CIRCLE.at(found.line, reason=found, fix=found.fix)
        elif found.code in OWN_NUMBER_CODES:
            yield found
            continue
        else:
            continue
        yield warning._replace(block=entry.block, also=(found.id,))


def _broken_reference(
    block: DeltaBlock, place: int, edge: Edge, sessions: SessionIndex
) -> Iterator[Diagnostic]:
    """Yield a warning if a reference is broken. The check has already reported invalid IDs."""
    for found in broken_references([edge], sessions):
        if UNKNOWN_REFERENCE.id not in found.also:
            line = line_at(block, ("payload", "references", place))
            yield found._replace(line=line, block=block.number)


_MOST_CANDIDATES = 10  # whose messages are read
# With more unread messages a send would be slow; the compile reports the same later.
_MOST_UNREAD = 200


UNSENT = StoredMessage(2**62, datetime.max.replace(tzinfo=UTC), Message("", "", (), "", ""))
