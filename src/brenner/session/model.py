"""The value types of a session: the record of a version (R10), and the status of a session.

The record lists which messages a version has read, and all else that its bytes depend on. It is
canonical JSON (RFC 8785) in a fence of the COMPILED message. With it every version can be rebuilt
from the thread alone, byte for byte.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn, TypeVar

from brenner.artifact.merge.draft import LeftOutReference
from brenner.artifact.model import Reference
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import ThreadKind

FORMAT = 1
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_Each = TypeVar("_Each")
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
    program whose artifact this version takes over unchanged.
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
    format: int = FORMAT


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
    document = _require_object(value, "it")
    number = document.get("format")
    if isinstance(number, int) and number > FORMAT:
        _raise_unreadable(f"its format {number} is newer than this program's {FORMAT}")
    record = _parse_record(document)
    if render_record(record) != text.removesuffix("\n"):
        _raise_unreadable("it is not canonical JSON with the known keys")
    return record


def looks_like_record(text: str) -> bool:
    """Return whether an unreadable text looks like a damaged or newer record."""
    return '"artifact_sha256"' in text and '"messages"' in text


def _parse_record(document: Mapping[str, Any]) -> VersionRecord:
    _require_keys(document, VersionRecord)
    return VersionRecord(
        version=_require_number(document["version"], "version", least=1),
        base=_parse_optional(document["base"], _parse_compiled_ref),
        messages=_parse_list(document["messages"], "messages", _parse_message_ref),
        artifact_sha256=_require_hash(document["artifact_sha256"], "artifact_sha256"),
        compiled_at=_require_time(document["compiled_at"], "compiled_at"),
        compiled_by=_require_text(document["compiled_by"], "compiled_by"),
        operator=_require_text(document["operator"], "operator"),
        status=_require_text(document["status"], "status"),
        conflicts=_parse_list(document["conflicts"], "conflicts", _parse_conflict),
        references_left_out=_parse_list(
            document["references_left_out"], "references_left_out", _parse_left_out
        ),
        adopted=_parse_optional(document["adopted"], _parse_compiled_ref),
        format=_require_number(document["format"], "format", least=1),
    )


def _parse_message_ref(value: object) -> MessageRef:
    entry = _require_keys(_require_object(value, "a message"), MessageRef)
    return MessageRef(
        _require_hash(entry["content_hash"], "content_hash"),
        _require_number(entry["id"], "id"),
        _require_time(entry["at"], "at"),
    )


def _parse_compiled_ref(value: object) -> CompiledMessageRef:
    entry = _require_keys(_require_object(value, "a version"), CompiledMessageRef)
    return CompiledMessageRef(
        _require_number(entry["version"], "version"),
        _require_hash(entry["content_hash"], "content_hash"),
        _require_number(entry["id"], "id"),
        _require_time(entry["at"], "at"),
    )


def _parse_conflict(value: object) -> OpenConflict:
    entry = _require_keys(_require_object(value, "a conflict"), OpenConflict)
    return OpenConflict(
        _require_text(entry["item"], "item"), _require_text(entry["field"], "field")
    )


def _parse_left_out(value: object) -> LeftOutReference:
    entry = _require_keys(_require_object(value, "a reference"), LeftOutReference)
    return LeftOutReference(
        _require_number(entry["message_id"], "message_id"),
        _require_number(entry["block"], "block"),
        _require_text(entry["session"], "session"),
        _require_text(entry["item"], "item"),
        _require_text(entry["relation"], "relation"),
    )


def _require_object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _raise_unreadable(f"{what} is not an object")
    return value


def _require_keys(document: Mapping[str, Any], of: type[Any]) -> Mapping[str, Any]:
    missing = [name for name in of._fields if name not in document]
    if missing:
        _raise_unreadable(f"`{missing[0]}` is missing")
    return document


def _parse_list(value: object, name: str, read: Callable[[object], _Each]) -> tuple[_Each, ...]:
    if not isinstance(value, list):
        _raise_unreadable(f"`{name}` is not a list")
    return tuple(read(each) for each in value)


def _parse_optional(value: object, read: Callable[[object], _Each]) -> _Each | None:
    return None if value is None else read(value)


def _require_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        _raise_unreadable(f"`{name}` is not a text")
    return value


def _require_hash(value: object, name: str) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        _raise_unreadable(f"`{name}` is not a SHA-256 in hexadecimal")
    return value


def _require_number(value: object, name: str, *, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MOST_NUMBER:
        _raise_unreadable(f"`{name}` is not a number")
    return value


def _require_time(value: object, name: str) -> str:
    """Accept only the format that we write: readers disagree about other formats."""
    text = _require_text(value, name)
    try:
        is_ours = iso(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        is_ours = False
    if not is_ours:
        _raise_unreadable(f"`{name}` is not a time in UTC, such as 2025-12-30T14:00:00Z")
    return text


# The status of a session


class Phase(StrEnum):
    """What a round waits for; the values are stable in the JSON."""

    AWAITING_ACKS = "awaiting_acks"
    AWAITING_DELTAS = "awaiting_deltas"
    READY_TO_COMPILE = "ready_to_compile"
    IN_CRITIQUE = "in_critique"
    COMPLETE = "complete"


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
        """Whether the round waits for this agent."""
        return self.turn in AWAITED_TURNS


class OpenAck(NamedTuple):
    """An ACK that is owed for a message and all its copies, as in `mail pending`."""

    debtor: str
    message_id: int
    last_message_id: int
    times_sent: int
    type: str | None
    sender: str
    subject: str
    since: datetime
    last_sent: datetime

    def due(self, deadline: timedelta) -> datetime:
        """Return when the ACK is due. Imported mail may have any date, so the result is capped."""
        last_moment = datetime.max.replace(tzinfo=UTC)
        return self.last_sent + deadline if self.last_sent < last_moment - deadline else last_moment


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


class LatestVersion(NamedTuple):
    """Summary of the latest version."""

    number: int
    message_id: int
    compiled_at: str
    compiled_by: str
    status: str
    errors: int
    warnings: int
    has_third_alternative: bool
    counts: tuple[tuple[str, int], ...]  # active items by section id


class SessionStatus(NamedTuple):
    """Status of a session: its round, its phase, whose turn it is, and what is open.

    It depends on the thread alone, so that every front end shows the same. What depends on the
    clock takes the time as an argument: `overdue`.

    Round N makes version N. A thread without KICKOFF, DELTA and COMPILED messages is a conversation
    and has no phase. `unread` counts the DELTA messages that no version has read, `applies` their
    blocks that would be applied now. `compile_blocker` is why the next compile is impossible.
    `references` are those of the latest version, each with its item. `operator` leads the session:
    what is asked of other agents is not asked of the operator.
    """

    thread_id: str
    kind: ThreadKind
    question: str
    round: int
    phase: Phase | None
    version: LatestVersion | None
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

    @property
    def is_closed(self) -> bool:
        """Whether the latest version closed the session, so that only `--reopen` continues it.

        A kickoff after the end may have continued it already; then the phase is not complete.
        """
        return self.version is not None and self.version.status == "closed"

    @property
    def awaited(self) -> tuple[Participant, ...]:
        """The agents that the round waits for."""
        return tuple(each for each in self.participants if each.is_awaited)

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[OpenAck, ...]:
        """Return the overdue ACKs, the oldest first."""
        return tuple(each for each in self.open_acks if each.due(deadline) < now)

    def of_type(self, name: str) -> tuple[OpenMessage, ...]:
        """Return the open messages of a type."""
        return tuple(each for each in self.messages if each.type == name)
