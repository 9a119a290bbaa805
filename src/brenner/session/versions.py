"""The version history of a thread, replayed from its mail.

A COMPILED message counts as a version only if it can be rebuilt from its record. The history is a
pure function of the messages (R10, R17). A message is unread if no version has read it: a set
difference, never "ids above". A history can be cached, and `advance` adds new messages to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from brenner import __version__
from brenner.artifact.serialize import decode_state, encode_state
from brenner.artifact.state import State, Version, empty_state
from brenner.diagnostics.codes.artifacts import RECORD_UNREADABLE
from brenner.diagnostics.codes.messages import DELTA_NOT_CONTRIBUTED
from brenner.diagnostics.codes.publishing import (
    COMPILED_WITHOUT_RECORD,
    RECORD_MISMATCH,
    VERSION_MISSING,
    VOID_VERSION,
)
from brenner.diagnostics.model import Diagnostic, Summary
from brenner.lazy_pattern import lazy_pattern
from brenner.markdown.blocks import parse_blocks
from brenner.named_tuple import NamedTuple
from brenner.protocol.compiled import read_compiled
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.message_types import COMPILED, DELTA, INFO, KICKOFF
from brenner.protocol.messages import StoredMessage, iso, thread_order_key
from brenner.session.decisions import (
    Void,
    cancellation_reason,
    changes_versions,
    voids_in,
)
from brenner.session.misplaced_blocks import (
    NO_TYPE,
    MisplacedBlocks,
    collect_misplaced,
    misplaced_blocks_in,
    without_sent,
)
from brenner.session.model import (
    Cancellation,
    CompiledMessageRef,
    PublishedVersion,
    RefusedBlock,
    UnreadableRecordError,
    VersionRecord,
    looks_like_record,
    read_record,
)
from brenner.session.rebuild import (
    CompiledCandidate,
    RebuiltVersion,
    VersionMismatch,
    altered_diagnostic,
    is_altered,
    local_ledger,
    rebuild,
    text_hash,
    validate_record,
)
from brenner.session.refused_blocks import update_refused_blocks
from brenner.text import MOST_SHOWN_CHARACTERS, thread_argument

# What one message means for the version history


# The last line of a truncated list; its command shows all ignored blocks of the thread
_MORE_LINE = lazy_pattern(r"\n- and [0-9]+ more: `brenner check --thread=")


def candidate_of(stored: StoredMessage) -> CompiledCandidate | Diagnostic:
    """Return the version that a COMPILED message claims to be, or why it cannot be one.

    A record of a newer release, or a damaged one, still makes a candidate if the subject states the
    version. Otherwise that version number would be reused silently.
    """
    message = stored.message
    body = read_compiled(message)
    if body.record is None:
        found = COMPILED_WITHOUT_RECORD.at(thread_id=message.thread_id)
        return found._replace(message_id=stored.id)
    subject_version = body.subject_version
    try:
        record = read_record(body.record)
    except UnreadableRecordError as error:
        if subject_version is not None and looks_like_record(body.record):
            return CompiledCandidate(
                stored, subject_version, None, str(error), subject_version, body.inline
            )
        words = {"reason": str(error), "thread_id": message.thread_id}
        found = RECORD_UNREADABLE.at(body.record_line, **words)
        return found._replace(message_id=stored.id)
    return CompiledCandidate(stored, record.version, record, "", subject_version, body.inline)


def void_declarations_in(
    stored: StoredMessage, operators: Collection[str]
) -> tuple[tuple[Void, StoredMessage], ...]:
    """Return the void declarations in a message; only an operator can make them."""
    if not stored.counts_for(operators) or stored.type != INFO.name:
        return ()
    return tuple((void, stored) for void in voids_in(stored.message))


def is_listed_in(arrival: int, found: Diagnostic, version: CompiledCandidate) -> bool:
    """Return whether a version lists an ignored block, so that the next version need not.

    A message that came in while the version was compiled is not listed in its body. An imported
    version lists ids of another store, and an adopted artifact comes without a list.
    """
    compiled = version.stored
    if arrival > compiled.arrival:
        return False
    if not compiled.is_local or (version.record and version.record.adopted):
        return True
    listed = compiled.message.body.partition("\n## Full Artifact\n")[0]
    place = f"\n- {found.id} (message {found.message_id}, line {found.line}): "
    return place in listed or _MORE_LINE.search(listed) is not None


def ignored_blocks_in(stored: StoredMessage) -> Iterator[tuple[int, Diagnostic]]:
    """Yield the delta blocks in a message that is no DELTA, with the message's arrival number."""
    name, body = stored.type, stored.message.body
    if name == DELTA.name or "delta" not in body:
        return
    found = DELTA_NOT_CONTRIBUTED.at(type=name or NO_TYPE)._replace(message_id=stored.id)
    for block in filter(is_delta_fence, parse_blocks(body)):
        yield stored.arrival, found._replace(line=block.line)


class VersionHistory(NamedTuple):
    """The versions of a thread, and the messages around them.

    - `state` is that of the latest version.
    - `operators` may void, adopt and dismiss.
    - `unread` are the KICKOFF and DELTA messages that no version has read, in thread order.
    - `unrecorded` are COMPILED messages with no record, or with one that is neither readable nor
      makes a candidate (see `candidate_of`); each with a diagnostic.
    - `other_candidates` are COMPILED messages with a record that are no version.
    - `ignored_blocks` are delta blocks outside DELTA messages since the latest version, each with
      the arrival number of its message.
    - `void_declarations` are voids with the message of the declaration.
    - `broken_version` blocks the next compile. Its `fault` says why: its record does not rebuild
      or, if `is_gap`, it is built on versions that are not in the thread.
    - `position` is the number of messages in the thread, `arrival` that of the last one.
    - `refused` are the blocks that versions have refused and their authors have not corrected.
    - `altered` are the messages whose content does not match their hash.
    - `misplaced` are the delta blocks outside DELTA messages that no version contains.
    - `cancelling` is the message that cancelled the session, unless a later KICKOFF or version has
      reopened it (R25).
    """

    thread_id: str
    state: State
    operators: frozenset[str]
    versions: tuple[PublishedVersion, ...] = ()
    unread: tuple[StoredMessage, ...] = ()
    unrecorded: tuple[tuple[StoredMessage, Diagnostic], ...] = ()
    other_candidates: tuple[CompiledCandidate, ...] = ()
    ignored_blocks: tuple[tuple[int, Diagnostic], ...] = ()
    void_declarations: tuple[tuple[Void, StoredMessage], ...] = ()
    broken_version: CompiledCandidate | None = None
    writers: tuple[str, ...] = ()
    position: int = 0
    refused: tuple[RefusedBlock, ...] = ()
    altered: tuple[StoredMessage, ...] = ()
    arrival: int = 0
    misplaced: tuple[MisplacedBlocks, ...] = ()
    cancelling: StoredMessage | None = None

    @property
    def latest(self) -> PublishedVersion | None:
        """The latest version; None before the first."""
        return self.versions[-1] if self.versions else None

    @property
    def number(self) -> int:
        """The number of the latest version; 0 before the first."""
        return self.versions[-1].number if self.versions else 0

    @property
    def is_closed(self) -> bool:
        """Whether the latest version closed the session."""
        return bool(self.versions) and self.versions[-1].status == "closed"

    @property
    def cancellation(self) -> Cancellation | None:
        """Who cancelled the session, when and why; None if it is not cancelled."""
        found = self.cancelling
        if found is None:
            return None
        reason = cancellation_reason(found.message) or ""
        return Cancellation(found.id, found.message.sender, found.at, reason)

    @property
    def reopen_command(self) -> str:
        """The command that reopens a cancelled session; empty if it never had a kickoff.

        A round sends no kickoff twice, so the kickoff of a round that was cancelled is sent again.
        """
        kickoff = max((e.id for e in self.unread if e.type == KICKOFF.name), default=None)
        if kickoff is not None:
            return f"brenner mail show {kickoff} --raw | brenner mail send -"
        thread = thread_argument(self.thread_id)
        return f"brenner session round --reopen {thread}" if self.versions else ""

    @property
    def compile_blocker(self) -> Diagnostic | None:
        """Why nothing can be compiled: a message was altered, or a version does not rebuild."""
        # Restoring an altered message may also fix a version that does not rebuild.
        return next(iter(self.altered_messages()), self.broken_version_error)

    def altered_messages(self) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for every message whose content does not match its hash."""
        return tuple(altered_diagnostic(each.id) for each in self.altered)

    @property
    def broken_version_error(self) -> Diagnostic | None:
        """Why no version can be published: an earlier one does not rebuild or is missing (R10)."""
        broken = self.broken_version
        if broken is None:
            return None
        number, stored = broken.number, broken.stored
        found = record_mismatch(self.thread_id, number, broken.fault)
        if broken.is_gap:
            words = {"version": str(number), "thread_id": self.thread_id, "reason": broken.fault}
            found = VERSION_MISSING.at(None, **words, id=stored.id, sender=stored.message.sender)
        return found._replace(message_id=stored.id)

    def is_void(self, candidate: CompiledCandidate) -> bool:
        """Return whether a candidate, or the one that it is built on, is declared void.

        A candidate can be built on a void one if it was compiled at the moment of the declaration,
        in a store that does not serialise the two.
        """
        if not self.void_declarations:
            return False
        return self.is_declared_void(candidate) or self.void_base(candidate) is not None

    def is_declared_void(self, candidate: CompiledCandidate) -> bool:
        """Return whether a declaration of the operator covers this very candidate."""
        number, stored = candidate.number, candidate.stored
        about = [pair for pair in self.void_declarations if pair[0].version == number]
        if any(void == Void(stored.content_hash, number) for void, _ in about):
            return True
        hashes = {
            void.content_hash
            for void, declaration in about
            if not void.is_exact and thread_order_key(stored) < thread_order_key(declaration)
        }
        return bool(hashes) and any(
            each.number == number and each.stored.content_hash in hashes
            for each in self.other_candidates
        )

    def void_base(self, candidate: CompiledCandidate) -> CompiledCandidate | None:
        """Return the void message that a candidate is built on.

        Return None if it is built on a version, or on nothing.
        """
        base = candidate.record.base if candidate.record else None
        if base is None or any(each.content_hash == base.content_hash for each in self.versions):
            return None
        for each in self.other_candidates:
            is_base = each.stored.content_hash == base.content_hash
            if is_base and each.number < candidate.number and self.is_void(each):
                return each
        return None

    def why_void(self, candidate: CompiledCandidate) -> str:
        """Return why a message with a record is not a version, as a phrase."""
        number = candidate.number
        ids = {version.number: version.message_id for version in self.versions}
        base = self.void_base(candidate)
        if self.is_declared_void(candidate):
            return f"the operator declared v{number} void"
        if base:
            return f"it is built on message {base.stored.id}, which is void"
        if _adopted_message(candidate) and not _may_adopt(self, candidate):
            return "it adopts another message, and only the operator can do that"
        if number in ids:
            return f"message {ids[number]} is already v{number}"
        return f"it claims to be v{number}, but the next version is v{self.number + 1}"

    def superseded_messages(self, sender: str) -> tuple[CompiledCandidate, ...]:
        """Return the candidates of a sender that lost the race to publish.

        They are void although no declaration covers them.
        """
        return tuple(
            each
            for each in self.other_candidates
            if each.stored.message.sender == sender
            and (each.number <= self.number or self.void_base(each))
            and not self.is_declared_void(each)
        )

    def others(self) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for each COMPILED message that is no version, in order of ids."""
        broken = self.broken_version.stored.id if self.broken_version else None
        found = [diagnostic for _, diagnostic in self.unrecorded]
        for each in self.other_candidates:
            if each.stored.id != broken:
                void = VOID_VERSION.at(reason=self.why_void(each), thread_id=self.thread_id)
                found.append(void._replace(message_id=each.stored.id))
        return tuple(sorted(found, key=lambda each: each.message_id or 0))

    def new_void_messages(self) -> tuple[Diagnostic, ...]:
        """Return those diagnostics of `others` whose messages came after the latest version.

        The compiler of the latest version has already seen the earlier ones.
        """
        latest = self.latest
        last = (latest.at, latest.message_id) if latest else None
        new = {
            stored.id
            for stored in adoptable_messages(self)
            if last is None or thread_order_key(stored) > last
        }
        return tuple(each for each in self.others() if each.message_id in new)

    def with_version(self, candidate: CompiledCandidate, rebuilt: RebuiltVersion) -> VersionHistory:
        stored, record = candidate.stored, validate_record(candidate)
        version = Version(record.version, stored.at, stored.origin_id, rebuilt.state.counts)
        published = PublishedVersion(
            number=record.version,
            message_id=stored.id,
            at=stored.at,
            content_hash=stored.content_hash,
            artifact_sha256=record.artifact_sha256,
            compiled_at=record.compiled_at,
            compiled_by=record.compiled_by,
            operator=record.operator,
            status=record.status,
        )
        read = {each.id for each in rebuilt.read}
        ledger = local_ledger(candidate, rebuilt)
        return self._replace(
            state=rebuilt.state._replace(versions=(*rebuilt.state.versions, version)),
            versions=(*self.versions, published),
            unread=tuple(each for each in self.unread if each.id not in read),
            other_candidates=tuple(each for each in self.other_candidates if each.stored != stored),
            ignored_blocks=tuple(
                each for each in self.ignored_blocks if not is_listed_in(*each, candidate)
            ),
            refused=update_refused_blocks(self.refused, ledger, record.version),
            misplaced=without_sent(self.misplaced, ledger, rebuilt.read),
            cancelling=_unless_reopened(self.cancelling, (stored,)),
        )


VersionCallback = Callable[[CompiledCandidate, RebuiltVersion], None]


def ignore_version(_candidate: CompiledCandidate, _rebuilt: RebuiltVersion) -> None:
    """Do nothing: the default callback."""


def replay(
    thread_id: str,
    messages: Sequence[StoredMessage],
    operator: str,
    on_version: VersionCallback = ignore_version,
) -> VersionHistory:
    """Compute the history from all messages; call `on_version` for each rebuilt version.

    The operators are the one of this project and the one that the first version names. The thread
    may come from another project, or the operator may have had another name.
    """
    empty = VersionHistory(thread_id, empty_state(thread_id), frozenset({operator}))
    if any(_needs_operator(each) for each in messages):
        empty = _with_operator(empty, _with_messages(empty, messages, ignore_version))
    history = _with_messages(empty, messages, on_version)
    return _with_operator(history, history)


def _needs_operator(stored: StoredMessage) -> bool:
    """Return whether the history depends on who the operator is."""
    return changes_versions(stored.message) or cancellation_reason(stored.message) is not None


def _with_operator(history: VersionHistory, resolved: VersionHistory) -> VersionHistory:
    """Return the history with the operator that the first version of `resolved` names."""
    named = (version.operator for version in resolved.versions[:1])
    return history._replace(operators=history.operators.union(named))


def advance(
    history: VersionHistory,
    new_messages: Sequence[StoredMessage],
    on_version: VersionCallback = ignore_version,
) -> VersionHistory | None:
    """Add new messages to a history.

    Return None if the thread must be replayed from the start, because a new message affects earlier
    decisions.
    """
    if any(
        void_declarations_in(stored, history.operators) or not stored.is_local
        for stored in new_messages
    ):
        return None
    ids = {version.number: version.message_id for version in history.versions}
    for stored in new_messages:
        found = candidate_of(stored) if stored.type == COMPILED.name else None
        if isinstance(found, CompiledCandidate) and stored.id < ids.get(found.number, 0):
            return None
    after = _with_messages(history, new_messages, on_version)
    # The first version may name an operator whose decisions were ignored so far.
    return after if _with_operator(after, after).operators == history.operators else None


def _with_messages(
    history: VersionHistory, new_messages: Sequence[StoredMessage], on_version: VersionCallback
) -> VersionHistory:
    """Return the history with these messages, and with every version that follows from them."""
    by_type: dict[str | None, list[StoredMessage]] = {}
    for stored in sorted(new_messages, key=thread_order_key):
        by_type.setdefault(stored.type, []).append(stored)
    unread = (*history.unread, *by_type.get(KICKOFF.name, ()), *by_type.get(DELTA.name, ()))
    compiled = [(stored, candidate_of(stored)) for stored in by_type.get(COMPILED.name, ())]
    unrecorded = [
        (stored, found) for stored, found in compiled if not isinstance(found, CompiledCandidate)
    ]
    candidates = [found for _, found in compiled if isinstance(found, CompiledCandidate)]
    writers = dict.fromkeys((*history.writers, *(stored.message.sender for stored in new_messages)))
    history = history._replace(
        unread=tuple(sorted(unread, key=thread_order_key)),
        unrecorded=(*history.unrecorded, *unrecorded),
        other_candidates=tuple(
            sorted((*history.other_candidates, *candidates), key=lambda each: each.stored.id)
        ),
        ignored_blocks=(
            *history.ignored_blocks,
            *(ignored for stored in new_messages for ignored in ignored_blocks_in(stored)),
        ),
        void_declarations=(
            *history.void_declarations,
            *(
                each
                for stored in new_messages
                for each in void_declarations_in(stored, history.operators)
            ),
        ),
        writers=tuple(writers),
        position=history.position + len(new_messages),
        altered=(*history.altered, *filter(is_altered, new_messages)),
        misplaced=collect_misplaced(history.misplaced, sorted(new_messages, key=thread_order_key)),
        cancelling=_cancelling(history, new_messages, by_type.get(KICKOFF.name, ())),
        arrival=max((history.arrival, *(each.arrival for each in new_messages))),
    )
    return with_resolved_versions(history, on_version)


def _cancelling(
    history: VersionHistory,
    new_messages: Iterable[StoredMessage],
    kickoffs: Iterable[StoredMessage],
) -> StoredMessage | None:
    """Return the last message in which the operator cancels, unless a later KICKOFF reopens."""
    cancelling = [
        each
        for each in new_messages
        if cancellation_reason(each.message) is not None and each.counts_for(history.operators)
    ]
    cancelling += [history.cancelling] if history.cancelling else []
    last = max(cancelling, key=thread_order_key, default=None)
    return _unless_reopened(last, kickoffs)


def _unless_reopened(
    cancelling: StoredMessage | None, later: Iterable[StoredMessage]
) -> StoredMessage | None:
    if cancelling is None:
        return None
    end = thread_order_key(cancelling)
    return None if any(thread_order_key(each) > end for each in later) else cancelling


def with_resolved_versions(
    history: VersionHistory, on_version: VersionCallback = ignore_version
) -> VersionHistory:
    """Turn candidates into versions, one after the other, up to one that does not rebuild."""
    history = history._replace(broken_version=None)
    while candidate := _next_candidate(history):
        try:
            check_base(history, validate_record(candidate))
            rebuilt = rebuild(history.state, candidate, history.unread, adoptable_messages(history))
        except VersionMismatch as error:
            return history._replace(broken_version=candidate._replace(fault=str(error)))
        on_version(candidate, rebuilt)
        history = history.with_version(candidate, rebuilt)
    return history._replace(broken_version=_find_gap(history))


def _find_gap(history: VersionHistory) -> CompiledCandidate | None:
    """Return the first message that is built on versions which are not in the thread.

    Its number, and those between, were published once and must not be reused silently (R10).
    """
    later = [
        each
        for each in history.other_candidates
        if each.number > history.number and not _adopted_message(each)
    ]
    found = [each for each in later if not history.is_void(each)]
    if not found:
        return None
    candidate = min(found, key=lambda each: (each.number, each.stored.id))
    base = candidate.record.base if candidate.record else None
    if base and all(base.content_hash != each.content_hash for each in adoptable_messages(history)):
        reason = f"it is built on v{base.version}, which is not in this thread"
    else:
        before = f"the version before it is v{history.number}"
        before = before if history.versions else "no version is before it"
        reason = f"it claims to be v{candidate.number}, but {before}"
    return candidate._replace(fault=reason, is_gap=True)


def _next_candidate(history: VersionHistory) -> CompiledCandidate | None:
    """Return the candidate that is the next version: the lowest id with the next number.

    A candidate that adopts another message takes the number after that message's.
    """
    number = history.number + 1
    adopted = {
        message.content_hash
        for each in history.other_candidates
        if (message := _adopted_message(each)) and message.version >= number
        if _may_adopt(history, each) and not history.is_void(each)
    }
    fitting = (
        each
        for each in history.other_candidates
        if _is_next_version(history, each, number, adopted)
    )
    return next((each for each in fitting if not history.is_void(each)), None)


def _is_next_version(
    history: VersionHistory, candidate: CompiledCandidate, number: int, adopted: set[str]
) -> bool:
    """Return whether a candidate can be the next version: not if another candidate adopts it."""
    message = _adopted_message(candidate)
    if message:
        return message.version >= number and _may_adopt(history, candidate)
    return candidate.number == number and candidate.stored.content_hash not in adopted


def _adopted_message(candidate: CompiledCandidate) -> CompiledMessageRef | None:
    return candidate.record.adopted if candidate.record else None


def _may_adopt(history: VersionHistory, candidate: CompiledCandidate) -> bool:
    """Return whether the operator posted the candidate.

    Only the operator takes over the artifact of another program, because that marks deltas as read.
    """
    return candidate.stored.counts_for(history.operators)


def adoptable_messages(history: VersionHistory) -> list[StoredMessage]:
    """Return the COMPILED messages that are no version: those that can be adopted."""
    return [
        *(stored for stored, _ in history.unrecorded),
        *(each.stored for each in history.other_candidates),
    ]


def check_base(history: VersionHistory, record: VersionRecord) -> None:
    """Raise `VersionMismatch` unless the record is built on the latest version."""
    latest, base = history.latest, record.base
    ours = (latest.number, latest.content_hash) if latest else None
    theirs = (base.version, base.content_hash) if base else None
    if ours != theirs:
        claimed = f"v{base.version}, message {base.id}" if base else "nothing"
        found = f"v{latest.number}, message {latest.message_id}" if latest else "nothing"
        message = f"it is built on {claimed}, but the version before it is {found}"
        raise VersionMismatch(message)


def record_mismatch(thread_id: str, number: int, difference: str) -> Diagnostic:
    """Return the diagnostic for a version that does not follow from its record."""
    return RECORD_MISMATCH.at(version=number, difference=difference, thread_id=thread_id)


# The cached form of a history, so that loading a thread costs only its new messages
#
# If a cache entry is damaged, or another release wrote it, the thread is replayed.


_FORMAT = 9
_DIGEST_LENGTH = 64
_STORED_FIELDS = PublishedVersion._fields.index("status") + 1


def encode_history(history: VersionHistory) -> str:
    """Encode a history for the cache.

    The caller must not cache a broken one (see `cache_history`): it must be examined each time.
    """
    document = {
        "format": [_FORMAT, __version__],
        "arrival": history.arrival,
        "position": history.position,
        "versions": [_encode_version(each) for each in history.versions],
        "unread": _ids(history.unread),
        "unrecorded": _ids(stored for stored, _ in history.unrecorded),
        "spare": _ids(candidate.stored for candidate in history.other_candidates),
        "aside": sorted({found.message_id or 0 for _, found in history.ignored_blocks}),
        "declared": sorted({stored.id for _, stored in history.void_declarations}),
        "operators": sorted(history.operators),
        "writers": history.writers,
        "refused": [_encode_refused_block(each) for each in history.refused],
        "misplaced": [
            [each.stored.id, [block.block for block in each.blocks]] for each in history.misplaced
        ],
        "cancelling": history.cancelling.id if history.cancelling else None,
    }
    # ASCII, because a refused block may contain a lone surrogate, which cannot be encoded.
    about = json.dumps(document, separators=(",", ":"))
    # Concatenated, so that nothing is escaped twice; the state has its own checksum.
    return f"{text_hash(about)}{about}\n{encode_state(history.state)}"


def _ids(stored: Iterable[StoredMessage]) -> list[int]:
    return [each.id for each in stored]


def _encode_version(version: PublishedVersion) -> list[object]:
    return [iso(part) if isinstance(part, datetime) else part for part in version[:_STORED_FIELDS]]


def _encode_refused_block(refused_block: RefusedBlock) -> list[object]:
    return [*refused_block[:-1], [*map(_encode_diagnostic, refused_block.diagnostics)]]


def _encode_diagnostic(found: Diagnostic) -> list[object]:
    parameters = [
        [name, value[: MOST_SHOWN_CHARACTERS + 1] if isinstance(value, str) else value]
        for name, value in found.parameters  # as much of a long one as the words show
    ]
    return [found.id, *found[1:-1], parameters]


def decode_history(
    text: str, thread_id: str, message: Callable[[int], StoredMessage]
) -> VersionHistory:
    """Decode a cached history; `message` looks up the messages that it refers to.

    Raise ValueError if the text is damaged, or if another release wrote it.
    """
    first, _, state = text.partition("\n")
    digest, about = first[:_DIGEST_LENGTH], first[_DIGEST_LENGTH:]
    if text_hash(about) != digest:
        raise ValueError(digest)
    document = json.loads(about)
    if document["format"] != [_FORMAT, __version__]:
        raise ValueError(document["format"])
    compiled = [message(each) for each in document["spare"]]
    operators = frozenset(document["operators"])
    voids = [message(each) for each in document["declared"]]
    return VersionHistory(
        thread_id,
        decode_state(state),
        operators,
        versions=tuple(map(_decode_version, document["versions"])),
        unread=tuple(message(each) for each in document["unread"]),
        unrecorded=tuple(_decode_unrecorded(message(each)) for each in document["unrecorded"]),
        other_candidates=tuple(
            each for each in map(candidate_of, compiled) if isinstance(each, CompiledCandidate)
        ),
        ignored_blocks=tuple(
            ignored for each in document["aside"] for ignored in ignored_blocks_in(message(each))
        ),
        void_declarations=tuple(
            each for stored in voids for each in void_declarations_in(stored, operators)
        ),
        writers=tuple(document["writers"]),
        position=document["position"],
        refused=tuple(map(_decode_refused_block, document["refused"])),
        arrival=document["arrival"],
        misplaced=tuple(
            _decode_misplaced(message(number), blocks) for number, blocks in document["misplaced"]
        ),
        cancelling=message(document["cancelling"]) if document["cancelling"] else None,
    )


def _decode_version(parts: list[object]) -> PublishedVersion:
    version = PublishedVersion(*parts)  # type: ignore[arg-type]
    return version._replace(at=datetime.fromisoformat(str(version.at)))


def _decode_unrecorded(stored: StoredMessage) -> tuple[StoredMessage, Diagnostic]:
    found = candidate_of(stored)
    if isinstance(found, CompiledCandidate):
        raise ValueError(stored.id)
    return stored, found


def _decode_misplaced(stored: StoredMessage, numbers: list[int]) -> MisplacedBlocks:
    blocks = (each for each in misplaced_blocks_in(stored) if each.block in numbers)
    return MisplacedBlocks(stored, tuple(blocks))


def _decode_refused_block(parts: list[Any]) -> RefusedBlock:
    refused_block = RefusedBlock(*parts)
    return refused_block._replace(diagnostics=tuple(map(_decode_diagnostic, parts[-1])))


def _decode_diagnostic(parts: list[Any]) -> Diagnostic:
    from brenner.diagnostics.catalogue import (
        CATALOGUE,
    )  # rarely needed: most threads have no refused blocks

    code_id, *about = parts
    found = Diagnostic(CATALOGUE[code_id], *about)
    return found._replace(
        also=tuple(found.also),
        readings=tuple(found.readings),
        left_out=Summary(*found.left_out) if found.left_out else None,
        parameters=tuple((name, value) for name, value in found.parameters),
    )
