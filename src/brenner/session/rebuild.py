"""Rebuild a version from its record and the messages of the thread, byte for byte (R10).

Also: message ids translated to this store, and messages that were altered in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, NoReturn, cast

from brenner.artifact.merge.draft import OtherSessions
from brenner.artifact.merge.engine import Merge, merge
from brenner.artifact.parse import parse_artifact
from brenner.artifact.render import render_artifact
from brenner.artifact.state import (
    Change,
    Conflict,
    Entry,
    Source,
    State,
    Version,
    adopted_state,
)
from brenner.diagnostics.codes.stores import HASH_MISMATCH
from brenner.lint.linter import lint
from brenner.named_tuple import NamedTuple
from brenner.protocol.compiled import read_compiled
from brenner.protocol.messages import StoredMessage, content_hash, iso
from brenner.session.model import CompiledMessageRef, MessageRef, OpenConflict, VersionRecord
from brenner.text import escape_control

if TYPE_CHECKING:
    from brenner.artifact.model import Artifact
    from brenner.diagnostics.model import Diagnostic

_MOST_SHOWN = 60  # characters of a line that differs
# An artifact can be continued only if its IDs are well formed and unique.
_ID_RULES = ("ES-003", "ES-004")


class CompiledCandidate(NamedTuple):
    """A COMPILED message with a record, and the version that it claims to be.

    If the record is unreadable, `record` is None and `fault` says why. A broken version has a
    fault, too. `inline` is the artifact in the message.
    """

    stored: StoredMessage
    number: int
    record: VersionRecord | None
    fault: str
    subject_version: int | None
    inline: str | None
    is_gap: bool = False


class RebuiltVersion(NamedTuple):
    """A version rebuilt from its record. `merged` is None for an adopted one.

    `state` lacks the id and time of the COMPILED message; the caller adds them.
    """

    text: str
    state: State
    read: tuple[StoredMessage, ...]
    merged: Merge | None

    @property
    def artifact(self) -> Artifact:
        return self.state.artifact


class VersionMismatch(Exception):
    """Error for a record that does not rebuild its version; the text is the first difference."""


def stamp_metadata(artifact: Artifact, compiled_at: str, compiled_by: str, status: str) -> Artifact:
    """Set the metadata that the compiler adds and no message contains."""
    metadata = artifact.metadata._replace(
        compiled_at=compiled_at, compiled_by=compiled_by, status=status
    )
    return artifact._replace(metadata=metadata)


def text_hash(text: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of an artifact, as records contain it."""
    return sha256(text.encode()).hexdigest()


def rebuild(
    state: State,
    candidate: CompiledCandidate,
    unread: Sequence[StoredMessage],
    adoptable: Sequence[StoredMessage] = (),
) -> RebuiltVersion:
    """Rebuild a version on the state before it. Raise `VersionMismatch` if it differs.

    Messages are matched by hash. Ids and times are the record's, so that a thread that was copied
    to another store rebuilds unchanged.
    """
    record = validate_record(candidate)
    read = _match_messages(record.messages, unread)
    if record.adopted:
        after, merged = adopt_artifact(state, record, adoptable), None
    else:
        posted = [
            StoredMessage(entry.id, _parse_time(entry.at), stored.message)
            for entry, stored in zip(record.messages, read, strict=True)
        ]
        left_out = OtherSessions(left_out=frozenset(record.references_left_out))
        merged = merge(
            with_recorded_base(state, record.base),
            posted,
            operator=record.operator,
            elsewhere=left_out,
            record_format=record.format,
        )
        after = merged.state
    if after.artifact.metadata.version != record.version:
        _raise_mismatch(f"the next version is v{after.artifact.metadata.version}")
    artifact = stamp_metadata(after.artifact, record.compiled_at, record.compiled_by, record.status)
    text = render_artifact(artifact)
    _check_text(text, candidate, record)
    if open_conflicts(after.conflicts) != record.conflicts:
        _raise_mismatch("its record names other open conflicts than the rebuilt version")
    return RebuiltVersion(text, after._replace(artifact=artifact), tuple(read), merged)


def _raise_mismatch(reason: str) -> NoReturn:
    raise VersionMismatch(reason)


def validate_record(candidate: CompiledCandidate) -> VersionRecord:
    """Return the record of a candidate.

    Raise `VersionMismatch` unless message and record agree on compiler and version.
    """
    record, sender = candidate.record, candidate.stored.message.sender
    if record is None:
        _raise_mismatch(f"its record cannot be read: {candidate.fault}")
    if sender != record.compiled_by:
        _raise_mismatch(f"{sender} posted it, but its record names {record.compiled_by}")
    if candidate.subject_version != record.version:
        _raise_mismatch(
            f"the record names v{record.version}, the subject names "
            + (f"v{candidate.subject_version}" if candidate.subject_version else "no version")
        )
    return record


def _match_messages(
    entries: Sequence[MessageRef], unread: Sequence[StoredMessage]
) -> list[StoredMessage]:
    """Find the messages that a record lists, each once; of equal ones prefer the recorded id."""
    by_hash: dict[str, dict[int, StoredMessage]] = {}
    for stored in unread:
        by_hash.setdefault(stored.content_hash, {})[stored.id] = stored
    found = []
    for entry in entries:
        equal = by_hash.get(entry.content_hash)
        if not equal:
            _raise_mismatch(
                f"message {entry.id} of {entry.at}, which the version includes, is not in the "
                "thread, or another version includes it"
            )
        found.append(equal.pop(entry.id) if entry.id in equal else equal.pop(min(equal)))
    return found


def with_recorded_base(state: State, base: CompiledMessageRef | None) -> State:
    """Give the latest version the id and time at which the compiler saw it."""
    if base is None:
        return state
    *earlier, last = state.versions
    return state._replace(
        versions=(*earlier, Version(last.number, _parse_time(base.at), base.id, last.counts))
    )


def adopt_artifact(
    state: State, record: VersionRecord, adoptable: Sequence[StoredMessage]
) -> State:
    """Return the state of a version that takes over another program's artifact unchanged.

    Only messages before the adopted one can count as read. All times are the record's: a copy of
    the thread has other times in its store.
    """
    wanted = cast("CompiledMessageRef", record.adopted)
    found = [each for each in adoptable if each.content_hash == wanted.content_hash]
    if not found:
        _raise_mismatch(f"message {wanted.id}, which it adopts, is not in the thread")
    last = _parse_time(wanted.at)
    late = [entry for entry in record.messages if _parse_time(entry.at) > last]
    if late:
        _raise_mismatch(f"it marks message {late[0].id} as read, which is later than its artifact")
    artifact = parse_adopted_artifact(found[0], wanted.version, record.format)
    first = iso(min((_parse_time(entry.at) for entry in record.messages), default=last))
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
        versions=(*with_recorded_base(state, record.base).versions, after.versions[-1]),
    )


def parse_adopted_artifact(compiled: StoredMessage, version: int, record_format: int) -> Artifact:
    """Parse the artifact in a COMPILED message that another program posted."""
    inline = read_compiled(compiled.message).inline
    if inline is None:
        _raise_mismatch(f"message {compiled.id} does not contain an artifact")
    artifact = parse_artifact(inline, record_format).artifact
    errors = [found for found in lint(artifact).violations if found.id in _ID_RULES]
    if errors:
        _raise_mismatch(f"the artifact in message {compiled.id}: {errors[0].message}")
    return artifact._replace(metadata=artifact.metadata._replace(version=version))


def open_conflicts(conflicts: Iterable[Conflict]) -> tuple[OpenConflict, ...]:
    return tuple(OpenConflict(conflict.item_id, conflict.field) for conflict in conflicts)


def _check_text(text: str, candidate: CompiledCandidate, record: VersionRecord) -> None:
    inline = candidate.inline
    difference = first_difference(text, inline) if inline is not None else None
    if difference:
        number, ours, theirs = difference
        _raise_mismatch(
            f"line {number} of the artifact is {theirs} in the message, but {ours} when rebuilt"
        )
    if text_hash(text) != record.artifact_sha256:
        _raise_mismatch(
            f"the artifact's SHA-256 is {text_hash(text)[:12]}…, but the record names "
            f"{record.artifact_sha256[:12]}…"
        )


def first_difference(one: str, other: str) -> tuple[int, str, str] | None:
    """Return the number of the first line that differs in two texts, and that line in each."""
    for number, lines in enumerate(zip_longest(one.split("\n"), other.split("\n")), 1):
        if lines[0] != lines[1]:
            ours, theirs = (
                "missing" if line is None else f"`{escape_control(line, _MOST_SHOWN)}`"
                for line in lines
            )
            return number, ours, theirs
    return None


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def message_ref(stored: StoredMessage) -> MessageRef:
    """Return the reference by which a record lists a message."""
    return MessageRef(stored.content_hash, stored.id, iso(stored.at))


# Message ids of this store
#
# A version is rebuilt with the ids of its record. If its thread was imported and its messages got
# other ids, those must be shown.


# The id in this store, by version and id in its record
LocalIds = Mapping[tuple[int, int], int]


def local_ids_of(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> LocalIds:
    """Return the ids of the messages that one version has read."""
    messages = candidate.record.messages if candidate.record else ()
    pairs = zip(messages, rebuilt.read, strict=True)
    return {(candidate.number, entry.id): stored.id for entry, stored in pairs}


def local_ledger(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> tuple[Entry, ...]:
    """Return the ledger of a version with the message ids of this store."""
    if rebuilt.merged is None:
        return ()
    here = {there: local for (_, there), local in local_ids_of(candidate, rebuilt).items()}
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


def local_state(state: State, ids: LocalIds) -> State:
    """Return the state with blame and conflicts that use the message ids of this store."""
    if all(there == local for (_, there), local in ids.items()):
        return state
    return state._replace(
        blame={
            item: {path: _localize_change(change, ids) for path, change in paths.items()}
            for item, paths in state.blame.items()
        },
        conflicts=tuple(_localize_conflict(each, ids) for each in state.conflicts),
    )


def _localize_source(source: Source, ids: LocalIds) -> Source:
    local = ids.get((source.version, source.message_id), source.message_id)
    return source._replace(message_id=local)


def _localize_change(change: Change, ids: LocalIds) -> Change:
    """Translate a change and its history, iteratively: a history may be long."""
    before: Change | None = None
    for each in reversed(list(change.history())):
        before = each._replace(source=_localize_source(each.source, ids), before=before)
    return before or change


def _localize_conflict(conflict: Conflict, ids: LocalIds) -> Conflict:
    return conflict._replace(
        source=_localize_source(conflict.source, ids),
        displaced=tuple(
            lost._replace(source=_localize_source(lost.source, ids)) for lost in conflict.displaced
        ),
    )


# Messages whose content no longer matches the stored hash
#
# Records refer to messages by hash, so a message that was changed in the store must not count as
# the one that was sent.


_FIX = (
    "Restore the store from a backup, or import an archive of the thread into a new store: "
    "`brenner mail import FILE --store sqlite:///PATH`. `brenner doctor` lists all such messages. "
    "Without a copy, see `brenner docs troubleshooting`."
)
_RESTORE = "it was changed after it was stored; restore it from a backup or an archive"


def is_altered(stored: StoredMessage) -> bool:
    """Return whether thread, sender, subject or body of a message differ from what was stored.

    Of a sealed message that is not known.
    """
    return not stored.is_sealed and content_hash(stored.message) != stored.content_hash


def altered_diagnostic(message_id: int) -> Diagnostic:
    return HASH_MISMATCH.at(id=message_id)._replace(fix=_FIX, message_id=message_id)


def describe_altered(candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> str:
    """Describe the first altered message that a version uses; return "" if there is none.

    A version uses its own COMPILED message and the messages that it has read.
    """
    read = ((each, "the version includes") for each in rebuilt.read)
    for stored, which in ((candidate.stored, "is the version"), *read):
        if is_altered(stored):
            return f"message {stored.id}, which {which}, does not match its hash: {_RESTORE}"
    return ""
