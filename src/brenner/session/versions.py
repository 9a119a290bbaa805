"""The versions of a thread, found in its mail: each one is rebuilt from its record to count.

A pure function of the messages (R10, R17). What no version has read is unread: a set difference,
never "ids above". What was found can be kept, and `advance` goes on from there with the messages
that came in since.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

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
from brenner.markdown.blocks import blocks
from brenner.protocol.compiled import read_compiled
from brenner.protocol.delta.parse import is_delta_fence
from brenner.protocol.message_types import COMPILED, DELTA, INFO, KICKOFF
from brenner.protocol.messages import in_thread_order, iso
from brenner.protocol.subjects import parse_subject
from brenner.session.decisions import Void, changes_versions, voided_by
from brenner.session.model import (
    CompiledMessage,
    Refusal,
    UnreadableRecordError,
    VersionRecord,
    read_record,
    was_record,
)
from brenner.session.rebuild import (
    CompiledCandidate,
    Rebuilt,
    ThreadMessage,
    VersionMismatch,
    altered_message,
    checked_record,
    is_altered,
    local_ledger,
    rebuild,
)
from brenner.session.refused_blocks import after_ledger

# Records that the operator posts in INFO messages: about a message, by its content's hash.
#
# Each is a fenced block of canonical JSON with that hash, one number, and a format number from the
# second format on.


# COMPILED messages that are void, and the INFO messages that say so.
#
# The operator declares a version void (R10). A compiler whose message is none, because another was
# quicker, tells the thread (R17); that one only says what the thread shows.


# What one message means to the versions of its thread.


# The end of a list that is too long for the message: its command shows all asides of the thread
_HAS_MORE = re.compile(r"\n- and [0-9]+ more: `brenner check --thread=")
_NO_TYPE = "message without a valid prefix"


class IgnoredBlock(NamedTuple):
    """A delta block in a message that contributes nothing, and when that came in."""

    arrival: int
    diagnostic: Diagnostic


class Declared(NamedTuple):
    """A void, and where its declaration stands in the thread: it is about what is before it."""

    void: Void
    at: datetime
    id: int


def type_of(filed: ThreadMessage) -> str | None:
    """The message type; None for mail that is not the protocol's."""
    subject = parse_subject(filed.posted.message.subject)
    return subject.type if subject else None


def candidate_of(filed: ThreadMessage) -> CompiledCandidate | Diagnostic:
    """A COMPILED message with a record, or why it can be no version.

    What was a record once, a newer release's or one that was damaged on its way, is one all the
    same, where the subject says of which version: its number is not given again in silence.
    """
    message = filed.posted.message
    body = read_compiled(message)
    if body.record is None:
        found = COMPILED_WITHOUT_RECORD.at(thread_id=message.thread_id)
        return found._replace(message_id=filed.posted.id)
    said = body.subject_version
    try:
        record = read_record(body.record)
    except UnreadableRecordError as error:
        if said is not None and was_record(body.record):
            return CompiledCandidate(filed, said, None, str(error), said, body.inline)
        words = {"reason": str(error), "thread_id": message.thread_id}
        found = RECORD_UNREADABLE.at(body.record_line, **words)
        return found._replace(message_id=filed.posted.id)
    return CompiledCandidate(filed, record.version, record, "", said, body.inline)


def declared_by(filed: ThreadMessage, operators: Collection[str]) -> tuple[Declared, ...]:
    """The versions that a message declares void; only an operator can."""
    if not filed.counts_for(operators) or type_of(filed) != INFO.name:
        return ()
    voids = voided_by(filed.posted.message)
    return tuple(Declared(void, filed.posted.at, filed.posted.id) for void in voids)


def chain_messages_is_decision(filed: ThreadMessage) -> bool:
    """Whether a message says that it voids or adopts something: then it matters who may."""
    return changes_versions(filed.posted.message)


def is_listed_in(aside: IgnoredBlock, version: CompiledCandidate) -> bool:
    """Return whether a version lists an aside, so that the next one need not.

    The message may have come in while the version was being made: then its body does not list it.
    An imported version lists ids of another store, and an adopted artifact comes without a list.
    """
    compiled = version.filed
    if aside.arrival > compiled.arrival:
        return False
    if not compiled.is_local or (version.record and version.record.adopted):
        return True
    found = aside.diagnostic
    listed = compiled.posted.message.body.partition("\n## Full Artifact\n")[0]
    place = f"\n- {found.id} (message {found.message_id}, line {found.line}): "
    return place in listed or _HAS_MORE.search(listed) is not None


def asides_of(filed: ThreadMessage) -> Iterator[IgnoredBlock]:
    """The delta blocks in a message that is no DELTA."""
    name, body = type_of(filed), filed.posted.message.body
    if name == DELTA.name or "delta" not in body:
        return
    found = DELTA_NOT_CONTRIBUTED.at(type=name or _NO_TYPE)._replace(message_id=filed.posted.id)
    for block in filter(is_delta_fence, blocks(body)):
        yield IgnoredBlock(filed.arrival, found._replace(line=block.line))


class Published(NamedTuple):
    """One version of the thread, and the COMPILED message that it is, in this store."""

    number: int
    message_id: int
    at: datetime
    content_hash: str
    artifact_sha256: str
    compiled_at: str
    compiled_by: str
    operator: str
    status: str


class Broken(NamedTuple):
    """A COMPILED message that stops the next compile: its record does not rebuild, or, where
    `is_gap`, it is built on versions that are not in the thread.
    """

    candidate: CompiledCandidate
    difference: str
    is_gap: bool = False

    @property
    def number(self) -> int:
        """The version that it says it is."""
        return self.candidate.number

    @property
    def id(self) -> int:
        """The id of the message."""
        return self.candidate.filed.posted.id


class VersionHistory(NamedTuple):
    """A thread as its mail has it.

    `state` is that of the latest version. `unread` are the KICKOFF and DELTA messages that no
    version has read, in their order. `unrecorded` are COMPILED messages without a record, `spare`
    those with one that are no version. `aside` are the delta blocks since the latest version that
    are nobody's contribution. `operators` may void, adopt and dismiss. `refused` are the blocks
    that versions have refused and their authors have not corrected. `position` is how many
    messages there are in all. `altered` are the messages whose content does not match their hash.
    """

    thread_id: str
    state: State
    operators: frozenset[str]
    versions: tuple[Published, ...] = ()
    unread: tuple[ThreadMessage, ...] = ()
    unrecorded: tuple[tuple[ThreadMessage, Diagnostic], ...] = ()
    spare: tuple[CompiledCandidate, ...] = ()
    aside: tuple[IgnoredBlock, ...] = ()
    declared: tuple[Declared, ...] = ()
    broken: Broken | None = None
    writers: tuple[str, ...] = ()
    position: int = 0
    refused: tuple[Refusal, ...] = ()
    altered: tuple[ThreadMessage, ...] = ()

    @property
    def latest(self) -> Published | None:
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
    def stopped(self) -> Diagnostic | None:
        """Why nothing can be compiled: a message was altered, or a version does not rebuild."""
        # A message that is restored may settle why the version does not rebuild.
        return next(iter(self.altered_messages()), self.unsound)

    def altered_messages(self) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for every message whose content does not match its hash."""
        return tuple(altered_message(each.posted.id) for each in self.altered)

    @property
    def unsound(self) -> Diagnostic | None:
        """Return why the next version cannot be published: one before it does not rebuild, or is
        missing (R10).
        """
        if self.broken is None:
            return None
        number, difference, message = self.broken.number, self.broken.difference, self.broken.id
        found = mismatch(self.thread_id, number, difference)
        if self.broken.is_gap:
            words = {"version": str(number), "thread_id": self.thread_id, "reason": difference}
            sender = self.broken.candidate.filed.posted.message.sender
            found = VERSION_MISSING.at(None, **words, id=message, sender=sender)
        return found._replace(message_id=message)

    def is_void(self, candidate: CompiledCandidate) -> bool:
        """Whether the operator declared it void.

        What is built on a void version hangs in the air, and is void with it. That happens where
        somebody compiles in the very moment of the declaration, and no home keeps them apart.
        """
        if not self.declared:
            return False
        return self.is_declared_void(candidate) or self.void_base(candidate) is not None

    def is_declared_void(self, candidate: CompiledCandidate) -> bool:
        """Whether the operator herself said so."""
        number, filed = candidate.number, candidate.filed
        about = [each for each in self.declared if each.void.version == number]
        if any(each.void == Void(filed.content_hash, number) for each in about):
            return True
        hashes = {
            each.void.content_hash
            for each in about
            if not each.void.is_exact and _order(filed) < (each.at, each.id)
        }
        return bool(hashes) and any(
            each.number == number and each.filed.content_hash in hashes for each in self.spare
        )

    def void_base(self, candidate: CompiledCandidate) -> CompiledCandidate | None:
        """The void message that it is built on; None where it is built on a version, or nothing."""
        base = candidate.record.base if candidate.record else None
        if base is None or any(each.content_hash == base.content_hash for each in self.versions):
            return None
        return next(
            (
                each
                for each in self.spare
                if each.filed.content_hash == base.content_hash
                and each.number < candidate.number
                and self.is_void(each)
            ),
            None,
        )

    def why_void(self, candidate: CompiledCandidate) -> str:
        """Why a message with a record is no version, in words."""
        number = candidate.number
        ids = {version.number: version.message_id for version in self.versions}
        base = self.void_base(candidate)
        if self.is_declared_void(candidate):
            return f"the operator declared v{number} void"
        if base:
            return f"it is built on message {base.filed.posted.id}, which is void"
        if _adopted(candidate) and not _may_adopt(self, candidate):
            return "it adopts another message, and only the operator can do that"
        if number in ids:
            return f"message {ids[number]} is v{number} already"
        return f"it says v{number}, and the next version is v{self.number + 1}"

    def lost_by(self, sender: str) -> tuple[CompiledCandidate, ...]:
        """The messages of a compiler who was not quick enough: void, and no declaration says so."""
        return tuple(
            each
            for each in self.spare
            if each.filed.posted.message.sender == sender
            and (each.number <= self.number or self.void_base(each))
            and not self.is_declared_void(each)
        )

    def others(self) -> tuple[Diagnostic, ...]:
        """What is to be said of the COMPILED messages that are no version, in their order."""
        broken = self.broken.candidate if self.broken else None
        found = [diagnostic for _, diagnostic in self.unrecorded]
        found += [_void(self, each) for each in self.spare if each is not broken]
        return tuple(sorted(found, key=lambda each: each.message_id or 0))

    def new_others(self) -> tuple[Diagnostic, ...]:
        """Those that came after the latest version: whoever compiled that one knows the others."""
        compiled = [*(filed for filed, _ in self.unrecorded), *(each.filed for each in self.spare)]
        new = {filed.posted.id for filed in compiled if self._is_new(filed)}
        return tuple(each for each in self.others() if each.message_id in new)

    def _is_new(self, filed: ThreadMessage) -> bool:
        return not self.latest or _order(filed) > (self.latest.at, self.latest.message_id)

    def with_version(self, candidate: CompiledCandidate, rebuilt: Rebuilt) -> "VersionHistory":
        """The chain after that version."""
        filed, record = candidate.filed, checked_record(candidate)
        place = Version(record.version, filed.posted.at, filed.origin_id, rebuilt.state.counts)
        read = {each.posted.id for each in rebuilt.read}
        return self._replace(
            state=rebuilt.state._replace(versions=(*rebuilt.state.versions, place)),
            versions=(*self.versions, _published(filed, record)),
            unread=tuple(each for each in self.unread if each.posted.id not in read),
            spare=tuple(each for each in self.spare if each.filed != filed),
            aside=tuple(each for each in self.aside if not is_listed_in(each, candidate)),
            refused=after_ledger(self.refused, local_ledger(candidate, rebuilt), record.version),
        )


Watch = Callable[[CompiledCandidate, Rebuilt], None]


def unwatched(_candidate: CompiledCandidate, _rebuilt: Rebuilt) -> None:
    """Nobody looks on."""


def replay(
    thread_id: str, messages: Sequence[ThreadMessage], operator: str, watch: Watch = unwatched
) -> VersionHistory:
    """The chain from all messages of the thread; `watch` sees every version as it is rebuilt.

    The operator is the one of this project, and the one whom the first version names: the thread
    may come from another project, or she may have been called otherwise.
    """
    empty = VersionHistory(thread_id, empty_state(thread_id), frozenset({operator}))
    if any(map(chain_messages_is_decision, messages)):
        empty = _with_operator(empty, _taken_in(empty, messages, unwatched))
    history = _taken_in(empty, messages, watch)
    return _with_operator(history, history)


def _with_operator(history: VersionHistory, known: VersionHistory) -> VersionHistory:
    """The chain that also hears the operator whom the first version names."""
    named = (version.operator for version in known.versions[:1])
    return history._replace(operators=history.operators.union(named))


def advance(
    history: VersionHistory, news: Sequence[ThreadMessage], watch: Watch = unwatched
) -> VersionHistory | None:
    """The chain with messages that came in since; None where it must be replayed from the start,
    because something new bears on what was decided already.
    """
    if any(declared_by(filed, history.operators) or not filed.is_local for filed in news):
        return None
    ids = {version.number: version.message_id for version in history.versions}
    for filed in news:
        found = candidate_of(filed) if type_of(filed) == COMPILED.name else None
        if isinstance(found, CompiledCandidate) and filed.posted.id < ids.get(found.number, 0):
            return None
    after = _taken_in(history, news, watch)
    # The first version may name an operator whose decisions were not heard so far.
    return after if _with_operator(after, after).operators == history.operators else None


def _taken_in(
    history: VersionHistory, news: Sequence[ThreadMessage], watch: Watch
) -> VersionHistory:
    """The chain with these messages sorted into it, and every version that is there now."""
    by_type: dict[str | None, list[ThreadMessage]] = {}
    for filed in sorted(news, key=_order):
        by_type.setdefault(type_of(filed), []).append(filed)
    unread = (*history.unread, *by_type.get(KICKOFF.name, ()), *by_type.get(DELTA.name, ()))
    compiled = [(filed, candidate_of(filed)) for filed in by_type.get(COMPILED.name, ())]
    plain = [
        (filed, found) for filed, found in compiled if not isinstance(found, CompiledCandidate)
    ]
    candidates = [found for _, found in compiled if isinstance(found, CompiledCandidate)]
    writers = dict.fromkeys((*history.writers, *(filed.posted.message.sender for filed in news)))
    history = history._replace(
        unread=tuple(sorted(unread, key=_order)),
        unrecorded=(*history.unrecorded, *plain),
        spare=tuple(sorted((*history.spare, *candidates), key=_by_id)),
        aside=(*history.aside, *(aside for filed in news for aside in asides_of(filed))),
        declared=(
            *history.declared,
            *(each for filed in news for each in declared_by(filed, history.operators)),
        ),
        writers=tuple(writers),
        position=history.position + len(news),
        altered=(*history.altered, *filter(is_altered, news)),
    )
    return with_resolved_versions(history, watch)


def with_resolved_versions(history: VersionHistory, watch: Watch = unwatched) -> VersionHistory:
    """Every version among the candidates, one after the other, up to one that is unsound."""
    history = history._replace(broken=None)
    while candidate := _next(history):
        try:
            check_base(history, checked_record(candidate))
            rebuilt = rebuild(history.state, candidate, history.unread, compiled_messages(history))
        except VersionMismatch as error:
            return history._replace(broken=Broken(candidate, str(error)))
        watch(candidate, rebuilt)
        history = history.with_version(candidate, rebuilt)
    return history._replace(broken=_gap(history))


def _gap(history: VersionHistory) -> Broken | None:
    """Return the first message that is built on versions which are not in the thread.

    Its number, and those between, were published once and must not be reused in silence (R10).
    """
    later = [each for each in history.spare if each.number > history.number and not _adopted(each)]
    found = [each for each in later if not history.is_void(each)]
    if not found:
        return None
    candidate = min(found, key=lambda each: (each.number, _by_id(each)))
    base = candidate.record.base if candidate.record else None
    if base and all(base.content_hash != each.content_hash for each in compiled_messages(history)):
        reason = f"it is built on v{base.version}, which is not in this thread"
    else:
        latest = f"is v{history.number}" if history.versions else "does not exist yet"
        reason = f"it says v{candidate.number}, and the latest version before it {latest}"
    return Broken(candidate, reason, is_gap=True)


def _next(history: VersionHistory) -> CompiledCandidate | None:
    """The message that is the next version: of those with its number the one with the lowest id.

    One that adopts another message takes the number after that one's.
    """
    number = history.number + 1
    adopted = {
        message.content_hash
        for each in history.spare
        if (message := _adopted(each)) and message.version >= number
        if _may_adopt(history, each) and not history.is_void(each)
    }
    fitting = (each for each in history.spare if _fits(history, each, number, adopted))
    return next((each for each in fitting if not history.is_void(each)), None)


def _fits(
    history: VersionHistory, candidate: CompiledCandidate, number: int, adopted: set[str]
) -> bool:
    """Whether a message can be the next version; one that another adopts is none itself."""
    message = _adopted(candidate)
    if message:
        return message.version >= number and _may_adopt(history, candidate)
    return candidate.number == number and candidate.filed.content_hash not in adopted


def _adopted(candidate: CompiledCandidate) -> CompiledMessage | None:
    return candidate.record.adopted if candidate.record else None


def _may_adopt(history: VersionHistory, candidate: CompiledCandidate) -> bool:
    """Only the operator takes over what another program made: it counts deltas as read."""
    return candidate.filed.counts_for(history.operators)


def compiled_messages(history: VersionHistory) -> list[ThreadMessage]:
    """The COMPILED messages that are no version: those that can be adopted."""
    return [*(filed for filed, _ in history.unrecorded), *(each.filed for each in history.spare)]


def check_base(history: VersionHistory, record: VersionRecord) -> None:
    """A version is built on the one before it, and on no other."""
    latest, base = history.latest, record.base
    ours = (latest.number, latest.content_hash) if latest else None
    theirs = (base.version, base.content_hash) if base else None
    if ours != theirs:
        said = f"v{base.version}, message {base.id}" if base else "nothing"
        found = f"v{latest.number}, message {latest.message_id}" if latest else "nothing"
        message = f"it is built on {said}, and the version before it is {found}"
        raise VersionMismatch(message)


def mismatch(thread_id: str, number: int, difference: str) -> Diagnostic:
    """That a version does not follow from its record."""
    return RECORD_MISMATCH.at(version=number, difference=difference, thread_id=thread_id)


def _published(filed: ThreadMessage, record: VersionRecord) -> Published:
    return Published(
        number=record.version,
        message_id=filed.posted.id,
        at=filed.posted.at,
        content_hash=filed.content_hash,
        artifact_sha256=record.artifact_sha256,
        compiled_at=record.compiled_at,
        compiled_by=record.compiled_by,
        operator=record.operator,
        status=record.status,
    )


def _order(filed: ThreadMessage) -> tuple[datetime, int]:
    return in_thread_order(filed.posted)


def _by_id(candidate: CompiledCandidate) -> int:
    return candidate.filed.posted.id


def _void(history: VersionHistory, candidate: CompiledCandidate) -> Diagnostic:
    """That a message with a record is no version."""
    found = VOID_VERSION.at(reason=history.why_void(candidate), thread_id=history.thread_id)
    return found._replace(message_id=candidate.filed.posted.id)


# A chain kept as text, so that the next look at a thread costs what is new in it.
#
# What is kept follows from the mail and from nothing else. A text that is damaged, or that another
# release wrote, is no chain: then the thread is replayed.


_FORMAT = 4
_DIGEST = 64


class KeptChain(NamedTuple):
    """A chain, and the arrival of the last message that it knows of."""

    history: VersionHistory
    arrival: int


def encode_chain(kept: KeptChain) -> str:
    """The text to keep. A chain that is broken is not worth keeping: it must be looked at."""
    history = kept.history
    document = {
        "format": [_FORMAT, __version__],
        "arrival": kept.arrival,
        "position": history.position,
        "versions": [_version(each) for each in history.versions],
        "unread": _ids(history.unread),
        "unrecorded": _ids(filed for filed, _ in history.unrecorded),
        "spare": _ids(candidate.filed for candidate in history.spare),
        "aside": sorted({aside.diagnostic.message_id or 0 for aside in history.aside}),
        "declared": sorted({each.id for each in history.declared}),
        "operators": sorted(history.operators),
        "writers": history.writers,
        "refused": [_refusal(each) for each in history.refused],
    }
    # In ASCII: a refused block may hold half of a surrogate pair, which no file can.
    about = json.dumps(document, separators=(",", ":"))
    # One after the other, so that nothing is escaped twice; the state has a checksum of its own.
    return f"{_digest(about)}{about}\n{encode_state(history.state)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _ids(filed: Iterable[ThreadMessage]) -> list[int]:
    return [each.posted.id for each in filed]


def _version(version: Published) -> list[object]:
    return [iso(part) if isinstance(part, datetime) else part for part in version]


def _refusal(refusal: Refusal) -> list[object]:
    return [*refusal[:-1], [[each.id, *each[1:]] for each in refusal.diagnostics]]


def decode_chain(text: str, thread_id: str, message: Callable[[int], ThreadMessage]) -> KeptChain:
    """The chain in a text; `message` finds those that it still needs. ValueError: it is none."""
    first, _, state = text.partition("\n")
    digest, about = first[:_DIGEST], first[_DIGEST:]
    if _digest(about) != digest:
        raise ValueError(digest)
    document = json.loads(about)
    if document["format"] != [_FORMAT, __version__]:
        raise ValueError(document["format"])
    compiled = [message(each) for each in document["spare"]]
    operators = frozenset(document["operators"])
    voids = [message(each) for each in document["declared"]]
    history = VersionHistory(
        thread_id,
        decode_state(state),
        operators,
        versions=tuple(map(_chain_json_published, document["versions"])),
        unread=tuple(message(each) for each in document["unread"]),
        unrecorded=tuple(_unrecorded(message(each)) for each in document["unrecorded"]),
        spare=tuple(
            each for each in map(candidate_of, compiled) if isinstance(each, CompiledCandidate)
        ),
        aside=tuple(aside for each in document["aside"] for aside in asides_of(message(each))),
        declared=tuple(each for filed in voids for each in declared_by(filed, operators)),
        writers=tuple(document["writers"]),
        position=document["position"],
        refused=tuple(map(_refused, document["refused"])),
    )
    return KeptChain(history, document["arrival"])


def _chain_json_published(parts: list[object]) -> Published:
    version = Published(*parts)  # type: ignore[arg-type]
    return version._replace(at=datetime.fromisoformat(str(version.at)))


def _unrecorded(filed: ThreadMessage) -> tuple[ThreadMessage, Diagnostic]:
    found = candidate_of(filed)
    if isinstance(found, CompiledCandidate):
        raise ValueError(filed.posted.id)
    return filed, found


def _refused(parts: list[Any]) -> Refusal:
    refusal = Refusal(*parts)
    return refusal._replace(diagnostics=tuple(map(_diagnostic, parts[-1])))


def _diagnostic(parts: list[Any]) -> Diagnostic:
    from brenner.diagnostics.catalogue import CATALOGUE  # most threads have nothing refused

    code_id, *about = parts
    found = Diagnostic(CATALOGUE[code_id], *about)
    return found._replace(
        also=tuple(found.also),
        readings=tuple(found.readings),
        left_out=Summary(*found.left_out) if found.left_out else None,
    )
