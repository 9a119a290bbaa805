"""The chain of a thread's versions, from the mailbox; what was worked out before is kept there."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import Conflict, Entry
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import StoredMessage
from brenner.mail.rules import unknown_thread
from brenner.persist.artifact_file import VersionText
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject
from brenner.protocol.thread_ids import check_thread_id
from brenner.services.workspace import Workspace
from brenner.session.rebuild import (
    CompiledCandidate,
    Rebuilt,
    ThreadMessage,
    altered_message,
    is_altered,
    local_ledger,
    text_hash,
)
from brenner.session.versions import (
    KeptChain,
    VersionHistory,
    Watch,
    advance,
    decode_chain,
    encode_chain,
    replay,
    unwatched,
)


def filed(stored: StoredMessage) -> ThreadMessage:
    """A message as a session needs it."""
    return ThreadMessage(
        stored.posted,
        stored.content_hash,
        stored.origin_id,
        stored.arrival,
        stored.is_local,
        stored.acknowledges,
        stored.reply_to,
        stored.decides,
    )


def check_usable(thread_id: str) -> None:
    """Refuse an ID that is no thread's: it is a file name, too."""
    for found in check_thread_id(thread_id):
        if found.severity is ERROR:
            raise RequestError(found)


def load_history(mailbox: Mailbox, thread_id: str, operator: str) -> KeptChain:
    """The chain as it stands; a thread that nobody has written to is refused."""
    kept = _kept(mailbox, thread_id, operator)
    if kept is not None:
        news = mailbox.thread_arrivals(thread_id, kept.arrival)
        history = advance(kept.history, list(map(filed, news))) if news else kept.history
        if history is not None:
            return KeptChain(history, _last(news, kept.arrival))
    stored = mailbox.thread_arrivals(thread_id, 0)
    if not stored:
        raise unknown_thread(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return KeptChain(replay(thread_id, list(map(filed, stored)), operator), _last(stored, 0))


def extend_history(
    history: VersionHistory,
    messages: Sequence[ThreadMessage],
    news: Sequence[ThreadMessage],
    operator: str,
    watch: Watch = unwatched,
) -> VersionHistory:
    """The chain with messages that came in since; `messages` are all of them, with the new ones.

    `watch` sees the versions that are new, or all, where everything is replayed: each as it is
    known in the end.
    """
    seen: list[tuple[CompiledCandidate, Rebuilt]] = []
    after = advance(history, news, lambda *version: seen.append(version))
    # The first version names an operator who is heard from then on, also in what came before it.
    has_first = after is not None and bool(after.versions) and not history.versions
    if after is None or has_first:
        return replay(history.thread_id, messages, operator, watch)
    for version in seen:
        watch(*version)
    return after


def load_if_small(
    mailbox: Mailbox, thread_id: str, operator: str, most: int
) -> VersionHistory | None:
    """The chain, if no more than so many messages have to be read for it."""
    kept = _kept(mailbox, thread_id, operator)
    known = kept.history.position if kept else 0
    if mailbox.thread(thread_id, limit=1).position - known > most:
        return None
    history = load_history(mailbox, thread_id, operator).history
    return history if len(history.unread) <= most else None


def replay_chain(mailbox: Mailbox, thread_id: str, operator: str, watch: Watch) -> VersionHistory:
    """The chain worked out from the mail alone; `watch` sees every version that is rebuilt."""
    stored = mailbox.thread_arrivals(thread_id, 0)
    if not stored:
        raise unknown_thread(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return replay(thread_id, list(map(filed, stored)), operator, watch)


def altered_in_thread(mailbox: Mailbox, thread_id: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every message of a thread whose content does not match its hash."""
    found = map(filed, mailbox.thread_arrivals(thread_id, 0))
    return tuple(altered_message(each.posted.id) for each in found if is_altered(each))


def cache_history(mailbox: Mailbox, known: KeptChain, operator: str) -> None:
    """Keep a chain for the next time. Where that fails, the next time only takes longer."""
    if known.history.stopped or not known.history.versions:
        return
    with suppress(BrennerError):
        mailbox.keep({_name(known.history.thread_id, operator): encode_chain(known)})


def _kept(mailbox: Mailbox, thread_id: str, operator: str) -> KeptChain | None:
    text = mailbox.kept(_name(thread_id, operator))
    if text is None:
        return None
    altered: dict[int, ThreadMessage] = {}

    def message(number: int) -> ThreadMessage:
        found = filed(mailbox.message(number))
        if is_altered(found):
            altered[number] = found
        return found

    try:
        known = decode_chain(text, thread_id, message)
    except (ValueError, LookupError, TypeError, BrennerError):  # damaged, or of another release
        return None
    return known._replace(history=known.history._replace(altered=tuple(altered.values())))


def _name(thread_id: str, operator: str) -> str:
    """Who may void a version is part of what was worked out."""
    return f"chain of {operator} for {thread_id}"


def _last(stored: Iterable[StoredMessage], before: int) -> int:
    return max((each.arrival for each in stored), default=before)


# The text of any version of a thread, from its COMPILED message or else rebuilt; and what of it is
# persisted.


def version_texts(
    mailbox: Mailbox, history: VersionHistory, operator: str
) -> Callable[[int], str | None]:
    """A function from the number of a version to its text; None for one that does not exist."""
    ids = {version.number: version for version in history.versions}

    def text_of(number: int) -> str | None:
        version = ids.get(number)
        if version is None:
            return None
        inline = read_compiled(mailbox.message(version.message_id).message).inline
        if inline is not None and text_hash(inline) == version.artifact_sha256:
            return inline
        return rebuilt_texts().get(number)

    found: dict[int, str] = {}

    def rebuilt_texts() -> dict[int, str]:
        """All of them: a version too large for its message is seldom looked at."""
        if not found:

            def watch(candidate: CompiledCandidate, rebuilt: Rebuilt) -> None:
                found[candidate.number] = rebuilt.text

            replay_chain(mailbox, history.thread_id, operator, watch)
        return found

    return text_of


def version_text(
    history: VersionHistory, number: int, message_id: int, text: str, message: Message
) -> VersionText:
    """What is persisted of a version; the commit says of it what the subject of its message says.

    A message that is not posted yet has no id (0).
    """
    subject = parse_subject(message.subject)
    said = (subject.description if subject else "").removeprefix(f"v{number}").strip()
    spare = [each for each in history.spare if history.is_void(each)]
    void = tuple(each.inline for each in spare if each.inline)
    return VersionText(history.thread_id, number, message_id, text, said, void)


# What became of every block of a thread, version by version.


class VersionLedger(NamedTuple):
    """The blocks that one version has read, the artifact after them, and what is in conflict in it.

    An adopted one has read none.
    """

    number: int
    entries: tuple[Entry, ...]
    artifact: Artifact | None = None
    conflicts: tuple[Conflict, ...] = ()


def ledgers(workspace: Workspace, thread_id: str) -> tuple[VersionLedger, ...]:
    """The ledger of every version, in order; all of them are rebuilt once."""
    check_usable(thread_id)
    found: list[VersionLedger] = []
    replay_chain(workspace.mailbox, thread_id, workspace.project.operator, gathered(found))
    return tuple(found)


def ledgers_in(
    thread_id: str, messages: Sequence[ThreadMessage], operator: str
) -> tuple[VersionLedger, ...]:
    """The same of messages that are at hand."""
    found: list[VersionLedger] = []
    replay(thread_id, messages, operator, gathered(found))
    return tuple(found)


def gathered(found: list[VersionLedger]) -> Watch:
    """What looks on while versions are rebuilt, and gathers their ledgers."""

    def watch(candidate: CompiledCandidate, rebuilt: Rebuilt) -> None:
        entries = local_ledger(candidate, rebuilt)
        conflicts = tuple(rebuilt.state.conflicts)
        found.append(VersionLedger(candidate.number, entries, rebuilt.artifact, conflicts))

    return watch


def ledger_of(workspace: Workspace, thread_id: str, number: int) -> tuple[Entry, ...]:
    """What became of every block that one version has read."""
    found = {each.number: each.entries for each in ledgers(workspace, thread_id)}
    return found.get(number, ())
