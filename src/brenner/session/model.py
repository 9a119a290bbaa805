"""The record of a version: which messages it has read, and all else that its bytes depend on (R10).

It stands in the COMPILED message as canonical JSON (RFC 8785) in one fence. With it every version
can be rebuilt from the thread alone, byte for byte.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn, TypeVar

from brenner.artifact.merge.draft import LeftOut
from brenner.artifact.model import Reference
from brenner.diagnostics.model import Diagnostic
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import ThreadKind

FORMAT = 1
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
_Each = TypeVar("_Each")
_MOST_NUMBER = 2**53  # what every reader of JSON has in common


class ReadMessage(NamedTuple):
    """A message that a version has read. Its id and time are those of the compiler's store."""

    content_hash: str
    id: int
    at: str


class CompiledMessage(NamedTuple):
    """A COMPILED message as the compiler saw it, and the version that it is or calls itself."""

    version: int
    content_hash: str
    id: int
    at: str


class OpenConflict(NamedTuple):
    """A field on which authors disagree."""

    item: str
    field: str


class VersionRecord(NamedTuple):
    """The record of one version. `base` is the one before it, None for a first one; `adopted` the
    message of another program that it takes over as it is.
    """

    version: int
    base: CompiledMessage | None
    messages: tuple[ReadMessage, ...]
    artifact_sha256: str
    compiled_at: str
    compiled_by: str
    operator: str
    status: str
    conflicts: tuple[OpenConflict, ...] = ()
    references_left_out: tuple[LeftOut, ...] = ()
    adopted: CompiledMessage | None = None
    format: int = FORMAT


class UnreadableRecordError(ValueError):
    """A text is not a record of ours."""


def _fail(reason: str) -> NoReturn:
    raise UnreadableRecordError(reason) from None


def render_record(record: VersionRecord) -> str:
    """The canonical JSON. It holds texts and whole numbers only, and its keys are ASCII: then the
    standard encoder writes what RFC 8785 asks for.
    """
    document = {name: _plain(value) for name, value in record._asdict().items()}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _plain(value: object) -> object:
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def read_record(text: str) -> VersionRecord:
    """The record in a text, or `UnreadableRecordError` with the reason."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        _fail("it is not JSON")
    document = _object(value, "it")
    number = document.get("format")
    if isinstance(number, int) and number > FORMAT:
        _fail(f"its format {number} is newer than this program's {FORMAT}")
    record = _record(document)
    if render_record(record) != text.removesuffix("\n"):
        _fail("it is not canonical JSON with the known keys")
    return record


def was_record(text: str) -> bool:
    """Whether a text that cannot be read looks as if it had been a record."""
    return '"artifact_sha256"' in text and '"messages"' in text


def _record(document: Mapping[str, Any]) -> VersionRecord:
    _keys(document, VersionRecord)
    return VersionRecord(
        version=_number(document["version"], "version", least=1),
        base=_optional(document["base"], _compiled),
        messages=_list(document["messages"], "messages", _message),
        artifact_sha256=_hash(document["artifact_sha256"], "artifact_sha256"),
        compiled_at=_time(document["compiled_at"], "compiled_at"),
        compiled_by=_text(document["compiled_by"], "compiled_by"),
        operator=_text(document["operator"], "operator"),
        status=_text(document["status"], "status"),
        conflicts=_list(document["conflicts"], "conflicts", _conflict),
        references_left_out=_list(
            document["references_left_out"], "references_left_out", _left_out
        ),
        adopted=_optional(document["adopted"], _compiled),
        format=_number(document["format"], "format", least=1),
    )


def _message(value: object) -> ReadMessage:
    entry = _keys(_object(value, "a message"), ReadMessage)
    return ReadMessage(
        _hash(entry["content_hash"], "content_hash"),
        _number(entry["id"], "id"),
        _time(entry["at"], "at"),
    )


def _compiled(value: object) -> CompiledMessage:
    entry = _keys(_object(value, "a version"), CompiledMessage)
    return CompiledMessage(
        _number(entry["version"], "version"),
        _hash(entry["content_hash"], "content_hash"),
        _number(entry["id"], "id"),
        _time(entry["at"], "at"),
    )


def _conflict(value: object) -> OpenConflict:
    entry = _keys(_object(value, "a conflict"), OpenConflict)
    return OpenConflict(_text(entry["item"], "item"), _text(entry["field"], "field"))


def _left_out(value: object) -> LeftOut:
    entry = _keys(_object(value, "a reference"), LeftOut)
    return LeftOut(
        _number(entry["message_id"], "message_id"),
        _number(entry["block"], "block"),
        _text(entry["session"], "session"),
        _text(entry["item"], "item"),
        _text(entry["relation"], "relation"),
    )


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _fail(f"{what} is not an object")
    return value


def _keys(document: Mapping[str, Any], of: type[Any]) -> Mapping[str, Any]:
    missing = [name for name in of._fields if name not in document]
    if missing:
        _fail(f"`{missing[0]}` is missing")
    return document


def _list(value: object, name: str, read: Callable[[object], _Each]) -> tuple[_Each, ...]:
    if not isinstance(value, list):
        _fail(f"`{name}` is not a list")
    return tuple(read(each) for each in value)


def _optional(value: object, read: Callable[[object], _Each]) -> _Each | None:
    return None if value is None else read(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        _fail(f"`{name}` is not a text")
    return value


def _hash(value: object, name: str) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        _fail(f"`{name}` is not a SHA-256 in hexadecimal")
    return value


def _number(value: object, name: str, *, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= _MOST_NUMBER:
        _fail(f"`{name}` is not a number")
    return value


def _time(value: object, name: str) -> str:
    """Only what we write ourselves: other forms are read differently by different readers."""
    text = _text(value, name)
    try:
        is_ours = iso(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        is_ours = False
    if not is_ours:
        _fail(f"`{name}` is not a time in UTC, such as 2025-12-30T14:00:00Z")
    return text


# Where a session stands: its round, its phase, whose turn it is, and what waits for somebody.
#
# All of it follows from the thread, so that every front end says the same. What depends on the
# clock
# (what is overdue) is asked for with the time: `SessionStatus.overdue`.


class Phase(StrEnum):
    """What a round waits for; the words are the stable ones of the JSON."""

    AWAITING_ACKS = "awaiting_acks"
    AWAITING_DELTAS = "awaiting_deltas"
    READY_TO_COMPILE = "ready_to_compile"
    IN_CRITIQUE = "in_critique"
    COMPLETE = "complete"


class Turn(StrEnum):
    """What an agent has to do, or has done, in the current round."""

    NOT_ASKED = "not_asked"  # in the roster, and no kickoff of this round names her
    OWES_ACK = "owes_ack"  # asked; nothing was heard of her yet
    OWES_DELTA = "owes_delta"  # has acknowledged, and contributed nothing yet
    TO_CORRECT = "to_correct"  # has sent blocks, and each of them was refused
    CONTRIBUTED = "contributed"
    PASSED = "passed"  # has acknowledged the kickoff as `Completed`, without a contribution


AWAITED = frozenset({Turn.OWES_ACK, Turn.OWES_DELTA, Turn.TO_CORRECT})


class Participant(NamedTuple):
    """An agent in the session: of the roster, asked by a kickoff, or only writing to the thread.

    `kickoff` is the message of this round that asks her. The counts are of this round: DELTA
    messages, and what becomes, or would become, of their blocks. `total` counts her DELTA messages
    of all rounds. `asides` are her messages of this round, other than ACKs, that contribute
    nothing to the artifact: answers of the wrong type among them.
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
    asides: tuple[int, ...] = ()
    last_at: datetime | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether the round waits for her."""
        return self.turn in AWAITED


class OpenAck(NamedTuple):
    """An ACK that is owed for a message, however often that was sent: as `mail pending` has it."""

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
        """Until when; imported mail may bear any date."""
        last_moment = datetime.max.replace(tzinfo=UTC)
        return self.last_sent + deadline if self.last_sent < last_moment - deadline else last_moment


class OpenMessage(NamedTuple):
    """A CRITIQUE, BLOCKED, QUESTION or HANDOFF that somebody has not acknowledged yet.

    `about` is what it is about in its author's words: target, blocker, question, item. `rank` is
    its stated severity, type or urgency; empty where it says none.
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


class Refusal(NamedTuple):
    """A refused block that its author has not corrected, and that nobody has dismissed.

    `target_id` is the item as it is numbered now, where that is known (`is_item`), or else what its
    author wrote. `name` is what an ADD calls its item, as far as it could be read. `version` is the
    one that has read it; None where none has, and the next compile would refuse it.
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
    """What the latest version is, at a glance."""

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
    """Where a session stands.

    Round N is what version N is made of. A thread without KICKOFF, DELTA and COMPILED messages is
    a conversation: it has no phase. `unread` counts the DELTA messages that no version has read,
    `applies` their blocks that would be applied now. `stopped` is why the next compile cannot be.
    `references` are those of the latest version, with the item that has them. `operator` is who
    leads the session: what is asked of others is not asked of her.
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
    refusals: tuple[Refusal, ...]
    unread: int
    applies: int
    stopped: Diagnostic | None
    position: int
    first_at: datetime
    last_at: datetime
    references: tuple[tuple[str, Reference], ...] = ()
    operator: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether the latest version closed the session: only `--reopen` goes on with it.

        It may have begun to go on, with a kickoff after the end; then it is not complete.
        """
        return self.version is not None and self.version.status == "closed"

    @property
    def awaited(self) -> tuple[Participant, ...]:
        """Those for whom the round waits."""
        return tuple(each for each in self.participants if each.is_awaited)

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[OpenAck, ...]:
        """The ACKs that should have come by now, the oldest first."""
        return tuple(each for each in self.open_acks if each.due(deadline) < now)

    def of_type(self, name: str) -> tuple[OpenMessage, ...]:
        """The open messages of a type: what is blocked, what is asked."""
        return tuple(each for each in self.messages if each.type == name)
