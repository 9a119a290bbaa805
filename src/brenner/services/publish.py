"""Send a message that the thread must have once, whoever sends it, and however many do at once."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from brenner.artifact.model import Artifact
from brenner.artifact.render import render_artifact
from brenner.diagnostics.codes import publishing as codes
from brenner.diagnostics.codes.artifacts import (
    COMPILE_OVERTAKEN,
    POSTED_IN_VAIN,
    POSTED_NOT_CONFIRMED,
)
from brenner.diagnostics.codes.mail import THREAD_MOVED, VERSION_OVERTAKEN
from brenner.diagnostics.codes.publishing import PREVIEW_OVERTAKEN
from brenner.diagnostics.model import (
    ERROR,
    BrennerError,
    Diagnostic,
    RequestError,
    UnavailableError,
    UnknownOutcomeError,
)
from brenner.mail.mailbox import Capability, Mailbox
from brenner.mail.model import Sent, Since, StoredMessage
from brenner.mail.rules import overtaking
from brenner.protocol.grammar import AGENT_NAME
from brenner.protocol.message_types import COMPILED, DELTA, KICKOFF
from brenner.protocol.messages import Message, PostedMessage, content_hash, iso
from brenner.protocol.validate import check_stored
from brenner.services.version_store import cache_history, filed, load_history
from brenner.services.workspace import Workspace
from brenner.session.decisions import compose_withdrawal
from brenner.session.rebuild import (
    CompiledCandidate,
    Rebuilt,
    ThreadMessage,
    VersionMismatch,
    checked_record,
    rebuild,
    text_hash,
)
from brenner.session.versions import (
    KeptChain,
    VersionHistory,
    advance,
    candidate_of,
    check_base,
    compiled_messages,
    mismatch,
    type_of,
    with_resolved_versions,
)
from brenner.session.versions import chain_messages_is_decision as is_decision
from brenner.text import joined

_TRIES = 200


def send_if_absent(
    mailbox: Mailbox,
    message: Message,
    said: Callable[[], StoredMessage | None],
    *,
    key: str,
    reply_to: int | None = None,
) -> Sent:
    """Send it, unless `said` finds it in the thread.

    It goes out on the condition that nothing has come in since the thread was looked at. Where the
    thread never rests, the key has to do.
    """
    for _ in range(_TRIES):
        position = mailbox.thread(message.thread_id, limit=1).position
        found = said()
        if found:
            return Sent(found, is_new=False)
        try:
            return mailbox.send(message, reply_to=reply_to, key=key, position=position)
        except RequestError as refused:
            if refused.diagnostic.code is not THREAD_MOVED:
                raise
    return mailbox.send(message, reply_to=reply_to, key=key)


# Post a version: to whom, checked, rebuilt from its own record first, and only if it is next.
#
# Most homes refuse a version if another one, or a decision, has come in since the thread was read.
# Other mail that has come in stays unread. A home that cannot promise that is read again after
# posting: a message that is not the version is void, and its compiler goes on as one who was not
# quick enough (R17).


# The time of a message that has none yet; nothing of the version that it is depends on it.
NOT_YET = datetime.max.replace(tzinfo=UTC)
_CONTRIBUTIONS = (KICKOFF.name, DELTA.name)


class OvertakenError(Exception):
    """Another version or a decision came in first. What was `posted` is void then."""

    def __init__(self, posted: StoredMessage | None = None) -> None:
        super().__init__()
        self.posted = posted


class Publishing(NamedTuple):
    """The message that is the version, and how many contributions came in before it, unread."""

    stored: StoredMessage
    late: int


def since(known: KeptChain, *, contributions: bool = False) -> Since:
    """Return the condition on which a decision that is built on this chain is sent."""
    return Since(known.arrival, known.history.operators, contributions)


def is_overtaken(workspace: Workspace, known: KeptChain) -> bool:
    """Return whether another version or a decision has come in since the thread was read."""
    arrived = workspace.mailbox.thread_arrivals(known.history.thread_id, known.arrival)
    return overtaking(since(known), arrived) is not None


def compile_time(history: VersionHistory, number: int) -> str:
    """Return the time at which a version is compiled: now, and no other message's of its number.

    A version that is voided and compiled again within a second would have the same content, and
    the void would cover it.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    others = [each.record for each in history.spare if each.number == number]
    taken = {record.compiled_at for record in others if record}
    while iso(now) in taken:
        now += timedelta(seconds=1)
    return iso(now)


def check_sound(history: VersionHistory) -> None:
    """Refuse to build on an altered message, or on a version that does not rebuild (R10)."""
    if history.stopped:
        raise RequestError(history.stopped)


def recipients_of(
    workspace: Workspace, history: VersionHistory, artifact: Artifact
) -> tuple[str, ...]:
    """Those of the roster and the thread's writers whom the mailbox knows.

    The sender gets it only if nobody else is left: a message must reach somebody. Imported mail may
    bear a name that is none; whoever that was, nobody can write there, and nobody is kept waiting.
    """
    known = {agent.name for agent in workspace.mailbox.agents() if AGENT_NAME.fullmatch(agent.name)}
    named = dict.fromkeys((*artifact.metadata.agents, *history.writers))
    everybody = [name for name in named if name in known]
    return tuple(name for name in everybody if name != workspace.actor) or (workspace.actor,)


def verified(history: VersionHistory, message: Message) -> Rebuilt:
    """The version that the message is, rebuilt from nothing but the message and the thread.

    So no version is ever posted that could not be rebuilt afterwards, and none that breaks a rule
    of the publish document.
    """
    for found in check_stored(message).violations:
        if found.severity is ERROR:
            raise RequestError(found)
    candidate = _candidate(
        ThreadMessage(PostedMessage(0, NOT_YET, message), content_hash(message), 0, 0)
    )
    try:
        check_base(history, checked_record(candidate))
        return rebuild(history.state, candidate, history.unread, compiled_messages(history))
    except VersionMismatch as error:
        difference = str(error)
    raise RequestError(mismatch(history.thread_id, candidate.number, difference))


def post(
    workspace: Workspace,
    known: KeptChain,
    message: Message,
    rebuilt: Rebuilt,
    *,
    contributions: bool = False,
) -> Publishing:
    """Publish, unless another version or a decision has come in since the thread was read.

    With `contributions` a KICKOFF or DELTA message is a reason to start again, too.
    """
    history, condition = known.history, since(known, contributions=contributions)
    try:
        stored = workspace.mailbox.send(message, position=condition).stored
    except RequestError as refused:
        if refused.diagnostic.code is VERSION_OVERTAKEN:
            raise OvertakenError from None
        raise
    if Capability.EXACT_POSITIONS in workspace.mailbox.lacks:
        _check_counts(workspace, history, stored)
    late: list[ThreadMessage] = []
    with suppress(BrennerError):  # it is published; the next time only takes longer
        arrived = workspace.mailbox.thread_arrivals(history.thread_id, known.arrival)
        late = [filed(each) for each in arrived if each.arrival < stored.arrival]
        if Capability.EXACT_POSITIONS not in workspace.mailbox.lacks:
            _keep(workspace, history, late, _candidate(filed(stored)), rebuilt)
    return Publishing(stored, sum(type_of(each) in _CONTRIBUTIONS for each in late))


def _keep(
    workspace: Workspace,
    history: VersionHistory,
    late: list[ThreadMessage],
    candidate: CompiledCandidate,
    rebuilt: Rebuilt,
) -> None:
    """Keep the chain with the version, and with the mail that came in before it."""
    before = advance(history, late) if late else history
    if before is None:
        return
    filed = candidate.filed
    writers = dict.fromkeys((*before.writers, filed.posted.message.sender))
    after = before._replace(position=before.position + 1, writers=tuple(writers))
    after = with_resolved_versions(after.with_version(candidate, rebuilt))
    cache_history(workspace.mailbox, KeptChain(after, filed.arrival), workspace.project.operator)


def _check_counts(workspace: Workspace, history: VersionHistory, stored: StoredMessage) -> None:
    """Go on only if the message is the version that it says; it may be one of two."""
    thread_id, number = history.thread_id, history.number + 1
    try:
        known = load_history(workspace.mailbox, thread_id, workspace.project.operator)
    except UnavailableError as error:
        found = error.diagnostic
        words = {"id": str(stored.id), "version": str(number), "reason": found.code.title}
        raise UnknownOutcomeError(
            POSTED_NOT_CONFIRMED.at(None, **words)._replace(also=(found.id,))
        ) from None
    cache_history(workspace.mailbox, known, workspace.project.operator)
    if any(each.message_id == stored.id for each in known.history.versions):
        return
    check_sound(known.history)
    why = next((each for each in known.history.others() if each.message_id == stored.id), None)
    if why and why.code is codes.VOID_VERSION:
        raise OvertakenError(stored)
    # It came back altered, or not at all: to post it again would be no better.
    raise RequestError(
        why or mismatch(thread_id, number, f"message {stored.id} is not in the thread")
    )


def _candidate(compiled: ThreadMessage) -> CompiledCandidate:
    found = candidate_of(compiled)
    if isinstance(found, CompiledCandidate):
        return found
    raise RequestError(found)


# Try to publish until no other version gets in between, and tell of what was posted in vain (R17).
#
# Only homes that cannot keep two compilers apart let both post. Whoever was interrupted before the
# thread was told of her void message tells it with her next compile.


MOST_TRIES = 200
_Done = TypeVar("_Done")


class Published(NamedTuple, Generic[_Done]):
    """What came of it, and which messages were posted in vain before that."""

    done: _Done
    in_vain: tuple[Diagnostic, ...]


class _Told(NamedTuple):
    """A void message of ours, and whether the thread hears of it only now."""

    message_id: int
    found: Diagnostic
    is_new: bool


def publish_with_retry(
    workspace: Workspace,
    thread_id: str,
    attempt: Callable[[KeptChain], _Done],
    *,
    dry_run: bool = False,
) -> Published[_Done]:
    """Read the thread and try, until no other version or decision gets in between."""
    says_so = Capability.EXACT_POSITIONS in workspace.mailbox.lacks and not dry_run
    posted: set[int] = set()
    in_vain: dict[int, Diagnostic] = {}
    try:
        for _ in range(MOST_TRIES):
            known = load_history(workspace.mailbox, thread_id, workspace.project.operator)
            told = _withdraw(workspace, known.history) if says_so else []
            in_vain |= {
                it.message_id: it.found for it in told if it.is_new or it.message_id in posted
            }
            if any(each.is_new for each in told):
                known = load_history(workspace.mailbox, thread_id, workspace.project.operator)
            try:
                return Published(attempt(known), tuple(in_vain.values()))
            except OvertakenError as overtaken:
                posted |= {overtaken.posted.id} if overtaken.posted else set()
        raise RequestError(COMPILE_OVERTAKEN.at(thread_id=thread_id, tries=MOST_TRIES))
    except BrennerError as error:
        error.diagnostic = _with_posted(error.diagnostic, posted)
        raise


def _with_posted(found: Diagnostic, posted: Iterable[int]) -> Diagnostic:
    """What went wrong, and what was posted before it: nobody must look for that in vain."""
    ids = [f"message {number}" for number in sorted(posted)]
    if not ids:
        return found
    words = f"{' and '.join(ids)} had been posted, and {'is' if len(ids) == 1 else 'are'} void"
    message = f"{found.message} Before that {words}: another compiler was quicker."
    return found._replace(message=message, also=(*found.also, POSTED_IN_VAIN.id))


# What the thread is told


def _withdraw(workspace: Workspace, history: VersionHistory) -> list[_Told]:
    """Say of each void message of ours that it is, unless the thread knows."""
    lost = history.lost_by(workspace.actor)
    to = recipients_of(workspace, history, history.state.artifact) if lost else ()
    blank = Message(history.thread_id, workspace.actor, to, "", "")
    return [_say(workspace.mailbox, history, each, blank) for each in lost]


def _say(
    mailbox: Mailbox, history: VersionHistory, lost: CompiledCandidate, blank: Message
) -> _Told:
    number, reason = lost.filed.posted.id, history.why_void(lost)
    message = compose_withdrawal(blank, lost.number, number, reason)
    sent = send_if_absent(mailbox, message, lambda: _said(mailbox, message), key=f"void {number}")
    words = {"id": str(number), "version": str(lost.number), "reason": reason}
    found = POSTED_IN_VAIN.at(None, **words, info=sent.stored.id)
    return _Told(number, found._replace(message_id=number), sent.is_new)


def _said(mailbox: Mailbox, message: Message) -> StoredMessage | None:
    """The message that says it already; its subject names the one that is void."""
    for stored in mailbox.thread_arrivals(message.thread_id, 0):
        if (stored.message.sender, stored.message.subject) == (message.sender, message.subject):
            return stored
    return None


# Whether what would be published is still what somebody looked at before she decided to.
#
# Only what a version depends on counts. Acknowledgements and critiques that come in meanwhile
# change
# nothing of it, and in a lively session would never let anybody publish.


_READ = frozenset({KICKOFF.name, DELTA.name, COMPILED.name})
_GONE = "it has fewer messages"
_ELSEWHERE = "another session has changed, and with it what refers to it"


def arrived_since(mailbox: Mailbox, thread_id: str, position: int) -> tuple[StoredMessage, ...]:
    """What came in after the first so many messages, as they came in."""
    return mailbox.thread_arrivals(thread_id, 0)[position:]


def check_as_seen(mailbox: Mailbox, history: VersionHistory, position: int | None) -> None:
    """Refuse where the next version is not the one that was seen; None is whoever did not look."""
    if position is None or history.position == position:
        return
    arrived = arrived_since(mailbox, history.thread_id, position)
    counts = [each for each in arrived if each.type in _READ or is_decision(filed(each))]
    if counts or history.position < position:
        news = joined(f"message {each.id} is {_previewed_said(each)}" for each in counts) or _GONE
        raise RequestError(PREVIEW_OVERTAKEN.at(thread_id=history.thread_id, news=news))


def digest_of(artifact: Artifact) -> str:
    """What stands for a version that is to come, whenever it is compiled."""
    timeless = artifact.metadata._replace(updated_at=None, compiled_at=None)
    return text_hash(render_artifact(artifact._replace(metadata=timeless)))


def check_proposed(thread_id: str, artifact: Artifact, seen: str | None) -> None:
    """Refuse another version than the one that was seen, where the thread is the same: references
    depend on other sessions, too.
    """
    if seen is not None and seen != digest_of(artifact):
        raise RequestError(PREVIEW_OVERTAKEN.at(thread_id=thread_id, news=_ELSEWHERE))


def _previewed_said(stored: StoredMessage) -> str:
    return f"a {stored.type or 'message'} of {stored.message.sender}"
