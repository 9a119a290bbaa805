"""Load and cache the version history of a thread; texts and ledgers of its versions."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from brenner.artifact.model import Artifact
from brenner.artifact.state import Conflict, Entry
from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError
from brenner.mail.mailbox import Mailbox
from brenner.mail.model import StoredMessage
from brenner.mail.rules import unknown_thread_error
from brenner.persist.artifact_file import VersionText
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import Message
from brenner.protocol.subjects import parse_subject
from brenner.protocol.thread_ids import check_thread_id
from brenner.services.workspace import Workspace
from brenner.session.rebuild import (
    CompiledCandidate,
    RebuiltVersion,
    ThreadMessage,
    altered_diagnostic,
    is_altered,
    local_ledger,
    text_hash,
)
from brenner.session.versions import (
    CachedHistory,
    VersionCallback,
    VersionHistory,
    advance,
    decode_history,
    encode_history,
    ignore_version,
    replay,
)


def to_thread_message(stored: StoredMessage) -> ThreadMessage:
    """Convert a stored message to the form that a session needs."""
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


def require_thread_id(thread_id: str) -> None:
    """Raise if the ID is not a valid thread ID: it is used as a file name, too."""
    for found in check_thread_id(thread_id):
        if found.severity is ERROR:
            raise RequestError(found)


def load_history(mailbox: Mailbox, thread_id: str, operator: str) -> CachedHistory:
    """Return the history of a thread, from the cache and new messages. Raise if it has no mail."""
    cached = _load_cached(mailbox, thread_id, operator)
    if cached is not None:
        news = mailbox.thread_arrivals(thread_id, cached.arrival)
        history = (
            advance(cached.history, list(map(to_thread_message, news))) if news else cached.history
        )
        if history is not None:
            return CachedHistory(history, _last_arrival(news, cached.arrival))
    stored = mailbox.thread_arrivals(thread_id, 0)
    if not stored:
        raise unknown_thread_error(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return CachedHistory(
        replay(thread_id, list(map(to_thread_message, stored)), operator), _last_arrival(stored, 0)
    )


def extend_history(
    history: VersionHistory,
    messages: Sequence[ThreadMessage],
    news: Sequence[ThreadMessage],
    operator: str,
    on_version: VersionCallback = ignore_version,
) -> VersionHistory:
    """Return the history with new messages; `messages` are all of them, including the new ones.

    `on_version` gets the new versions, or all of them after a replay.
    """
    seen: list[tuple[CompiledCandidate, RebuiltVersion]] = []
    after = advance(history, news, lambda *version: seen.append(version))
    # The first version names an operator, whose earlier decisions count from then on, too.
    has_first = after is not None and bool(after.versions) and not history.versions
    if after is None or has_first:
        return replay(history.thread_id, messages, operator, on_version)
    for version in seen:
        on_version(*version)
    return after


def load_if_small(
    mailbox: Mailbox, thread_id: str, operator: str, most: int
) -> VersionHistory | None:
    """Return the history, or None if it needs more than `most` messages to be read."""
    cached = _load_cached(mailbox, thread_id, operator)
    known = cached.history.position if cached else 0
    if mailbox.thread(thread_id, limit=1).position - known > most:
        return None
    history = load_history(mailbox, thread_id, operator).history
    return history if len(history.unread) <= most else None


def replay_history(
    mailbox: Mailbox, thread_id: str, operator: str, on_version: VersionCallback
) -> VersionHistory:
    """Compute the history from the mail, without the cache; `on_version` gets every version."""
    stored = mailbox.thread_arrivals(thread_id, 0)
    if not stored:
        raise unknown_thread_error(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return replay(thread_id, list(map(to_thread_message, stored)), operator, on_version)


def altered_in_thread(mailbox: Mailbox, thread_id: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every message of a thread whose content does not match its hash."""
    found = map(to_thread_message, mailbox.thread_arrivals(thread_id, 0))
    return tuple(altered_diagnostic(each.posted.id) for each in found if is_altered(each))


def cache_history(mailbox: Mailbox, cached: CachedHistory, operator: str) -> None:
    """Cache a history. A failure is ignored: it only makes the next load slower."""
    if cached.history.compile_blocker or not cached.history.versions:
        return
    with suppress(BrennerError):
        mailbox.keep({_cache_key(cached.history.thread_id, operator): encode_history(cached)})


def _load_cached(mailbox: Mailbox, thread_id: str, operator: str) -> CachedHistory | None:
    text = mailbox.kept(_cache_key(thread_id, operator))
    if text is None:
        return None
    altered: dict[int, ThreadMessage] = {}

    def message(number: int) -> ThreadMessage:
        found = to_thread_message(mailbox.message(number))
        if is_altered(found):
            altered[number] = found
        return found

    try:
        cached = decode_history(text, thread_id, message)
    except (ValueError, LookupError, TypeError, BrennerError):  # damaged, or of another release
        return None
    return cached._replace(history=cached.history._replace(altered=tuple(altered.values())))


def _cache_key(thread_id: str, operator: str) -> str:
    """Return the cache key. The operator is part of it, because the operator can void versions."""
    return f"chain of {operator} for {thread_id}"


def _last_arrival(stored: Iterable[StoredMessage], before: int) -> int:
    return max((each.arrival for each in stored), default=before)


# The texts of versions, from the COMPILED message or rebuilt


def version_texts(
    mailbox: Mailbox, history: VersionHistory, operator: str
) -> Callable[[int], str | None]:
    """Return a function from the number of a version to its text, or None if it does not exist."""
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
        """Rebuild all texts at once; a version too large for its message is seldom read."""
        if not found:

            def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
                found[candidate.number] = rebuilt.text

            replay_history(mailbox, history.thread_id, operator, on_version)
        return found

    return text_of


def version_text(
    history: VersionHistory, number: int, message_id: int, text: str, message: Message
) -> VersionText:
    """Return what is persisted of a version, with a summary from the message's subject.

    A message that is not posted yet has the id 0.
    """
    subject = parse_subject(message.subject)
    summary = (subject.description if subject else "").removeprefix(f"v{number}").strip()
    spare = [each for each in history.other_candidates if history.is_void(each)]
    void = tuple(each.inline for each in spare if each.inline)
    return VersionText(history.thread_id, number, message_id, text, summary, void)


# The ledgers of versions


class VersionLedger(NamedTuple):
    """The ledger of one version, its artifact and conflicts. An adopted one has no entries."""

    number: int
    entries: tuple[Entry, ...]
    artifact: Artifact | None = None
    conflicts: tuple[Conflict, ...] = ()


def load_ledgers(workspace: Workspace, thread_id: str) -> tuple[VersionLedger, ...]:
    """Return the ledger of every version, in order. All versions are rebuilt."""
    require_thread_id(thread_id)
    found: list[VersionLedger] = []
    replay_history(
        workspace.mailbox, thread_id, workspace.project.operator, ledger_collector(found)
    )
    return tuple(found)


def ledgers_of_messages(
    thread_id: str, messages: Sequence[ThreadMessage], operator: str
) -> tuple[VersionLedger, ...]:
    """Return the same for messages that are already loaded."""
    found: list[VersionLedger] = []
    replay(thread_id, messages, operator, ledger_collector(found))
    return tuple(found)


def ledger_collector(found: list[VersionLedger]) -> VersionCallback:
    """Return a watcher that appends the ledger of each rebuilt version to `found`."""

    def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        entries = local_ledger(candidate, rebuilt)
        conflicts = tuple(rebuilt.state.conflicts)
        found.append(VersionLedger(candidate.number, entries, rebuilt.artifact, conflicts))

    return on_version


def load_ledger(workspace: Workspace, thread_id: str, number: int) -> tuple[Entry, ...]:
    """Return the ledger of one version."""
    found = {each.number: each.entries for each in load_ledgers(workspace, thread_id)}
    return found.get(number, ())
