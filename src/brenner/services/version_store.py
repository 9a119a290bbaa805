"""Load and cache the version history of a thread; texts and ledgers of its versions."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from brenner.diagnostics.model import ERROR, BrennerError, Diagnostic, RequestError
from brenner.mail.rules import unknown_thread_error
from brenner.named_tuple import NamedTuple
from brenner.persist.artifact_file import VersionText
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import StoredMessage
from brenner.protocol.subjects import parse_subject
from brenner.protocol.thread_ids import check_thread_id
from brenner.session.rebuild import (
    CompiledCandidate,
    LocalIds,
    RebuiltVersion,
    altered_diagnostic,
    describe_altered,
    is_altered,
    local_ids_of,
    local_ledger,
    local_state,
    text_hash,
)
from brenner.session.versions import (
    VersionCallback,
    VersionHistory,
    advance,
    decode_history,
    encode_history,
    ignore_version,
    replay,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from brenner.artifact.state import Entry, State
    from brenner.mail.mailbox import Mailbox
    from brenner.protocol.messages import Message, StoredMessage
    from brenner.services.workspace import Workspace


def require_thread_id(thread_id: str) -> None:
    """Raise if the ID is not a valid thread ID: it is used as a file name, too."""
    for found in check_thread_id(thread_id):
        if found.severity is ERROR:
            raise RequestError(found)


def load_history(mailbox: Mailbox, thread_id: str, operator: str) -> VersionHistory:
    """Return the history of a thread, from the cache and new messages. Raise if it has no mail."""
    cached = _decode_cached(
        mailbox.kept(_cache_key(thread_id, operator)), thread_id, mailbox.message
    )
    if cached is not None:
        news = mailbox.thread_arrivals(thread_id, cached.arrival)
        history = advance(cached, news) if news else cached
        if history is not None:
            return history
    return replay_history(mailbox, thread_id, operator)


def load_thread(
    mailbox: Mailbox, thread_id: str, operator: str
) -> tuple[VersionHistory, tuple[StoredMessage, ...]]:
    """Return the same, and all messages that the history includes, which are read once."""
    text = mailbox.kept(_cache_key(thread_id, operator))  # first, so that it is not newer
    messages = _require_messages(mailbox, thread_id)
    by_id = {each.id: each for each in messages}
    cached = _decode_cached(text, thread_id, by_id.__getitem__)
    history = None
    if cached is not None and cached.arrival <= max(each.arrival for each in messages):
        news = [each for each in messages if each.arrival > cached.arrival]
        history = advance(cached, news) if news else cached
    return history or replay(thread_id, messages, operator), messages


def extend_history(
    history: VersionHistory,
    messages: Sequence[StoredMessage],
    news: Sequence[StoredMessage],
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
    text = mailbox.kept(_cache_key(thread_id, operator))
    cached = _decode_cached(text, thread_id, mailbox.message)
    known = cached.position if cached else 0
    if mailbox.thread(thread_id, limit=1).position - known > most:
        return None
    history = load_history(mailbox, thread_id, operator)
    return history if len(history.unread) <= most else None


def replay_history(
    mailbox: Mailbox, thread_id: str, operator: str, on_version: VersionCallback = ignore_version
) -> VersionHistory:
    """Compute the history from the mail, without the cache; `on_version` gets every version."""
    return replay(thread_id, _require_messages(mailbox, thread_id), operator, on_version)


def _require_messages(mailbox: Mailbox, thread_id: str) -> tuple[StoredMessage, ...]:
    messages = tuple(mailbox.thread_arrivals(thread_id, 0))
    if not messages:
        raise unknown_thread_error(thread_id, [thread.thread_id for thread in mailbox.threads()])
    return messages


def altered_in_thread(mailbox: Mailbox, thread_id: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every message of a thread whose content does not match its hash."""
    found = mailbox.thread_arrivals(thread_id, 0)
    return tuple(altered_diagnostic(each.id) for each in found if is_altered(each))


def cache_history(mailbox: Mailbox, history: VersionHistory, operator: str) -> None:
    """Cache a history. A failure is ignored: it only makes the next load slower."""
    if history.compile_blocker or not history.versions:
        return
    with suppress(BrennerError):
        mailbox.keep({_cache_key(history.thread_id, operator): encode_history(history)})


def _decode_cached(
    text: str | None, thread_id: str, find: Callable[[int], StoredMessage]
) -> VersionHistory | None:
    if text is None:
        return None
    altered: dict[int, StoredMessage] = {}

    def message(number: int) -> StoredMessage:
        found = find(number)
        if is_altered(found):
            altered[number] = found
        return found

    try:
        history = decode_history(text, thread_id, message)
    except (ValueError, LookupError, TypeError, BrennerError):  # damaged, or of another release
        return None
    return history._replace(altered=tuple(altered.values()))


def _cache_key(thread_id: str, operator: str) -> str:
    """Return the cache key. The operator is part of it, because the operator can void versions."""
    return f"chain of {operator} for {thread_id}"


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
    void = (each.inline for each in history.other_candidates if history.is_void(each))
    summary = version_summary(message, number)
    return VersionText(
        history.thread_id, number, message_id, text, summary, tuple(filter(None, void))
    )


def version_summary(message: Message, number: int) -> str:
    """Return the description in the subject of a COMPILED message, without the version."""
    subject = parse_subject(message.subject)
    return (subject.description if subject else "").removeprefix(f"v{number}").strip()


# Whether the versions follow from the mail


class VerifiedVersion(NamedTuple):
    """Whether a version follows from the mail; if not, `difference` says where.

    `message_hash` is the hash of the version's message: two may claim one number.
    """

    number: int
    ok: bool
    artifact_sha256: str
    difference: str
    thread_id: str
    message_hash: str


def verify_versions(
    mailbox: Mailbox, thread_id: str, operator: str
) -> tuple[VersionHistory, tuple[VerifiedVersion, ...]]:
    """Rebuild every version of a thread, also one that does not follow from the mail."""
    found: list[VerifiedVersion] = []

    def add(candidate: CompiledCandidate, fault: str) -> None:
        sha256 = candidate.record.artifact_sha256 if candidate.record else ""
        about = (thread_id, candidate.stored.content_hash)
        found.append(VerifiedVersion(candidate.number, not fault, sha256, fault, *about))

    def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        add(candidate, describe_altered(candidate, rebuilt))

    history = replay_history(mailbox, thread_id, operator, on_version)
    if history.broken_version:
        add(history.broken_version, history.broken_version.fault)
    return history, tuple(found)


# The ledgers of versions


class VersionLedger(NamedTuple):
    """The ledger of one version, and its state. An adopted version has no entries.

    `local_ids` are the ids in this store of the messages that it has read.
    """

    number: int
    entries: tuple[Entry, ...]
    state: State
    local_ids: LocalIds


def load_ledgers(workspace: Workspace, thread_id: str) -> tuple[VersionLedger, ...]:
    """Return the ledger of every version, in order. All versions are rebuilt."""
    require_thread_id(thread_id)
    found: list[VersionLedger] = []
    replay_history(
        workspace.mailbox, thread_id, workspace.project.operator, ledger_collector(found)
    )
    return tuple(found)


def ledgers_of_messages(
    thread_id: str, messages: Sequence[StoredMessage], operator: str
) -> tuple[VersionLedger, ...]:
    """Return the same for messages that are already loaded."""
    found: list[VersionLedger] = []
    replay(thread_id, messages, operator, ledger_collector(found))
    return tuple(found)


def ledger_collector(found: list[VersionLedger]) -> VersionCallback:
    """Return a watcher that appends the ledger of each rebuilt version to `found`."""

    def on_version(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> None:
        entries, ids = local_ledger(candidate, rebuilt), local_ids_of(candidate, rebuilt)
        found.append(VersionLedger(candidate.number, entries, rebuilt.state, ids))

    return on_version


def load_ledger(workspace: Workspace, thread_id: str, number: int) -> tuple[Entry, ...]:
    found = {each.number: each.entries for each in load_ledgers(workspace, thread_id)}
    return found.get(number, ())


def state_of(ledgers: Iterable[VersionLedger], number: int) -> State:
    """Return the state of a version, with the message ids of this store.

    `ledgers` are those of all versions. So one replay of a thread serves all its versions.
    """
    ids: dict[tuple[int, int], int] = {}
    for each in ledgers:
        ids.update(each.local_ids)
        if each.number == number:
            return local_state(each.state, ids)
    raise LookupError(number)
