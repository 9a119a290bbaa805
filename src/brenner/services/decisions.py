"""Declare a version void: the operator's word on one that does not rebuild, or was a mistake."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from brenner.artifact.diff import diff
from brenner.artifact.merge.engine import merge
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.codes import artifacts as codes
from brenner.diagnostics.codes.mail import NOT_IN_THREAD, VERSION_OVERTAKEN
from brenner.diagnostics.codes.sessions import CANNOT_DISMISS
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnavailableError
from brenner.lint.linter import lint
from brenner.mail.model import StoredMessage
from brenner.protocol.compiled import read_compiled
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message, content_hash, in_thread_order, iso
from brenner.services.publish import (
    MOST_TRIES,
    compile_time,
    post,
    publish_with_retry,
    recipients_of,
    send_if_absent,
    since,
    verified,
)
from brenner.services.references import unresolved
from brenner.services.sessions import Followed, load_status
from brenner.services.version_store import check_usable, ledgers, load_history
from brenner.services.workspace import Workspace
from brenner.session.compiled_message import Publication, compose_compiled, contributors_of
from brenner.session.compiler import base_of
from brenner.session.decisions import compose_void
from brenner.session.model import CompiledMessage, VersionRecord, render_record
from brenner.session.participants import letters
from brenner.session.rebuild import (
    CompiledCandidate,
    ThreadMessage,
    VersionMismatch,
    adopt,
    adopted_artifact,
    read_message,
    stamped,
    text_hash,
)
from brenner.session.status import compose_dismissal, uncorrected
from brenner.session.versions import KeptChain, VersionHistory, candidate_of


class Voided(NamedTuple):
    """The message that declares it; what counts as unread again; the version that is latest now.

    `notes` are about messages that somebody built on it meanwhile. `failed` is what went wrong
    after it was declared: it is void all the same, and the rest is not known.
    """

    version: int
    void_message_id: int
    message: StoredMessage
    unread: int = 0
    latest: int = 0
    notes: tuple[Diagnostic, ...] = ()
    failed: BrennerError | None = None


def check_operator(workspace: Workspace, what: str) -> None:
    """Some decisions about other people's work are the operator's alone."""
    if not workspace.is_operator:
        words = {"name": workspace.actor, "what": what, "operator": workspace.project.operator}
        raise RequestError(codes.ONLY_THE_OPERATOR.at(None, **words))


def void_version(workspace: Workspace, thread_id: str, number: int, reason: str) -> Voided:
    """Declare the latest version void, or one that does not rebuild."""
    check_usable(thread_id)
    check_operator(workspace, "void a version")
    for _ in range(MOST_TRIES):
        known = load_history(workspace.mailbox, thread_id, workspace.project.operator)
        history = known.history
        message_id = _voidable(history, number)
        to = recipients_of(workspace, history, history.state.artifact)
        blank = Message(thread_id, workspace.actor, to, "", "")
        message = compose_void(blank, number, message_id, _hashes(history, number), reason)
        try:
            stored = workspace.mailbox.send(message, position=since(known)).stored
        except RequestError as refused:
            if refused.diagnostic.code is VERSION_OVERTAKEN:
                continue
            raise
        return _afterwards(workspace, thread_id, Voided(number, message_id, stored))
    raise RequestError(codes.COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))


def _afterwards(workspace: Workspace, thread_id: str, done: Voided) -> Voided:
    """What the thread comes to with the declaration in it."""
    try:
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator).history
    except UnavailableError as error:
        return done._replace(failed=error)
    notes = (each for each in history.others() if each.message_id in _hanging(history, done))
    return done._replace(unread=len(history.unread), latest=history.number, notes=tuple(notes))


def _hanging(history: VersionHistory, done: Voided) -> set[int]:
    """What was posted in that very moment, and is built on what is void now."""
    bases = ((each.filed.posted.id, history.void_base(each)) for each in history.spare)
    return {number for number, base in bases if _id(base) == done.void_message_id}


def _id(candidate: CompiledCandidate | None) -> int | None:
    return candidate.filed.posted.id if candidate else None


def _voidable(history: VersionHistory, number: int) -> int:
    """Return the id of the message that is that version, or says so and does not rebuild."""
    if history.broken and history.broken.number == number:
        return history.broken.candidate.filed.posted.id
    latest = history.latest
    if latest and latest.number == number:
        return latest.message_id
    raise _refused(history, number, _why(history, number))


def _hashes(history: VersionHistory, number: int) -> list[str]:
    """Return the content hash of each message of that number, of copies each."""
    found = [each.content_hash for each in history.versions if each.number == number]
    return found + [each.filed.content_hash for each in history.spare if each.number == number]


def _refused(history: VersionHistory, number: int, reason: str) -> RequestError:
    return RequestError(
        codes.CANNOT_VOID.at(version=number, thread_id=history.thread_id, reason=reason)
    )


def _why(history: VersionHistory, number: int) -> str:
    if number < history.number and any(each.number == number for each in history.versions):
        return f"v{history.number} is built on it"
    if any(each.number == number and history.is_void(each) for each in history.spare):
        return "it is void already"
    latest = f"the latest is v{history.number}" if history.versions else "there is none yet"
    return f"there is no such version; {latest}"


# Take over a thread that another program has compiled: its artifact as it is (R10).


MOST_VERSION = 999_999_999  # the highest number that a subject can give


class Adoption(NamedTuple):
    """The version that was published, which message it adopts, and what counts as read.

    `notes` are about the artifact, `in_vain` about messages of ours that are void; `unresolved`
    are the references that lead nowhere.
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
    check_usable(thread_id)
    check_operator(workspace, "adopt a thread")
    done, in_vain = publish_with_retry(workspace, thread_id, lambda known: _adopt(workspace, known))
    return done._replace(in_vain=in_vain)


def _adopt(workspace: Workspace, known: KeptChain) -> Adoption:
    history = known.history
    for found in history.altered_messages():
        raise RequestError(found)
    compiled, number = _adoptable(history)
    last = in_thread_order(compiled.posted)
    before = [each for each in history.unread if in_thread_order(each.posted) < last]
    read = [each for each in before if _has_read(history, compiled, each)]
    compiled_at = compile_time(history, number + 1)
    record = VersionRecord(
        version=number + 1,
        base=base_of(history),
        messages=tuple(map(read_message, read)),
        artifact_sha256="",
        compiled_at=compiled_at,
        compiled_by=workspace.actor,
        operator=workspace.project.operator,
        status="",
        adopted=CompiledMessage(
            number, compiled.content_hash, compiled.posted.id, iso(compiled.posted.at)
        ),
    )
    publication = _publication(workspace, history, record, compiled)
    message = compose_compiled(publication)
    stored = post(workspace, known, message, verified(history, message)).stored
    taken = len(record.messages)
    done = Adoption(number + 1, compiled.posted.id, number, taken, stored, publication.warnings)
    return done._replace(unresolved=publication.unresolved)


def _has_read(history: VersionHistory, compiled: ThreadMessage, message: ThreadMessage) -> bool:
    """Return whether the adopted message has read a message that came before it.

    Its record says so. A contribution that came in while it was compiled is in no artifact, and
    stays unread. A version that is missing has read what came before it, as far as is known. Of a
    message without a record nothing is known, and all that came before it counts as read.
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
    return in_thread_order(message.posted) < (datetime.fromisoformat(base.at), base.id)


def _adoptable(history: VersionHistory) -> tuple[ThreadMessage, int]:
    """The message to adopt, and the version that it calls itself."""
    found = [filed for filed, _ in history.unrecorded]
    found += [history.broken.candidate.filed] if history.broken else []
    latest = history.latest
    place = (latest.at, latest.message_id) if latest else None
    later = [each for each in found if place is None or in_thread_order(each.posted) > place]
    if not later:
        reason = "it has no COMPILED message without a record after its latest version"
        raise _adopt_thread_refused(history, reason)
    compiled = max(later, key=lambda filed: in_thread_order(filed.posted))
    number = _number(compiled, history.number + 1)
    if number >= MOST_VERSION:
        raise _adopt_thread_refused(history, f"message {compiled.posted.id} calls itself v{number}")
    if number <= history.number:
        reason = (
            f"message {compiled.posted.id} calls itself v{number}, and the thread has come to "
            f"v{history.number}"
        )
        raise _adopt_thread_refused(history, reason)
    return compiled, number


def _number(compiled: ThreadMessage, otherwise: int) -> int:
    body = read_compiled(compiled.posted.message)
    return body.subject_version or body.version or body.title_version or otherwise


def _publication(
    workspace: Workspace, history: VersionHistory, record: VersionRecord, compiled: ThreadMessage
) -> Publication:
    """What is published: the artifact in our own form, with nothing merged into it."""
    try:
        before = adopted_artifact(compiled, record.version - 1)
        state = adopt(history.state, record, [compiled])
    except VersionMismatch as error:
        raise _adopt_thread_refused(history, str(error)) from None
    finished = stamped(state.artifact, record.compiled_at, record.compiled_by, "active")
    status = "active" if lint(finished).valid else "draft"
    artifact = stamped(finished, record.compiled_at, record.compiled_by, status)
    text = render_artifact(artifact)
    record = record._replace(artifact_sha256=text_hash(text), status=status)
    return Publication(
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
        warnings=_remarks(compiled),
        record=render_record(record),
        artifact_sha256=record.artifact_sha256,
        adopted=compiled.posted.id,
        unresolved=unresolved(workspace, artifact),
    )


def _remarks(compiled: ThreadMessage) -> tuple[Diagnostic, ...]:
    """What of the artifact departs from the format, or could not be read at all."""
    inline = read_compiled(compiled.posted.message).inline or ""
    found = parse_artifact(inline).diagnostics
    return tuple(each._replace(message_id=compiled.posted.id) for each in found)


def _adopt_thread_refused(history: VersionHistory, reason: str) -> RequestError:
    return RequestError(codes.CANNOT_ADOPT.at(thread_id=history.thread_id, reason=reason))


# Dismiss refused blocks: the operator's word that nobody has to correct them.


_NOT_REFUSED = {
    Outcome.APPLIED: "it was not refused, and is applied",
    Outcome.DUPLICATE: "it was not refused: it says again what was applied before",
}


class Which(NamedTuple):
    """One block of a message, or all that were refused in it."""

    message_id: int
    block: int | None = None

    def means(self, message_id: int, block: int) -> bool:
        """Whether that block is one of them."""
        return message_id == self.message_id and self.block in (None, block)

    def __str__(self) -> str:
        """In words."""
        return f"{'Message' if self.block is None else f'Block {self.block} of message'} " + str(
            self.message_id
        )


class Dismissed(NamedTuple):
    """The blocks, and the message that dismisses them; it is not new where an earlier one did.

    `left` is how many refused blocks of the thread are open now. `failed` is what went wrong after
    it was posted: they are dismissed all the same, and what is left is not known.
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
) -> Dismissed:
    """Post the dismissal of a refused block, or of all of a message, unless the thread has it."""
    which = Which(message_id, block)
    check_operator(workspace, "dismiss a refused block")
    followed = load_status(workspace, thread_id)
    before = _dismissals(workspace, followed, which)
    blocks = [block for block, dismissed in before.items() if dismissed is None]
    if before and not blocks:
        return _told_before(workspace, followed, which, before)
    refused = _filed(followed, thread_id, which)
    if not blocks:
        raise _nothing(workspace, followed, which, refused)
    to = recipients_of(workspace, followed.history, followed.history.state.artifact)
    blank = Message(thread_id, workspace.actor, to, "", "")
    message = compose_dismissal(
        blank, refused.content_hash, which.message_id, tuple(blocks), reason
    )
    key = f"dismiss {which.message_id} {content_hash(message)[:32]}"
    said = _said(workspace, thread_id, which, blocks)
    sent = send_if_absent(workspace.mailbox, message, said, key=key, reply_to=which.message_id)
    done = Dismissed(which.message_id, tuple(blocks), sent.stored, sent.is_new)
    return _dismiss_afterwards(workspace, thread_id, done)


def _dismissals(workspace: Workspace, followed: Followed, which: Which) -> dict[int, int | None]:
    """The refused blocks that are meant and not corrected, with what dismisses each already."""
    history = followed.history
    unread = [filed.posted for filed in history.unread]
    ledger = merge(history.state, unread, operator=workspace.project.operator).ledger
    return {
        each.block: dismissed
        for each, dismissed in uncorrected(history, letters(followed.messages), ledger)
        if which.means(each.message_id, each.block)
    }


def _said(
    workspace: Workspace, thread_id: str, which: Which, blocks: list[int]
) -> Callable[[], StoredMessage | None]:
    """Looks for a message that somebody posted meanwhile, and that dismisses all of them."""

    def found() -> StoredMessage | None:
        now = _dismissals(workspace, load_status(workspace, thread_id), which)
        by = [now.get(block) for block in blocks]
        numbers = [number for number in by if number is not None]
        return workspace.mailbox.message(max(numbers)) if len(numbers) == len(blocks) else None

    return found


def _told_before(
    workspace: Workspace, followed: Followed, which: Which, before: dict[int, int | None]
) -> Dismissed:
    last = max(number or 0 for number in before.values())
    message = workspace.mailbox.message(last)
    left = len(followed.status.refusals)
    return Dismissed(which.message_id, tuple(before), message, is_new=False, left=left)


def _dismiss_afterwards(workspace: Workspace, thread_id: str, done: Dismissed) -> Dismissed:
    """What is left to do; that it is heard is looked at, not taken for granted."""
    try:
        left = load_status(workspace, thread_id).status.refusals
    except UnavailableError as error:
        return done._replace(failed=error)
    if any(each.message_id == done.message_id and each.block in done.blocks for each in left):
        reason = f"message {done.message.id} says so, but in the order of the thread it stands "
        reason += f"before message {done.message_id}"
        raise _dismiss_refused(thread_id, Which(done.message_id), reason)
    return done._replace(left=len(left))


# Why there is nothing to dismiss


def _filed(followed: Followed, thread_id: str, which: Which) -> ThreadMessage:
    for filed in followed.messages:
        if filed.posted.id == which.message_id:
            return filed
    raise RequestError(NOT_IN_THREAD.at(id=which.message_id, thread=thread_id))


def _nothing(
    workspace: Workspace, followed: Followed, which: Which, filed: ThreadMessage
) -> RequestError:
    thread_id = followed.history.thread_id
    found = [each for each in _entries(workspace, followed) if each.message_id == which.message_id]
    return _dismiss_refused(thread_id, which, _dismiss_why(which, found, filed))


def _entries(workspace: Workspace, followed: Followed) -> Iterator[Entry]:
    """What became of every block, or would become of it."""
    history = followed.history
    for version in ledgers(workspace, history.thread_id):
        yield from version.entries
    unread = [filed.posted for filed in history.unread]
    yield from merge(history.state, unread, operator=workspace.project.operator).ledger


def _dismiss_why(which: Which, found: list[Entry], filed: ThreadMessage) -> str:
    if not found:
        is_delta = filed.posted.message.subject.startswith(f"{DELTA.name}[")
        return "nothing of it was refused" if is_delta else "it is not a DELTA message"
    states = {entry.block: entry.state for entry in found}
    if which.block is not None and which.block not in states:
        return f"the message has only {len(states)} block{'s' * (len(states) != 1)}"
    meant = {state for block, state in states.items() if which.block in (None, block)}
    if Outcome.REFUSED in meant:
        author = found[0].agent
        return f"{author} has corrected what was refused"
    return "none of its blocks was refused" if which.block is None else _NOT_REFUSED[meant.pop()]


def _dismiss_refused(thread_id: str, which: Which, reason: str) -> RequestError:
    return RequestError(
        CANNOT_DISMISS.at(None, what=str(which), thread_id=thread_id, reason=reason)
    )
