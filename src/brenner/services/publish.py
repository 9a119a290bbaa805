"""Publish a version: post it only if it is next, retry, and reject an outdated preview.

Also sends other messages that a thread must have exactly once, however many processes send them.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from brenner.artifact.render import render_artifact
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.artifacts import (
    COMPILE_OVERTAKEN,
    ONLY_THE_OPERATOR,
    POSTED_IN_VAIN,
    POSTED_NOT_CONFIRMED,
)
from brenner.diagnostics.codes.mail import THREAD_MOVED, VERSION_OVERTAKEN
from brenner.diagnostics.codes.publishing import PREVIEW_OVERTAKEN
from brenner.diagnostics.model import (
    ERROR,
    WARNING,
    BrennerError,
    Diagnostic,
    RequestError,
    UnavailableError,
    UnknownOutcomeError,
)
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import SendResult, UnchangedSince
from brenner.mail.rules import find_overtaking
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.messages import Message, StoredMessage, content_hash, iso
from brenner.protocol.validate import check_stored
from brenner.services.version_store import cache_history, load_history
from brenner.session.decisions import changes_versions, compose_withdrawal
from brenner.session.rebuild import (
    CompiledCandidate,
    RebuiltVersion,
    VersionMismatch,
    rebuild,
    text_hash,
    validate_record,
)
from brenner.session.versions import (
    VersionHistory,
    adoptable_messages,
    advance,
    candidate_of,
    check_base,
    record_mismatch,
    with_resolved_versions,
)
from brenner.text import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from brenner.artifact.model import Artifact
    from brenner.services.workspace import Workspace

_TRIES = 200


def check_operator(workspace: Workspace, what: str) -> None:
    """Raise unless the actor is the operator: only the operator decides on others' work, or saves
    it.
    """
    if not workspace.is_operator:
        words = {"name": workspace.actor, "what": what, "operator": workspace.project.operator}
        raise RequestError(ONLY_THE_OPERATOR.at(None, **words))


def send_if_absent(
    mailbox: Mailbox,
    message: Message,
    find_existing: Callable[[], StoredMessage | None],
    *,
    key: str,
    reply_to: int | None = None,
) -> SendResult:
    """Send a message, unless `find_existing` finds it in the thread.

    The send is conditional on the thread being unchanged since it was read. In a thread that never
    rests, the idempotency key prevents a duplicate.
    """
    for _ in range(_TRIES):
        position = mailbox.thread(message.thread_id, limit=1).position
        found = find_existing()
        if found:
            return SendResult(found, is_new=False)
        try:
            return mailbox.send(message, reply_to=reply_to, key=key, position=position)
        except RequestError as refused:
            if refused.diagnostic.code is not THREAD_MOVED:
                raise
    return mailbox.send(message, reply_to=reply_to, key=key)


# Posting a version: its recipients, its check, and only if it is next
#
# Most stores reject a version if another one, or a decision, has come in since the thread was read.
# Other new mail stays unread. A store without that guarantee is read again after posting: a message
# that is not the version is void, and its compiler retries (R17).


# Stands for the time of a message that is not posted yet. The version does not depend on it.
UNPOSTED_TIME = datetime.max.replace(tzinfo=UTC)
_CONTRIBUTIONS = (KICKOFF.name, DELTA.name)


class OvertakenError(Exception):
    """Another version or a decision came in first. A message that was already `posted` is void."""

    def __init__(self, posted: StoredMessage | None = None) -> None:
        super().__init__()
        self.posted = posted


def send_condition(history: VersionHistory, *, contributions: bool = False) -> UnchangedSince:
    return UnchangedSince(history.arrival, history.operators, contributions)


def is_overtaken(workspace: Workspace, history: VersionHistory) -> bool:
    """Return whether another version or a decision has come in since the thread was read."""
    arrived = workspace.mailbox.thread_arrivals(history.thread_id, history.arrival)
    return find_overtaking(send_condition(history), arrived) is not None


def compile_time(history: VersionHistory, number: int) -> str:
    """Return the compile time of a version: now, unless another message of its number has it.

    Otherwise a version that is voided and compiled again within a second would have the same
    content, and the void would cover it.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    others = [each.record for each in history.other_candidates if each.number == number]
    used_times = {record.compiled_at for record in others if record}
    while iso(now) in used_times:
        now += timedelta(seconds=1)
    return iso(now)


def check_sound(history: VersionHistory) -> None:
    """Raise if the history has an altered message, or a version that does not rebuild (R10)."""
    if history.compile_blocker:
        raise RequestError(history.compile_blocker)


def recipients_of(
    workspace: Workspace, history: VersionHistory, artifact: Artifact
) -> tuple[str, ...]:
    """Return the registered agents among the roster and the thread's senders.

    The actor is left out, unless no other agent remains: a message needs a recipient. Imported mail
    may contain an invalid name; it cannot receive mail, so it is left out.
    """
    registered = {
        agent.name for agent in workspace.mailbox.agents() if AGENT_NAME.fullmatch(agent.name)
    }
    named = dict.fromkeys((*artifact.metadata.agents, *history.writers))
    everybody = [name for name in named if name in registered]
    return tuple(name for name in everybody if name != workspace.actor) or (workspace.actor,)


def check_not_ended(history: VersionHistory) -> None:
    """Raise if the session is complete (R18) or cancelled (R25): only `--reopen` continues it."""
    words: dict[str, str] = {"thread_id": history.thread_id}
    if found := history.cancellation:
        words |= {"id": str(found.message_id), "reason": found.reason}
        raise RequestError(codes.SESSION_CANCELLED.at(None, **words))
    if history.is_closed:
        words["version"] = str(history.number)
        raise RequestError(codes.SESSION_CLOSED.at(None, **words))


def cancelled_note(history: VersionHistory) -> list[Diagnostic]:
    """Return the warning that a session is cancelled, with the command that reopens it."""
    found = history.cancellation
    if found is None:
        return []
    words = {"thread_id": history.thread_id, "id": str(found.message_id), "reason": found.reason}
    warning = codes.SESSION_CANCELLED._replace(severity=WARNING).at(None, **words)
    command = history.reopen_command
    return [warning._replace(fix=f"To reopen it: `{command}`." if command else warning.fix)]


def check_publishable(message: Message) -> None:
    """Raise if a COMPILED message breaks a rule of the publish document."""
    for found in check_stored(message).violations:
        if found.severity is ERROR:
            raise RequestError(found)


def verify_before_posting(history: VersionHistory, message: Message) -> RebuiltVersion:
    """Rebuild the version from only its message and the thread, and return it.

    So no version is posted that cannot be rebuilt later.
    """
    candidate = _require_candidate(StoredMessage(0, UNPOSTED_TIME, message, content_hash(message)))
    try:
        check_base(history, validate_record(candidate))
        return rebuild(history.state, candidate, history.unread, adoptable_messages(history))
    except VersionMismatch as error:
        difference = str(error)
    raise RequestError(record_mismatch(history.thread_id, candidate.number, difference))


def post_version(
    workspace: Workspace,
    history: VersionHistory,
    message: Message,
    rebuilt: RebuiltVersion,
    *,
    contributions: bool = False,
) -> tuple[StoredMessage, int]:
    """Post a version, unless another version or a decision came in since the last read.

    Return its message, and how many unread contributions came in before it. With
    `contributions`, a new KICKOFF or DELTA message also raises `OvertakenError`.
    """
    condition = send_condition(history, contributions=contributions)
    try:
        stored = workspace.mailbox.send(message, position=condition).stored
    except RequestError as refused:
        if refused.diagnostic.code is VERSION_OVERTAKEN:
            raise OvertakenError from None
        raise
    if Capability.CONDITIONAL_SENDS in workspace.mailbox.lacks:
        _check_is_version(workspace, history, stored)
    late: list[StoredMessage] = []
    with suppress(BrennerError):  # the version is published; only the cache is missing
        arrived = workspace.mailbox.thread_arrivals(history.thread_id, history.arrival)
        late = [each for each in arrived if each.arrival < stored.arrival]
        if Capability.CONDITIONAL_SENDS not in workspace.mailbox.lacks:
            _cache_version(workspace, history, late, _require_candidate(stored), rebuilt)
    return stored, sum(each.type in _CONTRIBUTIONS for each in late)


def _cache_version(
    workspace: Workspace,
    history: VersionHistory,
    late: list[StoredMessage],
    candidate: CompiledCandidate,
    rebuilt: RebuiltVersion,
) -> None:
    """Cache the history with the new version, and with the mail that came in before it."""
    before = advance(history, late) if late else history
    if before is None:
        return
    stored = candidate.stored
    writers = dict.fromkeys((*before.writers, stored.message.sender))
    after = before._replace(
        position=before.position + 1, writers=tuple(writers), arrival=stored.arrival
    )
    after = with_resolved_versions(after.with_version(candidate, rebuilt))
    cache_history(workspace.mailbox, after, workspace.project.operator)


def _check_is_version(workspace: Workspace, history: VersionHistory, stored: StoredMessage) -> None:
    """Raise unless the stored message is that version; another compiler may have been first."""
    thread_id, number = history.thread_id, history.number + 1
    try:
        history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    except UnavailableError as error:
        found = error.diagnostic
        words = {"id": str(stored.id), "version": str(number), "reason": found.code.title}
        raise UnknownOutcomeError(
            POSTED_NOT_CONFIRMED.at(None, **words)._replace(also=(found.id,))
        ) from None
    cache_history(workspace.mailbox, history, workspace.project.operator)
    if any(each.message_id == stored.id for each in history.versions):
        return
    check_sound(history)
    why = next((each for each in history.others() if each.message_id == stored.id), None)
    if why and why.code is codes.VOID_VERSION:
        raise OvertakenError(stored)
    # The message came back altered, or not at all. Posting it again would not help.
    raise RequestError(
        why or record_mismatch(thread_id, number, f"message {stored.id} is not in the thread")
    )


def _require_candidate(compiled: StoredMessage) -> CompiledCandidate:
    found = candidate_of(compiled)
    if isinstance(found, CompiledCandidate):
        return found
    raise RequestError(found)


# Publishing with retries, and announcing messages that became void (R17)
#
# Only stores without exact positions let two compilers post at once. A compiler that was
# interrupted before it announced its void message does so with its next compile.


MOST_TRIES = 200
_Result = TypeVar("_Result")


def publish_with_retry(
    workspace: Workspace,
    thread_id: str,
    attempt: Callable[[VersionHistory], _Result],
    *,
    dry_run: bool = False,
) -> tuple[_Result, tuple[Diagnostic, ...]]:
    """Read the thread and attempt to publish, until no other version or decision interferes.

    Return the result of the successful attempt, and the void messages posted before it.
    """
    announces = Capability.CONDITIONAL_SENDS in workspace.mailbox.lacks and not dry_run
    posted: set[int] = set()
    in_vain: dict[int | None, Diagnostic] = {}
    try:
        for _ in range(MOST_TRIES):
            history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
            withdrawals = _withdraw(workspace, history) if announces else []
            in_vain |= {
                found.message_id: found
                for found, is_new in withdrawals
                if is_new or found.message_id in posted
            }
            if any(is_new for _, is_new in withdrawals):
                history = load_history(workspace.mailbox, thread_id, workspace.project.operator)
            try:
                return attempt(history), tuple(in_vain.values())
            except OvertakenError as overtaken:
                posted |= {overtaken.posted.id} if overtaken.posted else set()
        raise RequestError(COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))
    except BrennerError as error:
        error.diagnostic = _mention_posted(error.diagnostic, posted)
        raise


def _mention_posted(found: Diagnostic, posted: Iterable[int]) -> Diagnostic:
    """Return the diagnostic, extended with the void messages posted before the failure."""
    ids = [f"message {number}" for number in sorted(posted)]
    if not ids:
        return found
    is_are = "is" if len(ids) == 1 else "are"
    words = f"{' and '.join(ids)} {is_are} void, because another compiler published first."
    message = f"{found.message} Before that, {words}"
    return found._replace(message=message, also=(*found.also, POSTED_IN_VAIN.id))


# Announcing void messages


def _withdraw(workspace: Workspace, history: VersionHistory) -> list[tuple[Diagnostic, bool]]:
    """Announce each void message of this actor, unless the thread has the announcement.

    Return a diagnostic for each, and whether its announcement is new.
    """
    lost = history.superseded_messages(workspace.actor)
    to = recipients_of(workspace, history, history.state.artifact) if lost else ()
    blank = Message(history.thread_id, workspace.actor, to, "", "")
    return [_announce_void(workspace.mailbox, history, each, blank) for each in lost]


def _announce_void(
    mailbox: Mailbox, history: VersionHistory, lost: CompiledCandidate, blank: Message
) -> tuple[Diagnostic, bool]:
    number, reason = lost.stored.id, history.why_void(lost)
    message = compose_withdrawal(blank, lost.number, number, reason)
    sent = send_if_absent(
        mailbox, message, lambda: _find_announcement(mailbox, message), key=f"void {number}"
    )
    words = {"id": str(number), "version": str(lost.number), "reason": reason}
    found = POSTED_IN_VAIN.at(None, **words, info=sent.stored.id)
    return found._replace(message_id=number), sent.is_new


def _find_announcement(mailbox: Mailbox, message: Message) -> StoredMessage | None:
    """Return the stored announcement; its subject names the void message."""
    for stored in mailbox.thread_arrivals(message.thread_id, 0):
        if (stored.message.sender, stored.message.subject) == (message.sender, message.subject):
            return stored
    return None


# Whether a preview is still valid
#
# Only messages that a version depends on count. Acknowledgements and critiques do not change it,
# and in a lively session they would block every publish.


_VERSION_INPUTS = frozenset({KICKOFF.name, DELTA.name, COMPILED.name})
_FEWER_MESSAGES = "it has fewer messages now"
_OTHER_SESSION_CHANGED = "another session that it refers to has changed"


def messages_after(mailbox: Mailbox, thread_id: str, position: int) -> tuple[StoredMessage, ...]:
    """Return the messages that came in after the first `position` ones, in order of arrival."""
    return mailbox.thread_arrivals(thread_id, 0)[position:]


def check_preview_position(mailbox: Mailbox, history: VersionHistory, position: int | None) -> None:
    """Raise if new messages change the version since the preview; None means no preview."""
    if position is None or history.position == position:
        return
    arrived = messages_after(mailbox, history.thread_id, position)
    relevant = [
        each for each in arrived if each.type in _VERSION_INPUTS or changes_versions(each.message)
    ]
    if relevant or history.position < position:
        news = (
            joined(
                f"message {each.id} ({each.type or 'message'} from {each.message.sender}) arrived"
                for each in relevant
            )
            or _FEWER_MESSAGES
        )
        raise RequestError(PREVIEW_OVERTAKEN.at(thread_id=history.thread_id, news=news))


def preview_digest(artifact: Artifact) -> str:
    """Return a digest of a proposed version that does not depend on the compile time."""
    timeless = artifact.metadata._replace(updated_at=None, compiled_at=None)
    return text_hash(render_artifact(artifact._replace(metadata=timeless)))


def check_preview_digest(thread_id: str, artifact: Artifact, seen: str | None) -> None:
    """Raise if the proposed version differs from the previewed one in an unchanged thread.

    Its references depend on other sessions, too.
    """
    if seen is not None and seen != preview_digest(artifact):
        raise RequestError(PREVIEW_OVERTAKEN.at(thread_id=thread_id, news=_OTHER_SESSION_CHANGED))
