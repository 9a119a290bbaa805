"""The value types of a session: the record of a version (R10), and the status of a session.

The record lists which messages a version has read, and all else that its bytes depend on. It is
canonical JSON (RFC 8785) in a fence of the COMPILED message. With it every version can be rebuilt
from the thread alone, byte for byte.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

from brenner.artifact.merge.draft import LeftOutReference
from brenner.lazy_pattern import lazy_pattern
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE, RECORD_FORMAT
from brenner.protocol.messages import iso

if TYPE_CHECKING:
    from brenner.artifact.model import Artifact, Reference
    from brenner.diagnostics.model import Diagnostic
    from brenner.protocol.independent_round import IndependentRound
    from brenner.protocol.thread_ids import ThreadKind
    from brenner.session.unanswered import UnansweredItem

_HASH = lazy_pattern(r"[0-9a-f]{64}", re.ASCII)
_MOST_NUMBER = 2**53  # integers that every JSON parser represents exactly


class MessageRef(NamedTuple):
    """Reference to a message that a version has read; id and time are the compiler's store's."""

    content_hash: str
    id: int
    at: str


class CompiledMessageRef(NamedTuple):
    """Reference to a COMPILED message as the compiler saw it, with its claimed version."""

    version: int
    content_hash: str
    id: int
    at: str


class OpenConflict(NamedTuple):
    """Reference to a field on which authors disagree."""

    item: str
    field: str


class VersionRecord(NamedTuple):
    """Record of one version.

    `base` is the version before it, None for a first one. `adopted` is the message of another
    program whose artifact this version takes over unchanged. `format` is the earliest one that
    rebuilds the version, so that older programs can read as many versions as possible.
    """

    version: int
    base: CompiledMessageRef | None
    messages: tuple[MessageRef, ...]
    artifact_sha256: str
    compiled_at: str
    compiled_by: str
    operator: str
    status: str
    conflicts: tuple[OpenConflict, ...] = ()
    references_left_out: tuple[LeftOutReference, ...] = ()
    adopted: CompiledMessageRef | None = None
    format: int = 1


class UnreadableRecordError(ValueError):
    """Error for a text that is not a valid record."""


def _raise_unreadable(reason: str) -> NoReturn:
    raise UnreadableRecordError(reason) from None


def render_record(record: VersionRecord) -> str:
    """Render a record as canonical JSON.

    A record contains only texts and whole numbers, and its keys are ASCII. So the standard encoder
    writes what RFC 8785 asks for.
    """
    document = {name: _to_json_value(value) for name, value in record._asdict().items()}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _to_json_value(value: object) -> object:
    if hasattr(value, "_asdict"):
        return {name: _to_json_value(each) for name, each in value._asdict().items()}
    return [_to_json_value(each) for each in value] if isinstance(value, tuple) else value


def read_record(text: str) -> VersionRecord:
    """Parse a record. Raise `UnreadableRecordError` with the reason if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        _raise_unreadable("it is not JSON")
    newer = _newer_format(value)
    if newer is not None:
        _raise_unreadable(f"its format {newer} is newer than this program's {RECORD_FORMAT}")
    record: VersionRecord = _parse_object(value, VersionRecord, "it")
    if render_record(record) != text.removesuffix("\n"):
        _raise_unreadable("it is not canonical JSON with the known keys")
    return record


def newer_format(text: str) -> int | None:
    """Return the format of a record that only a newer program can read; None for any other."""
    try:
        return _newer_format(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _newer_format(value: object) -> int | None:
    number = value.get("format") if isinstance(value, dict) else None
    return number if isinstance(number, int) and number > RECORD_FORMAT else None


def looks_like_record(text: str) -> bool:
    """Return whether an unreadable text looks like a damaged or newer record."""
    return '"artifact_sha256"' in text and '"messages"' in text


# The type of the objects in a field, and what a message calls one of them
_NESTED: dict[str, tuple[type[Any], str]] = {
    "base": (CompiledMessageRef, "a version"),
    "adopted": (CompiledMessageRef, "a version"),
    "messages": (MessageRef, "a message"),
    "conflicts": (OpenConflict, "a conflict"),
    "references_left_out": (LeftOutReference, "a reference"),
}
_OPTIONAL = frozenset({"base", "adopted"})
_HASHES = frozenset({"content_hash", "artifact_sha256"})
_NUMBERS = frozenset({"version", "id", "message_id", "block", "format"})
_TIMES = frozenset({"at", "compiled_at"})


def _parse_object(value: object, of: type[Any], what: str) -> Any:
    if not isinstance(value, dict):
        _raise_unreadable(f"{what} is not an object")
    missing = [name for name in of._fields if name not in value]
    if missing:
        _raise_unreadable(f"`{missing[0]}` is missing")
    least = 1 if of is VersionRecord else 0
    return of(*(_parse_field(name, value[name], least) for name in of._fields))


def _parse_field(name: str, value: object, least: int) -> object:
    if name in _NESTED:
        of, what = _NESTED[name]
        if name in _OPTIONAL:
            return None if value is None else _parse_object(value, of, what)
        if not isinstance(value, list):
            _raise_unreadable(f"`{name}` is not a list")
        return tuple(_parse_object(each, of, what) for each in value)
    if name in _NUMBERS:
        if type(value) is not int or not least <= value <= _MOST_NUMBER:
            _raise_unreadable(f"`{name}` is not a number")
    elif name in _HASHES:
        if not isinstance(value, str) or not _HASH.fullmatch(value):
            _raise_unreadable(f"`{name}` is not a SHA-256 in hexadecimal")
    elif not isinstance(value, str):
        _raise_unreadable(f"`{name}` is not a text")
    elif name in _TIMES and not _is_our_time(value):
        _raise_unreadable(f"`{name}` is not a time in UTC, such as 2025-12-30T14:00:00Z")
    return value


def _is_our_time(text: str) -> bool:
    """Accept only the format that we write: readers disagree about other formats."""
    try:
        return iso(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        return False


# The status of a session


class Phase(StrEnum):
    """What a round waits for; the values are stable in the JSON."""

    AWAITING_ACKS = "awaiting_acks"
    AWAITING_DELTAS = "awaiting_deltas"
    READY_TO_COMPILE = "ready_to_compile"
    IN_CRITIQUE = "in_critique"
    COMPLETE = "complete"
    CANCELLED = "cancelled"


ENDED_PHASES = frozenset({Phase.COMPLETE, Phase.CANCELLED})


class Turn(StrEnum):
    """What an agent has to do, or has done, in the current round."""

    NOT_ASKED = "not_asked"  # in the roster, but no kickoff of this round asks the agent
    OWES_ACK = "owes_ack"  # asked; has not answered yet
    OWES_DELTA = "owes_delta"  # has acknowledged, but not contributed yet
    TO_CORRECT = "to_correct"  # has sent blocks, but all of them were refused
    CONTRIBUTED = "contributed"
    PASSED = "passed"  # has acknowledged the kickoff as `Completed`, without a contribution


AWAITED_TURNS = frozenset({Turn.OWES_ACK, Turn.OWES_DELTA, Turn.TO_CORRECT})


class Participant(NamedTuple):
    """An agent in the session: in the roster, asked by a kickoff, or only writing to the thread.

    `kickoff` is the message of this round that asks the agent. The counts are of this round: DELTA
    messages, and the outcomes of their blocks, computed for blocks that no version has read.
    `total` counts the DELTA messages of all rounds. `other_messages` are the agent's messages of
    this round, other than ACKs, that contribute nothing to the artifact. They include answers of
    the wrong type.
    """

    name: str
    role: str | None
    is_in_roster: bool
    turn: Turn
    kickoff: int | None = None
    is_acknowledged: bool = False
    deltas: int = 0
    applied: int = 0
    refused: int = 0
    duplicate: int = 0
    total: int = 0
    other_messages: tuple[int, ...] = ()
    last_at: datetime | None = None

    @property
    def is_awaited(self) -> bool:
        return self.turn in AWAITED_TURNS


def ack_due(
    sent: datetime, deadline: timedelta, unsealed_at: datetime | None = None, *, is_sealed: bool
) -> datetime:
    """Return when the ACK of a message is due: of a sealed one it is never (R33)."""
    last_moment = datetime.max.replace(tzinfo=UTC)
    begin = max(sent, unsealed_at or sent)
    return begin + deadline if begin < last_moment - deadline and not is_sealed else last_moment


class OpenAck(NamedTuple):
    """An ACK that is owed for a message and all its copies, as in `mail pending`.

    The deadline of a message that was sealed starts when it is `unsealed_at` (R33).
    """

    debtor: str
    message_id: int
    last_message_id: int
    times_sent: int
    type: str | None
    sender: str
    subject: str
    since: datetime
    last_sent: datetime
    is_sealed: bool = False
    unsealed_at: datetime | None = None

    def due(self, deadline: timedelta) -> datetime:
        """Return when the ACK is due. Imported mail may have any date, so the result is capped."""
        return ack_due(self.last_sent, deadline, self.unsealed_at, is_sealed=self.is_sealed)


class SettledAck(NamedTuple):
    """An ACK that settled without an ACK message (R24), and the message `by` that settled it.

    `how` is `contributed` by a DELTA of the debtor, `completed` or `cancelled` by the end of the
    session.
    """

    debtor: str
    message_id: int
    type: str | None
    by: int
    how: str


class Cancellation(NamedTuple):
    """The operator's message that cancelled a session (R25)."""

    message_id: int
    by: str
    at: datetime
    reason: str


def has_third_alternative(artifact: Artifact) -> bool:
    return any("third_alternative" in item.fields for item in artifact.active(HYPOTHESIS_SLATE))


class OpenMessage(NamedTuple):
    """A CRITIQUE, BLOCKED, QUESTION or HANDOFF that has not been acknowledged yet.

    `about` is its topic in its author's words: target, blocker, question, item. `rank` is the
    stated severity, type or urgency; empty if none is stated.
    """

    message_id: int
    type: str
    sender: str
    subject: str
    at: datetime
    waiting_for: tuple[str, ...]
    about: str = ""
    rank: str = ""


class OpenCritique(NamedTuple):
    """A C item of the latest version that is neither killed nor marked as resolved."""

    item: str
    name: str
    agent: str | None
    status: str


class RefusedBlock(NamedTuple):
    """A refused block that its author has not corrected and the operator has not dismissed.

    `target_id` is the item by its current number if that is known (`is_item`), else what the author
    wrote. `name` is the name of the item in an ADD, if it could be read. `version` is the version
    that has read the block; None if no version has, and the next compile would refuse it.
    """

    message_id: int
    block: int
    line: int
    agent: str
    operation: str | None
    section: str | None
    target_id: str | None
    is_item: bool
    name: str | None
    version: int | None
    diagnostics: tuple[Diagnostic, ...]


class PublishedVersion(NamedTuple):
    """One version of the thread, with its COMPILED message in this store.

    The last four fields are known only in the status of a session: the errors and warnings of its
    latest version, whether it has a third alternative, and its active items by section ID.
    """

    number: int
    message_id: int
    at: datetime
    content_hash: str
    artifact_sha256: str
    compiled_at: str
    compiled_by: str
    operator: str
    status: str
    errors: int = 0
    warnings: int = 0
    has_third_alternative: bool = False
    counts: tuple[tuple[str, int], ...] = ()


class SessionStatus(NamedTuple):
    """Status of a session: its round, its phase, whose turn it is, and what is open.

    It depends on the thread alone, so that every front end shows the same. What depends on the
    clock takes the time as an argument: `overdue`.

    Round N makes version N. A thread with neither a KICKOFF nor a version is no session and has no
    phase (R23). What was open before the end of a session is not open any more: `critiques`,
    `messages`, `refusals` and `misplaced` are about what came later. `settled` are ACKs that
    settled by themselves, `misplaced` the delta blocks outside DELTA messages (R4), and
    `late_misplaced` those of them that came after the session was completed. `reopen_command`
    reopens a cancelled session. `unread`
    counts the DELTA messages that no version has read, `applies` their
    blocks that would be applied now. `compile_blocker` is why the next compile is impossible.
    `references` are those of the latest version, each with its item. `operator` leads the session:
    what is asked of other agents is not asked of the operator. `independent` is the session's
    independent first round, if it has one (R33). `unanswered` are the items that ask for an answer
    (R28), also after the end. `conflicts` are those of the latest version that no later message has
    decided. `lacks_third_alternative` is whether there is a version, and no third alternative in it
    or in the messages after it.
    """

    thread_id: str
    kind: ThreadKind
    question: str
    round: int
    phase: Phase | None
    version: PublishedVersion | None
    participants: tuple[Participant, ...]
    open_acks: tuple[OpenAck, ...]
    critiques: tuple[OpenCritique, ...]
    messages: tuple[OpenMessage, ...]
    refusals: tuple[RefusedBlock, ...]
    unread: int
    applies: int
    compile_blocker: Diagnostic | None
    position: int
    first_at: datetime
    last_at: datetime
    references: tuple[tuple[str, Reference], ...] = ()
    operator: str = ""
    settled: tuple[SettledAck, ...] = ()
    cancelled: Cancellation | None = None
    misplaced: tuple[RefusedBlock, ...] = ()
    late_misplaced: tuple[RefusedBlock, ...] = ()
    reopen_command: str = ""
    independent: IndependentRound | None = None
    unanswered: tuple[UnansweredItem, ...] = ()
    conflicts: tuple[OpenConflict, ...] = ()
    lacks_third_alternative: bool = False

    @property
    def needed_misplaced(self) -> tuple[RefusedBlock, ...]:
        """The misplaced blocks to send or to dismiss: after the end only those that came later."""
        return self.late_misplaced if self.is_over else self.misplaced

    @property
    def is_over(self) -> bool:
        """Whether the session has ended: it is complete or cancelled."""
        return self.phase in ENDED_PHASES

    @property
    def is_closed(self) -> bool:
        """Whether the latest version closed the session, so that only `--reopen` continues it.

        A kickoff after the end may have continued it already; then the phase is not complete.
        """
        return self.version is not None and self.version.status == "closed"

    @property
    def awaited(self) -> tuple[Participant, ...]:
        return tuple(each for each in self.participants if each.is_awaited)

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[OpenAck, ...]:
        """Return the overdue ACKs, the oldest first."""
        return tuple(each for each in self.open_acks if each.due(deadline) < now)

    def of_type(self, name: str) -> tuple[OpenMessage, ...]:
        return tuple(each for each in self.messages if each.type == name)
