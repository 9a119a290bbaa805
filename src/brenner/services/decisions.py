"""The operator's decisions: void a version, adopt a thread, dismiss rejected blocks, cancel."""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from brenner.artifact.merge.engine import merge
from brenner.artifact.model import uses_new_fields
from brenner.artifact.parse import parse_artifact
from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.mail import NOT_IN_THREAD, VERSION_OVERTAKEN
from brenner.diagnostics.codes.sessions import CANNOT_CANCEL, CANNOT_DISMISS
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.markdown.escape import one_paragraph
from brenner.named_tuple import NamedTuple
from brenner.protocol.compiled import read_compiled
from brenner.protocol.delta.schema import RECORD_FORMAT
from brenner.protocol.message_types import DELTA, KICKOFF
from brenner.protocol.messages import Message, StoredMessage, content_hash, iso, thread_order_key
from brenner.services.publish import (
    MOST_TRIES,
    check_operator,
    check_publishable,
    compile_time,
    post_version,
    publish_with_retry,
    recipients_of,
    send_condition,
    send_if_absent,
    verify_before_posting,
)
from brenner.services.references import unresolved_references
from brenner.services.send_checks import refuse_secrets
from brenner.services.session_status import LoadedStatus, load_status
from brenner.services.version_store import load_history, load_ledgers, require_thread_id
from brenner.session.compiled_message import CompiledVersion, compose_compiled
from brenner.session.compiler import base_of, finish_version
from brenner.session.decisions import compose_cancellation, compose_void
from brenner.session.misplaced_blocks import misplaced_blocks_in
from brenner.session.model import CompiledMessageRef, Phase, VersionRecord
from brenner.session.rebuild import (
    CompiledCandidate,
    VersionMismatch,
    adopt_artifact,
    message_ref,
    parse_adopted_artifact,
)
from brenner.session.status import compose_dismissal, uncorrected_blocks, unsent_blocks
from brenner.session.versions import VersionHistory, candidate_of
from brenner.text import escape_control, joined, thread_argument

if TYPE_CHECKING:
    from brenner.protocol.messages import StoredMessage
    from brenner.services.workspace import Workspace
    from brenner.session.model import RefusedBlock, SessionStatus
    from brenner.session.unanswered import UnansweredItem


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


def void_version(workspace: Workspace, thread_id: str, number: int, reason: str) -> VoidResult:
    """Declare the latest version void, or one that does not rebuild."""
    require_thread_id(thread_id)
    check_operator(workspace, "void a version")
    for _ in range(MOST_TRIES):
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
        message_id = _voidable(history, number)
        to = recipients_of(workspace, history, history.state.artifact)
        blank = Message(thread_id, workspace.actor, to, "", "")
        message = compose_void(blank, number, message_id, _hashes(history, number), reason)
        refuse_secrets(workspace.mailbox, message.subject, message.body)
        try:
            stored = workspace.mailbox.send(message, position=send_condition(history)).stored
        except RequestError as refused:
            if refused.diagnostic.code is VERSION_OVERTAKEN:
                continue
            raise
        return _after_void(workspace, thread_id, VoidResult(number, message_id, stored))
    raise RequestError(codes.COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))


def _after_void(workspace: Workspace, thread_id: str, done: VoidResult) -> VoidResult:
    try:
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    except UnavailableError as error:
        return done._replace(failed=error)
    bases = ((each.stored.id, history.void_base(each)) for each in history.other_candidates)
    # messages that were posted meanwhile and build on the void version
    later = {number for number, base in bases if base and base.stored.id == done.void_message_id}
    notes = tuple(each for each in history.others() if each.message_id in later)
    return done._replace(unread=len(history.unread), latest=history.number, notes=notes)


def _voidable(history: VersionHistory, number: int) -> int:
    """Return the id of the message of that version, or of one that does not rebuild."""
    if history.broken_version and history.broken_version.number == number:
        return history.broken_version.stored.id
    latest = history.latest
    if latest and latest.number == number:
        return latest.message_id
    reason = _why_not_voidable(history, number)
    found = codes.CANNOT_VOID.at(version=number, thread_id=history.thread_id, reason=reason)
    raise RequestError(found)


def _hashes(history: VersionHistory, number: int) -> list[str]:
    found = [each.content_hash for each in history.versions if each.number == number]
    return found + [
        each.stored.content_hash for each in history.other_candidates if each.number == number
    ]


def _why_not_voidable(history: VersionHistory, number: int) -> str:
    if number < history.number and any(each.number == number for each in history.versions):
        return f"v{history.number} is built on it"
    if any(each.number == number and history.is_void(each) for each in history.other_candidates):
        return "it is already void"
    latest = f"the latest is v{history.number}" if history.versions else "no version exists yet"
    return f"it does not exist ({latest})"


# Adopting a thread that another program has compiled, with its artifact unchanged (R10)


MOST_VERSION = 999_999_999  # the highest number that a subject can give


def adopt_thread(
    workspace: Workspace, thread_id: str
) -> tuple[CompiledVersion, StoredMessage, tuple[Diagnostic, ...]]:
    """Publish the next version from the latest COMPILED message that is not a version.

    Return it, its message, and notes about void messages of this compiler. The version's warnings
    are about the adopted artifact.
    """
    require_thread_id(thread_id)
    check_operator(workspace, "adopt a thread")
    done, in_vain = publish_with_retry(workspace, thread_id, lambda known: _adopt(workspace, known))
    return *done, in_vain


def _adopt(workspace: Workspace, history: VersionHistory) -> tuple[CompiledVersion, StoredMessage]:
    for found in history.altered_messages():
        raise RequestError(found)
    compiled, number = _adoptable(history)
    last = thread_order_key(compiled)
    before = [each for each in history.unread if thread_order_key(each) < last]
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
        adopted=CompiledMessageRef(number, compiled.content_hash, compiled.id, iso(compiled.at)),
    )
    adopted = _adopted_version(workspace, history, record, compiled)
    message, _ = compose_compiled(adopted, recipients_of(workspace, history, adopted.artifact))
    check_publishable(message)
    rebuilt = verify_before_posting(history, message)
    stored, _ = post_version(workspace, history, message, rebuilt)
    return adopted, stored


def _has_read(history: VersionHistory, compiled: StoredMessage, message: StoredMessage) -> bool:
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
    return thread_order_key(message) < (datetime.fromisoformat(base.at), base.id)


def _adoptable(history: VersionHistory) -> tuple[StoredMessage, int]:
    found = [stored for stored, _ in history.unrecorded]
    found += [history.broken_version.stored] if history.broken_version else []
    latest = history.latest
    place = (latest.at, latest.message_id) if latest else None
    later = [each for each in found if place is None or thread_order_key(each) > place]
    if not later:
        reason = "it has no COMPILED message without a record after its latest version"
        raise _adopt_error(history, reason)
    compiled = max(later, key=thread_order_key)
    body = read_compiled(compiled.message)
    claimed = body.subject_version or body.version or body.title_version
    number = claimed or history.number + 1
    if number >= MOST_VERSION:
        raise _adopt_error(history, f"message {compiled.id} claims to be v{number}")
    if number <= history.number:
        reason = (
            f"message {compiled.id} claims to be v{number}, but the latest version is "
            f"v{history.number}"
        )
        raise _adopt_error(history, reason)
    return compiled, number


def _adopted_version(
    workspace: Workspace, history: VersionHistory, record: VersionRecord, compiled: StoredMessage
) -> CompiledVersion:
    """Return the version: the artifact in Brenner's format, with nothing merged into it."""
    try:
        before = parse_adopted_artifact(compiled, record.version - 1, RECORD_FORMAT)
        record = record._replace(format=RECORD_FORMAT if uses_new_fields(before) else 1)
        state = adopt_artifact(history.state, record, [compiled])
    except VersionMismatch as error:
        raise _adopt_error(history, str(error)) from None
    version = finish_version(before, state.artifact, record)
    return version._replace(
        thread_id=history.thread_id,
        warnings=_format_remarks(compiled),
        unresolved=unresolved_references(workspace, version.artifact),
    )


def _format_remarks(compiled: StoredMessage) -> tuple[Diagnostic, ...]:
    inline = read_compiled(compiled.message).inline or ""
    found = parse_artifact(inline).diagnostics
    return tuple(each._replace(message_id=compiled.id) for each in found)


def _adopt_error(history: VersionHistory, reason: str) -> RequestError:
    return RequestError(codes.CANNOT_ADOPT.at(thread_id=history.thread_id, reason=reason))


# Dismissing rejected blocks, which then need no correction


_NOT_REFUSED = {
    BlockOutcome.APPLIED: "it was applied, not rejected",
    BlockOutcome.DUPLICATE: "it was not rejected: it repeats a block that was applied before",
}


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
    check_operator(workspace, "dismiss a rejected block")
    loaded = load_status(workspace, thread_id)
    before = _dismissals(loaded, message_id, block)
    blocks = tuple(number for number, dismissed in before.items() if dismissed is None)
    if before and not blocks:
        last = workspace.mailbox.message(max(number or 0 for number in before.values()))
        left = len(_open_blocks(loaded))
        return DismissResult(message_id, tuple(before), last, is_new=False, left=left)
    refused = next((each for each in loaded.messages if each.id == message_id), None)
    if refused is None:
        raise RequestError(NOT_IN_THREAD.at(id=message_id, thread=thread_id))
    if not blocks:
        why = _why_not_dismissable(workspace, loaded, refused, block)
        raise _dismiss_error(thread_id, message_id, block, why)
    to = recipients_of(workspace, loaded.history, loaded.history.state.artifact)
    blank = Message(thread_id, workspace.actor, to, "", "")
    message = compose_dismissal(blank, refused.content_hash, message_id, blocks, reason)
    refuse_secrets(workspace.mailbox, message.subject, message.body)
    key = f"dismiss {message_id} {content_hash(message)[:32]}"

    def find_existing() -> StoredMessage | None:
        """Find a message posted meanwhile that dismisses all the blocks."""
        now = _dismissals(load_status(workspace, thread_id), message_id, block)
        by = [number for each in blocks if (number := now.get(each)) is not None]
        return workspace.mailbox.message(max(by)) if len(by) == len(blocks) else None

    sent = send_if_absent(workspace.mailbox, message, find_existing, key=key, reply_to=message_id)
    done = DismissResult(message_id, blocks, sent.stored, sent.is_new)
    return _after_dismissal(workspace, thread_id, done)


def _dismissals(loaded: LoadedStatus, message_id: int, block: int | None) -> dict[int, int | None]:
    """Return the selected blocks that are rejected or misplaced, and not corrected.

    Each comes with the message that dismisses it; None if it is open.
    """
    history, ledger = loaded.history, loaded.merged.ledger
    found = chain(
        uncorrected_blocks(history, loaded.messages, ledger),
        unsent_blocks(history, loaded.messages, ledger),
    )
    return {
        each.block: dismissed
        for each, dismissed in found
        if each.message_id == message_id and block in (None, each.block)
    }


def _open_blocks(loaded: LoadedStatus) -> tuple[RefusedBlock, ...]:
    return (*loaded.status.refusals, *loaded.status.misplaced)


def _after_dismissal(workspace: Workspace, thread_id: str, done: DismissResult) -> DismissResult:
    """Return the result with the number of open blocks. Raise if the dismissal has no effect."""
    try:
        left = _open_blocks(load_status(workspace, thread_id))
    except UnavailableError as error:
        return done._replace(failed=error)
    if any(each.message_id == done.message_id and each.block in done.blocks for each in left):
        reason = f"message {done.message.id} dismisses it, but comes before message "
        reason += f"{done.message_id} in the thread"
        raise _dismiss_error(thread_id, done.message_id, None, reason)
    return done._replace(left=len(left))


def _why_not_dismissable(
    workspace: Workspace, loaded: LoadedStatus, message: StoredMessage, block: int | None
) -> str:
    history = loaded.history
    ledgers = [each.entries for each in load_ledgers(workspace, history.thread_id)]
    operator = workspace.project.operator
    ledgers.append(merge(history.state, history.unread, operator=operator).ledger)
    found = [each for ledger in ledgers for each in ledger if each.message_id == message.id]
    misplaced = [each.block for each in misplaced_blocks_in(message)]
    if misplaced and (block is None or block in misplaced):
        return f"{message.message.sender} has already sent it in a DELTA message"
    if not found:
        is_delta = message.message.subject.startswith(f"{DELTA.name}[")
        return "nothing in it was rejected" if is_delta else "it is not a DELTA message"
    states = {entry.block: entry.state for entry in found}
    if block is not None and block not in states:
        return f"the message has only {len(states)} block{'s' * (len(states) != 1)}"
    selected = {state for number, state in states.items() if block in (None, number)}
    if BlockOutcome.REFUSED in selected:
        return f"{found[0].agent} has already corrected it"
    return "none of its blocks was rejected" if block is None else _NOT_REFUSED[selected.pop()]


def _dismiss_error(thread_id: str, message_id: int, block: int | None, reason: str) -> RequestError:
    what = f"{'message' if block is None else f'block {block} of message'} {message_id}"
    return _cannot_dismiss(thread_id, what, reason)


def _cannot_dismiss(thread_id: str, what: str, reason: str, fix: str = "") -> RequestError:
    fix = fix or (
        f"`brenner session status {thread_id}` lists the rejected blocks and the unanswered items "
        "that are open."
    )
    words = {"what": what, "thread_id": thread_id, "reason": reason, "fix": fix}
    return RequestError(CANNOT_DISMISS.at(None, **words))


# Keeping an item without an answer (R28)


class KeepResult(NamedTuple):
    """The dismissed question and the message that dismisses it; not new if an earlier one did.

    `left` is the number of items that still ask for an answer.
    """

    item: str
    because: str
    message: StoredMessage
    is_new: bool
    left: int = 0


def dismiss_question(workspace: Workspace, thread_id: str, address: str, reason: str) -> KeepResult:
    """Keep an item although a result or an assumption asks for an answer, such as `H1/T1`.

    A test that failed its potency check asks about itself: its ID alone names it.
    """
    from brenner.session.decisions import dismissed_questions
    from brenner.session.unanswered import compose_question_dismissal

    check_operator(workspace, "keep an item without an answer")
    item, _, because = address.upper().partition("/")
    because = because or item
    for _ in range(MOST_TRIES):
        loaded = load_status(workspace, thread_id)
        found = loaded.status.unanswered
        if not any((each.item, each.because) == (item, because) for each in found):
            known = [each for each in loaded.messages if each.counts_for(loaded.history.operators)]
            known = [e for e in known if (item, because) in dismissed_questions(e.message)]
            if known:
                last = max(known, key=thread_order_key)
                return KeepResult(item, because, last, is_new=False, left=len(found))
            raise _keep_error(thread_id, item, because, found)
        if not one_paragraph(reason):
            what = f"{item}/{because}"
            fix = f"`brenner session dismiss {thread_id} {what} --reason TEXT`."
            raise _cannot_dismiss(thread_id, what, "the reason is empty", f"Give a reason: {fix}")
        to = recipients_of(workspace, loaded.history, loaded.history.state.artifact)
        blank = Message(thread_id, workspace.actor, to, "", "")
        message = compose_question_dismissal(blank, item, because, reason)
        refuse_secrets(workspace.mailbox, message.subject, message.body)
        try:
            condition = send_condition(loaded.history, contributions=True)
            stored = workspace.mailbox.send(message, position=condition).stored
        except RequestError as refused:
            if refused.diagnostic.code is VERSION_OVERTAKEN:
                continue
            raise
        return KeepResult(item, because, stored, is_new=True, left=len(found) - 1)
    raise RequestError(codes.COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))


def _keep_error(
    thread_id: str, item: str, because: str, found: tuple[UnansweredItem, ...]
) -> RequestError:
    addresses = joined(each.address for each in found)
    items = "item is" if len(found) == 1 else "items are"
    known = f"the unanswered {items} {addresses}" if found else "nothing asks for an answer"
    what = f"{escape_control(item)}/{escape_control(because)}"
    return _cannot_dismiss(thread_id, what, known)


# Cancelling a session (R25)


class CancelResult(NamedTuple):
    """The message that cancels the session, and its reason; not new if an earlier one did."""

    message: StoredMessage
    reason: str
    is_new: bool


def cancel_session(workspace: Workspace, thread_id: str, reason: str) -> CancelResult:
    """Cancel a session that needs no version, unless it is cancelled already."""
    check_operator(workspace, "cancel a session")
    for _ in range(MOST_TRIES):
        loaded = load_status(workspace, thread_id)
        check_cancellable(loaded.status, reason)
        known = loaded.status.cancelled
        if known:
            earlier = workspace.mailbox.message(known.message_id)
            return CancelResult(earlier, known.reason, is_new=False)
        blank = Message(thread_id, workspace.actor, _affected(workspace, loaded), "", "")
        message = compose_cancellation(blank, reason)
        refuse_secrets(workspace.mailbox, message.subject, message.body)
        try:
            condition = send_condition(loaded.history)
            stored = workspace.mailbox.send(message, position=condition).stored
        except RequestError as refused:
            if refused.diagnostic.code is VERSION_OVERTAKEN:
                continue
            raise
        return CancelResult(stored, one_paragraph(reason), is_new=True)
    raise RequestError(codes.COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))


def check_cancellable(status: SessionStatus, reason: str) -> None:
    """Raise if there is no reason, or if the session has ended with a version."""
    thread_id = status.thread_id
    if not one_paragraph(reason):
        fix = "Give the reason, for the agents and for later readers: `--reason TEXT`."
        raise _cancel_error(thread_id, "the reason is empty", fix)
    if status.phase is Phase.COMPLETE:
        number = status.version.number if status.version else 0
        why = f"the session is already complete, with v{number}"
        fix = f"Nothing to do. `brenner session status {thread_argument(thread_id)}` shows it."
        raise _cancel_error(thread_id, why, fix)


def _affected(workspace: Workspace, loaded: LoadedStatus) -> tuple[str, ...]:
    """Return the agents to inform: those of the session, and those that a kickoff has asked."""
    others = recipients_of(workspace, loaded.history, loaded.history.state.artifact)
    asked = (
        name
        for each in loaded.messages
        if each.type == KICKOFF.name
        for name in each.message.recipients
    )
    registered = {each.name for each in workspace.mailbox.agents()}
    names = [each for each in dict.fromkeys((*others, *asked)) if each in registered]
    return tuple(each for each in names if each != workspace.actor) or (workspace.actor,)


def _cancel_error(thread_id: str, reason: str, fix: str) -> RequestError:
    return RequestError(CANNOT_CANCEL.at(thread_id=thread_id, reason=reason, fix=fix))
