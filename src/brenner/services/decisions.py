"""The operator's decisions: void a version, adopt a thread, dismiss rejected blocks."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.artifact.merge.engine import merge
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import BlockOutcome, Entry
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.mail import NOT_IN_THREAD, VERSION_OVERTAKEN
from brenner.diagnostics.codes.sessions import CANNOT_DISMISS
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.lint.linter import lint
from brenner.mail.model import StoredMessage
from brenner.protocol.compiled import read_compiled
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, content_hash, iso, thread_order_key
from brenner.services.publish import (
    MOST_TRIES,
    compile_time,
    post_version,
    publish_with_retry,
    recipients_of,
    send_condition,
    send_if_absent,
    verify_before_posting,
)
from brenner.services.references import unresolved_references
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.version_store import load_history, load_ledgers, require_thread_id
from brenner.services.workspace import Workspace
from brenner.session.compiled_message import CompiledContent, compose_compiled, contributors_of
from brenner.session.compiler import base_of
from brenner.session.decisions import compose_void
from brenner.session.model import CompiledMessageRef, VersionRecord, render_record
from brenner.session.participants import typed_messages
from brenner.session.rebuild import (
    CompiledCandidate,
    ThreadMessage,
    VersionMismatch,
    adopt_artifact,
    message_ref,
    parse_adopted_artifact,
    stamp_metadata,
    text_hash,
)
from brenner.session.status import compose_dismissal, uncorrected_blocks
from brenner.session.versions import CachedHistory, VersionHistory, candidate_of


class VoidResult(NamedTuple):
    """The result of voiding: the message, how many messages are unread, and the latest version.

    `notes` are about messages that were meanwhile built on it. `failed` is an error after the void
    was declared: the version is void, and the rest is unknown.
    """

    version: int
    void_message_id: int
    message: StoredMessage
    unread: int = 0
    latest: int = 0
    notes: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None


def check_operator(workspace: Workspace, what: str) -> None:
    """Raise unless the actor is the operator; only the operator decides on others' work."""
    if not workspace.is_operator:
        words = {"name": workspace.actor, "what": what, "operator": workspace.project.operator}
        raise RequestError(codes.ONLY_THE_OPERATOR.at(None, **words))


def void_version(workspace: Workspace, thread_id: str, number: int, reason: str) -> VoidResult:
    """Declare the latest version void, or one that does not rebuild."""
    require_thread_id(thread_id)
    check_operator(workspace, "void a version")
    for _ in range(MOST_TRIES):
        cached = load_history(workspace.mailbox, thread_id, workspace.project.operator)
        history = cached.history
        message_id = _voidable(history, number)
        to = recipients_of(workspace, history, history.state.artifact)
        blank = Message(thread_id, workspace.actor, to, "", "")
        message = compose_void(blank, number, message_id, _hashes(history, number), reason)
        try:
            stored = workspace.mailbox.send(message, position=send_condition(cached)).stored
        except RequestError as refused:
            if refused.diagnostic.code is VERSION_OVERTAKEN:
                continue
            raise
        return _after_void(workspace, thread_id, VoidResult(number, message_id, stored))
    raise RequestError(codes.COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))


def _after_void(workspace: Workspace, thread_id: str, done: VoidResult) -> VoidResult:
    """Return the result with the state of the thread after the declaration."""
    try:
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator).history
    except UnavailableError as error:
        return done._replace(failed=error)
    notes = (each for each in history.others() if each.message_id in _built_on_void(history, done))
    return done._replace(unread=len(history.unread), latest=history.number, notes=tuple(notes))


def _built_on_void(history: VersionHistory, done: VoidResult) -> set[int]:
    """Return the ids of messages that were posted meanwhile and build on the void version."""
    bases = ((each.filed.posted.id, history.void_base(each)) for each in history.other_candidates)
    return {number for number, base in bases if _message_id(base) == done.void_message_id}


def _message_id(candidate: CompiledCandidate | None) -> int | None:
    return candidate.filed.posted.id if candidate else None


def _voidable(history: VersionHistory, number: int) -> int:
    """Return the id of the message of that version, or of one that does not rebuild."""
    if history.broken_version and history.broken_version.number == number:
        return history.broken_version.candidate.filed.posted.id
    latest = history.latest
    if latest and latest.number == number:
        return latest.message_id
    raise _void_error(history, number, _why_not_voidable(history, number))


def _hashes(history: VersionHistory, number: int) -> list[str]:
    """Return the content hash of each message with that version number."""
    found = [each.content_hash for each in history.versions if each.number == number]
    return found + [
        each.filed.content_hash for each in history.other_candidates if each.number == number
    ]


def _void_error(history: VersionHistory, number: int, reason: str) -> RequestError:
    return RequestError(
        codes.CANNOT_VOID.at(version=number, thread_id=history.thread_id, reason=reason)
    )


def _why_not_voidable(history: VersionHistory, number: int) -> str:
    if number < history.number and any(each.number == number for each in history.versions):
        return f"v{history.number} is built on it"
    if any(each.number == number and history.is_void(each) for each in history.other_candidates):
        return "it is void already"
    latest = f"the latest is v{history.number}" if history.versions else "there is none yet"
    return f"there is no such version; {latest}"


# Adopting a thread that another program has compiled, with its artifact unchanged (R10)


MOST_VERSION = 999_999_999  # the highest number that a subject can give


class Adoption(NamedTuple):
    """The published version, the message that it adopts, and how many messages count as read.

    `notes` are about the artifact, `in_vain` about void messages of this compiler. `unresolved` are
    the broken references.
    """

    version: int
    adopted_message_id: int
    adopted_version: int
    taken_as_read: int
    message: StoredMessage
    notes: tuple[Diagnostic, ...] = ()
    in_vain: tuple[Diagnostic, ...] = ()
    unresolved: tuple[Diagnostic, ...] = ()


def adopt_thread(workspace: Workspace, thread_id: str) -> Adoption:
    """Publish the next version from the latest COMPILED message that is no version."""
    require_thread_id(thread_id)
    check_operator(workspace, "adopt a thread")
    done, in_vain = publish_with_retry(workspace, thread_id, lambda known: _adopt(workspace, known))
    return done._replace(in_vain=in_vain)


def _adopt(workspace: Workspace, cached: CachedHistory) -> Adoption:
    history = cached.history
    for found in history.altered_messages():
        raise RequestError(found)
    compiled, number = _adoptable(history)
    last = thread_order_key(compiled.posted)
    before = [each for each in history.unread if thread_order_key(each.posted) < last]
    read = [each for each in before if _has_read(history, compiled, each)]
    compiled_at = compile_time(history, number + 1)
    record = VersionRecord(
        version=number + 1,
        base=base_of(history),
        messages=tuple(map(message_ref, read)),
        artifact_sha256="",
        compiled_at=compiled_at,
        compiled_by=workspace.actor,
        operator=workspace.project.operator,
        status="",
        adopted=CompiledMessageRef(
            number, compiled.content_hash, compiled.posted.id, iso(compiled.posted.at)
        ),
    )
    publication = _publication(workspace, history, record, compiled)
    message = compose_compiled(publication)
    stored = post_version(
        workspace, cached, message, verify_before_posting(history, message)
    ).stored
    count = len(record.messages)
    done = Adoption(number + 1, compiled.posted.id, number, count, stored, publication.warnings)
    return done._replace(unresolved=publication.unresolved)


def _has_read(history: VersionHistory, compiled: ThreadMessage, message: ThreadMessage) -> bool:
    """Return whether the adopted message includes a message that came before it.

    Its record decides. A contribution that came in while it was compiled is in no artifact, and
    stays unread. A missing version is assumed to include everything before it. Without a record,
    everything before the message counts as read.
    """
    found = candidate_of(compiled)
    record = found.record if isinstance(found, CompiledCandidate) else None
    if record is None:
        return True
    if any(each.content_hash == message.content_hash for each in record.messages):
        return True
    base = record.base
    if base is None or any(each.content_hash == base.content_hash for each in history.versions):
        return False
    return thread_order_key(message.posted) < (datetime.fromisoformat(base.at), base.id)


def _adoptable(history: VersionHistory) -> tuple[ThreadMessage, int]:
    """Return the message to adopt, and the version that it claims to be."""
    found = [filed for filed, _ in history.unrecorded]
    found += [history.broken_version.candidate.filed] if history.broken_version else []
    latest = history.latest
    place = (latest.at, latest.message_id) if latest else None
    later = [each for each in found if place is None or thread_order_key(each.posted) > place]
    if not later:
        reason = "it has no COMPILED message without a record after its latest version"
        raise _adopt_error(history, reason)
    compiled = max(later, key=lambda filed: thread_order_key(filed.posted))
    number = _claimed_version(compiled, history.number + 1)
    if number >= MOST_VERSION:
        raise _adopt_error(history, f"message {compiled.posted.id} calls itself v{number}")
    if number <= history.number:
        reason = (
            f"message {compiled.posted.id} calls itself v{number}, and the thread has come to "
            f"v{history.number}"
        )
        raise _adopt_error(history, reason)
    return compiled, number


def _claimed_version(compiled: ThreadMessage, otherwise: int) -> int:
    body = read_compiled(compiled.posted.message)
    return body.subject_version or body.version or body.title_version or otherwise


def _publication(
    workspace: Workspace, history: VersionHistory, record: VersionRecord, compiled: ThreadMessage
) -> CompiledContent:
    """Return the publication: the artifact in Brenner's format, with nothing merged into it."""
    try:
        before = parse_adopted_artifact(compiled, record.version - 1)
        state = adopt_artifact(history.state, record, [compiled])
    except VersionMismatch as error:
        raise _adopt_error(history, str(error)) from None
    finished = stamp_metadata(state.artifact, record.compiled_at, record.compiled_by, "active")
    status = "active" if lint(finished).valid else "draft"
    artifact = stamp_metadata(finished, record.compiled_at, record.compiled_by, status)
    text = render_artifact(artifact)
    record = record._replace(artifact_sha256=text_hash(text), status=status)
    return CompiledContent(
        thread_id=history.thread_id,
        sender=workspace.actor,
        recipients=recipients_of(workspace, history, artifact),
        version=record.version,
        previous=record.version - 1,
        compiled_at=record.compiled_at,
        artifact=artifact,
        text=text,
        diff=diff(before, artifact),
        ledger=(),
        contributors=contributors_of((), artifact),
        lint=lint(artifact),
        conflicts=(),
        not_contributed=(),
        warnings=_format_remarks(compiled),
        record=render_record(record),
        artifact_sha256=record.artifact_sha256,
        adopted=compiled.posted.id,
        unresolved=unresolved_references(workspace, artifact),
    )


def _format_remarks(compiled: ThreadMessage) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of parsing the artifact."""
    inline = read_compiled(compiled.posted.message).inline or ""
    found = parse_artifact(inline).diagnostics
    return tuple(each._replace(message_id=compiled.posted.id) for each in found)


def _adopt_error(history: VersionHistory, reason: str) -> RequestError:
    return RequestError(codes.CANNOT_ADOPT.at(thread_id=history.thread_id, reason=reason))


# Dismissing rejected blocks, which then need no correction


_NOT_REFUSED = {
    BlockOutcome.APPLIED: "it was not refused, and is applied",
    BlockOutcome.DUPLICATE: "it was not refused: it says again what was applied before",
}


class BlockSelection(NamedTuple):
    """One block of a message, or all its rejected blocks."""

    message_id: int
    block: int | None = None

    def includes(self, message_id: int, block: int) -> bool:
        """Return whether that block is selected."""
        return message_id == self.message_id and self.block in (None, block)

    def __str__(self) -> str:
        """Return the selection in words."""
        return f"{'Message' if self.block is None else f'Block {self.block} of message'} " + str(
            self.message_id
        )


class DismissResult(NamedTuple):
    """The dismissed blocks, and the message that dismisses them; not new if an earlier one did.

    `left` is the number of rejected blocks in the thread that are still open. `failed` is an error
    after posting: the blocks are dismissed, and `left` is unknown.
    """

    message_id: int
    blocks: tuple[int, ...]
    message: StoredMessage
    is_new: bool
    left: int = 0
    failed: BrennerError | None = None


def dismiss(
    workspace: Workspace,
    thread_id: str,
    message_id: int,
    block: int | None = None,
    reason: str = "",
) -> DismissResult:
    """Post the dismissal of a rejected block, or of all in a message, unless the thread has it."""
    which = BlockSelection(message_id, block)
    check_operator(workspace, "dismiss a refused block")
    loaded = load_status(workspace, thread_id)
    before = _dismissals(workspace, loaded, which)
    blocks = [block for block, dismissed in before.items() if dismissed is None]
    if before and not blocks:
        return _already_dismissed(workspace, loaded, which, before)
    refused = _find_message(loaded, thread_id, which)
    if not blocks:
        raise _nothing_to_dismiss(workspace, loaded, which, refused)
    to = recipients_of(workspace, loaded.history, loaded.history.state.artifact)
    blank = Message(thread_id, workspace.actor, to, "", "")
    message = compose_dismissal(
        blank, refused.content_hash, which.message_id, tuple(blocks), reason
    )
    key = f"dismiss {which.message_id} {content_hash(message)[:32]}"
    find_existing = _dismissal_finder(workspace, thread_id, which, blocks)
    sent = send_if_absent(
        workspace.mailbox, message, find_existing, key=key, reply_to=which.message_id
    )
    done = DismissResult(which.message_id, tuple(blocks), sent.stored, sent.is_new)
    return _after_dismissal(workspace, thread_id, done)


def _dismissals(
    workspace: Workspace, loaded: LoadedStatus, which: BlockSelection
) -> dict[int, int | None]:
    """Return the selected blocks that are rejected and not corrected.

    Each comes with the message that dismisses it; None if it is open.
    """
    history = loaded.history
    unread = [filed.posted for filed in history.unread]
    ledger = merge(history.state, unread, operator=workspace.project.operator).ledger
    return {
        each.block: dismissed
        for each, dismissed in uncorrected_blocks(history, typed_messages(loaded.messages), ledger)
        if which.includes(each.message_id, each.block)
    }


def _dismissal_finder(
    workspace: Workspace, thread_id: str, which: BlockSelection, blocks: list[int]
) -> Callable[[], StoredMessage | None]:
    """Return a function that finds a message posted meanwhile that dismisses all the blocks."""

    def found() -> StoredMessage | None:
        now = _dismissals(workspace, load_status(workspace, thread_id), which)
        by = [now.get(block) for block in blocks]
        numbers = [number for number in by if number is not None]
        return workspace.mailbox.message(max(numbers)) if len(numbers) == len(blocks) else None

    return found


def _already_dismissed(
    workspace: Workspace,
    loaded: LoadedStatus,
    which: BlockSelection,
    before: dict[int, int | None],
) -> DismissResult:
    last = max(number or 0 for number in before.values())
    message = workspace.mailbox.message(last)
    left = len(loaded.status.refusals)
    return DismissResult(which.message_id, tuple(before), message, is_new=False, left=left)


def _after_dismissal(workspace: Workspace, thread_id: str, done: DismissResult) -> DismissResult:
    """Return the result with the number of open blocks. Raise if the dismissal has no effect."""
    try:
        left = load_status(workspace, thread_id).status.refusals
    except UnavailableError as error:
        return done._replace(failed=error)
    if any(each.message_id == done.message_id and each.block in done.blocks for each in left):
        reason = f"message {done.message.id} says so, but in the order of the thread it stands "
        reason += f"before message {done.message_id}"
        raise _dismiss_error(thread_id, BlockSelection(done.message_id), reason)
    return done._replace(left=len(left))


# Errors: why there is nothing to dismiss


def _find_message(loaded: LoadedStatus, thread_id: str, which: BlockSelection) -> ThreadMessage:
    for message in loaded.messages:
        if message.posted.id == which.message_id:
            return message
    raise RequestError(NOT_IN_THREAD.at(id=which.message_id, thread=thread_id))


def _nothing_to_dismiss(
    workspace: Workspace, loaded: LoadedStatus, which: BlockSelection, message: ThreadMessage
) -> RequestError:
    thread_id = loaded.history.thread_id
    found = [
        each for each in _all_entries(workspace, loaded) if each.message_id == which.message_id
    ]
    return _dismiss_error(thread_id, which, _why_not_dismissable(which, found, message))


def _all_entries(workspace: Workspace, loaded: LoadedStatus) -> Iterator[Entry]:
    """Yield the ledger entries of all versions, and the expected ones of unread messages."""
    history = loaded.history
    for version in load_ledgers(workspace, history.thread_id):
        yield from version.entries
    unread = [filed.posted for filed in history.unread]
    yield from merge(history.state, unread, operator=workspace.project.operator).ledger


def _why_not_dismissable(which: BlockSelection, found: list[Entry], message: ThreadMessage) -> str:
    if not found:
        is_delta = message.posted.message.subject.startswith(f"{DELTA.name}[")
        return "nothing of it was refused" if is_delta else "it is not a DELTA message"
    states = {entry.block: entry.state for entry in found}
    if which.block is not None and which.block not in states:
        return f"the message has only {len(states)} block{'s' * (len(states) != 1)}"
    selected = {state for block, state in states.items() if which.block in (None, block)}
    if BlockOutcome.REFUSED in selected:
        author = found[0].agent
        return f"{author} has corrected what was refused"
    return "none of its blocks was refused" if which.block is None else _NOT_REFUSED[selected.pop()]


def _dismiss_error(thread_id: str, which: BlockSelection, reason: str) -> RequestError:
    return RequestError(
        CANNOT_DISMISS.at(None, what=str(which), thread_id=thread_id, reason=reason)
    )
