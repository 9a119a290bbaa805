"""A version rebuilt from its record and the messages of the thread, byte for byte (R10)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import zip_longest
from typing import NamedTuple, NoReturn, cast

from brenner.artifact.merge.draft import Elsewhere
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.model import Artifact
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import (
    Blame,
    Change,
    Conflict,
    Entry,
    Source,
    State,
    Version,
    adopted_state,
)
from brenner.diagnostics.codes.stores import HASH_MISMATCH
from brenner.diagnostics.model import Diagnostic
from brenner.lint.linter import lint
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import PostedMessage, content_hash, iso
from brenner.session.model import CompiledMessage, OpenConflict, ReadMessage, VersionRecord
from brenner.text import escape_control

_MOST_SHOWN = 60  # characters of a line that differs
# Rules without which an artifact cannot be gone on with: IDs are well formed, and none stands twice
_SOUND_IDS = ("ES-003", "ES-004")


class ThreadMessage(NamedTuple):
    """A message of a thread as a store has it.

    `origin_id` is the id where it was first stored, `arrival` its place in the order of coming in
    here. One that was imported is not local. `acknowledges` are the messages whose debts it settled
    when it came in. `decides` is whether it counts as the operator's decision, settled when it was
    stored; None for a message that decides nothing, and where the store does not keep it.
    """

    posted: PostedMessage
    content_hash: str
    origin_id: int
    arrival: int
    is_local: bool = True
    acknowledges: tuple[int, ...] = ()
    reply_to: int | None = None
    decides: bool | None = None

    def counts_for(self, operators: Collection[str]) -> bool:
        """Return whether a decision in this message counts; by its sender's name where the store
        has not settled it.
        """
        return self.posted.message.sender in operators if self.decides is None else self.decides


class CompiledCandidate(NamedTuple):
    """A COMPILED message with a record, and the version that it says it is.

    A record that cannot be read has a `fault` instead. `inline` is the artifact in the message.
    """

    filed: ThreadMessage
    number: int
    record: VersionRecord | None
    fault: str
    subject_version: int | None
    inline: str | None


class Rebuilt(NamedTuple):
    """A version as its record makes it. An adopted one was not merged from anything.

    `state` is not yet published: the id and time of the COMPILED message are to be added.
    """

    artifact: Artifact
    text: str
    state: State
    read: tuple[ThreadMessage, ...]
    merged: Merge | None


class VersionMismatch(Exception):
    """A record does not make the version that its message says; in words, the first difference."""


def stamped(artifact: Artifact, compiled_at: str, compiled_by: str, status: str) -> Artifact:
    """The artifact with what its compiler adds and no message holds."""
    metadata = artifact.metadata._replace(
        compiled_at=compiled_at, compiled_by=compiled_by, status=status
    )
    return artifact._replace(metadata=metadata)


def text_hash(text: str) -> str:
    """What a record says of an artifact: the SHA-256 of its UTF-8 bytes."""
    return sha256(text.encode()).hexdigest()


def rebuild(
    state: State,
    candidate: CompiledCandidate,
    unread: Sequence[ThreadMessage],
    adoptable: Sequence[ThreadMessage] = (),
) -> Rebuilt:
    """The version that a record makes of the state before it; `UnsoundError` where it makes none.

    Messages are matched by hash; ids and times are the record's, so that a thread which was copied
    to another store is rebuilt as it was.
    """
    record = checked_record(candidate)
    read = _matched(record.messages, unread)
    if record.adopted:
        after, merged = adopt(state, record, adoptable), None
    else:
        posted = [
            PostedMessage(entry.id, _time(entry.at), filed.posted.message)
            for entry, filed in zip(record.messages, read, strict=True)
        ]
        left_out = Elsewhere(left_out=frozenset(record.references_left_out))
        merged = merge(
            as_seen(state, record.base), posted, operator=record.operator, elsewhere=left_out
        )
        after = merged.state
    if after.artifact.metadata.version != record.version:
        _fail(f"the next version is v{after.artifact.metadata.version}")
    artifact = stamped(after.artifact, record.compiled_at, record.compiled_by, record.status)
    text = render_artifact(artifact)
    _check_text(text, candidate, record)
    _check_conflicts(after, record)
    return Rebuilt(artifact, text, after._replace(artifact=artifact), tuple(read), merged)


def _fail(reason: str) -> NoReturn:
    raise VersionMismatch(reason)


def checked_record(candidate: CompiledCandidate) -> VersionRecord:
    """The record, if the message and it say the same of who compiled which version."""
    record, sender = candidate.record, candidate.filed.posted.message.sender
    if record is None:
        _fail(f"its record cannot be read: {candidate.fault}")
    if sender != record.compiled_by:
        _fail(f"{sender} posted what the record says {record.compiled_by} compiled")
    if candidate.subject_version != record.version:
        _fail(
            f"the record says v{record.version}, and the subject says "
            + (f"v{candidate.subject_version}" if candidate.subject_version else "no version")
        )
    return record


def _matched(
    entries: Sequence[ReadMessage], unread: Sequence[ThreadMessage]
) -> list[ThreadMessage]:
    """The messages that a record names, each once: of equal ones the one of that id, if any."""
    by_hash: dict[str, dict[int, ThreadMessage]] = {}
    for filed in unread:
        by_hash.setdefault(filed.content_hash, {})[filed.posted.id] = filed
    found = []
    for entry in entries:
        equal = by_hash.get(entry.content_hash)
        if not equal:
            _fail(
                f"message {entry.id} of {entry.at}, which the version has read, is not in the "
                "thread, or another version has read it"
            )
        found.append(equal.pop(entry.id) if entry.id in equal else equal.pop(min(equal)))
    return found


def as_seen(state: State, base: CompiledMessage | None) -> State:
    """The state with its latest version at the id and time that a compiler saw it at."""
    if base is None:
        return state
    *earlier, last = state.versions
    return state._replace(
        versions=(*earlier, Version(last.number, _time(base.at), base.id, last.counts))
    )


def adopt(state: State, record: VersionRecord, adoptable: Sequence[ThreadMessage]) -> State:
    """The state of a version that takes another program's artifact as it is.

    Only what stands before the adopted message can count as read by it. All times are the
    record's: in a copy of the thread the store has others.
    """
    wanted = cast("CompiledMessage", record.adopted)
    found = [each for each in adoptable if each.content_hash == wanted.content_hash]
    if not found:
        _fail(f"message {wanted.id}, which it adopts, is not in the thread")
    last = _time(wanted.at)
    late = [entry for entry in record.messages if _time(entry.at) > last]
    if late:
        _fail(f"it takes message {late[0].id} as read, which came after what it adopts")
    artifact = adopted_artifact(found[0], wanted.version)
    first = iso(min((_time(entry.at) for entry in record.messages), default=last))
    thread_id = state.artifact.metadata.session_id or ""
    after = adopted_state(thread_id, artifact, last, wanted.id)
    metadata = after.artifact.metadata
    restamped = metadata._replace(
        version=wanted.version + 1,
        created_at=metadata.created_at or first,
        updated_at=metadata.updated_at or wanted.at,
        agent_mail_message_id=None,
    )
    return after._replace(
        artifact=after.artifact._replace(metadata=restamped),
        versions=(*as_seen(state, record.base).versions, after.versions[-1]),
    )


def adopted_artifact(compiled: ThreadMessage, version: int) -> Artifact:
    """The artifact in a COMPILED message that another program posted."""
    inline = read_compiled(compiled.posted.message).inline
    if inline is None:
        _fail(f"message {compiled.posted.id} does not hold an artifact")
    artifact = parse_artifact(inline).artifact
    faults = [found for found in lint(artifact).violations if found.id in _SOUND_IDS]
    if faults:
        _fail(f"the artifact in message {compiled.posted.id}: {faults[0].message}")
    return artifact._replace(metadata=artifact.metadata._replace(version=version))


def _check_conflicts(state: State, record: VersionRecord) -> None:
    """The open conflicts are part of what a version says."""
    if open_conflicts(state.conflicts) != record.conflicts:
        _fail("its record names other open conflicts than there are")


def open_conflicts(conflicts: Iterable[Conflict]) -> tuple[OpenConflict, ...]:
    """How a record names the conflicts that are open."""
    return tuple(OpenConflict(conflict.item_id, conflict.field) for conflict in conflicts)


def _check_text(text: str, candidate: CompiledCandidate, record: VersionRecord) -> None:
    inline = candidate.inline
    if inline is not None and inline != text:
        _fail(_first_difference(text, inline))
    if text_hash(text) != record.artifact_sha256:
        _fail(
            f"the artifact's SHA-256 is {text_hash(text)[:12]}…, and the record says "
            f"{record.artifact_sha256[:12]}…"
        )


def _first_difference(ours: str, theirs: str) -> str:
    pairs = zip_longest(ours.split("\n"), theirs.split("\n"))
    for number, (mine, other) in enumerate(pairs, 1):
        if mine != other:
            return (
                f"line {number} of the artifact is {_shown(other)} in the message, and "
                f"{_shown(mine)} by the record"
            )
    return "none"


def _shown(line: str | None) -> str:
    return "missing" if line is None else f"`{escape_control(line, _MOST_SHOWN)}`"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def read_message(filed: ThreadMessage) -> ReadMessage:
    """How a record names a message that was read."""
    return ReadMessage(filed.content_hash, filed.posted.id, iso(filed.posted.at))


# Message ids as this store has them.
#
# A version is rebuilt with the ids that its record names. Where its thread was imported and its
# messages got other ids, people must be shown those.


# The id in this store, by the version and the id that its record has
Ids = Mapping[tuple[int, int], int]


def ids_of(candidate: CompiledCandidate, rebuilt: Rebuilt) -> Ids:
    """The ids of the messages that one version has read."""
    messages = candidate.record.messages if candidate.record else ()
    pairs = zip(messages, rebuilt.read, strict=True)
    return {(candidate.number, entry.id): filed.posted.id for entry, filed in pairs}


def local_ledger(candidate: CompiledCandidate, rebuilt: Rebuilt) -> tuple[Entry, ...]:
    """What became of every block of a version, with the ids of its messages in this store."""
    if rebuilt.merged is None:
        return ()
    here = {there: local for (_, there), local in ids_of(candidate, rebuilt).items()}
    if all(there == local for there, local in here.items()):
        return rebuilt.merged.ledger
    return tuple(
        entry._replace(
            message_id=here[entry.message_id],
            diagnostics=tuple(
                found._replace(message_id=here.get(found.message_id or 0))
                for found in entry.diagnostics
            ),
        )
        for entry in rebuilt.merged.ledger
    )


def local_state(state: State, ids: Ids) -> State:
    """The state in which blame and conflicts name the messages as this store has them."""
    if all(there == local for (_, there), local in ids.items()):
        return state
    return state._replace(
        blame=_blame(state.blame, ids),
        conflicts=tuple(_conflict(each, ids) for each in state.conflicts),
    )


def _source(source: Source, ids: Ids) -> Source:
    local = ids.get((source.version, source.message_id), source.message_id)
    return source._replace(message_id=local)


def _blame(blame: Blame, ids: Ids) -> Blame:
    return {
        item: {path: _change(change, ids) for path, change in paths.items()}
        for item, paths in blame.items()
    }


def _change(change: Change, ids: Ids) -> Change:
    """The change with all that came before it; a history may be long, so from its beginning."""
    before: Change | None = None
    for each in reversed(list(change.history())):
        before = each._replace(source=_source(each.source, ids), before=before)
    return before or change


def _conflict(conflict: Conflict, ids: Ids) -> Conflict:
    return conflict._replace(
        source=_source(conflict.source, ids),
        displaced=tuple(
            lost._replace(source=_source(lost.source, ids)) for lost in conflict.displaced
        ),
    )


# Messages whose content no longer matches the hash that was stored with them.
#
# A store keeps the hash of every message. Versions name the messages that they have read by that
# hash, so a message that was changed in the store must not count as the one that was sent.


_FIX = (
    "Restore the store from a backup, or import an archive of the thread into a new store: "
    "`brenner mail import FILE --store sqlite:///PATH`. `brenner doctor` lists all such messages. "
    "`docs/artifact-commands.md` says what to do without a copy."
)
_RESTORE = "it was changed after it was stored; restore it from a backup or an archive"


def is_altered(filed: ThreadMessage) -> bool:
    """Whether the thread, sender, subject or body of a message differs from what was stored."""
    return content_hash(filed.posted.message) != filed.content_hash


def altered_message(message_id: int) -> Diagnostic:
    """Return the diagnostic for a message that was changed in the store."""
    return HASH_MISMATCH.at(id=message_id)._replace(fix=_FIX, message_id=message_id)


def altered_in(candidate: CompiledCandidate, rebuilt: Rebuilt) -> str:
    """Describe the first altered message that a version uses; return "" if there is none.

    A version uses its own COMPILED message and the messages that it has read.
    """
    if is_altered(candidate.filed):
        own = candidate.filed.posted.id
        return f"message {own}, which is the version, does not match its hash: {_RESTORE}"
    for filed in rebuilt.read:
        if is_altered(filed):
            return (
                f"message {filed.posted.id}, which the version has read, does not match its hash: "
                f"{_RESTORE}"
            )
    return ""
