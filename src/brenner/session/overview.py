"""The overview of a session: one row in the list of sessions, with its text, JSON and cache.

Also the JSON of a session's status. Every front end uses these texts and documents.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from brenner import __version__
from brenner.artifact.model import Artifact, KillRecord, Reference
from brenner.artifact.state import decode_checked
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE
from brenner.protocol.message_types import BLOCKED, CRITIQUE, HANDOFF, QUESTION
from brenner.protocol.messages import duration_text, iso
from brenner.protocol.thread_ids import ThreadKind
from brenner.session.model import (
    ENDED_PHASES,
    Cancellation,
    OpenAck,
    OpenMessage,
    Participant,
    Phase,
    PublishedVersion,
    RefusedBlock,
    SessionStatus,
    SettledAck,
    Turn,
)
from brenner.session.status_text import PHASE_LABELS, attention
from brenner.text import escape_control, grouped, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from brenner.protocol.independent_round import IndependentRound
    from brenner.session.status_text import StatusReader

# The row of a session. It depends on the thread alone, so it can be cached until the thread grows.


class OwedAck(NamedTuple):
    """An ACK that is owed, and when its deadline starts: when it was last asked for (R33)."""

    debtor: str
    message_id: int
    last_sent: datetime


class Overview(NamedTuple):
    """One row of the list of sessions, or of the threads that are no session.

    The counts are of what is open; `errors` are those of lint, None before a version. `position` is
    the number of messages in the thread. `items` are the IDs of all items of the latest version.
    `references` are those of all items, including killed ones. `killed` is who killed which item,
    and why; `killed_hypotheses` are their IDs, names and claims. `to_correct` are the agents with
    refused or misplaced blocks that are not corrected yet, `to_answer` the last authors of the
    items that ask for an answer (R28). `state` is the state of the argument in one sentence,
    without a full stop; it and the `conclusion` are those of the latest version, and empty before
    the first.
    """

    thread_id: str
    kind: ThreadKind
    question: str
    round: int
    phase: Phase | None
    version: int | None
    errors: int | None
    awaited: tuple[tuple[str, Turn], ...]
    owed: tuple[OwedAck, ...]
    blocked: int
    questions: int
    handoffs: int
    critiques: int
    refusals: int
    unread: int
    applies: int
    is_stopped: bool
    position: int
    first_at: datetime
    last_at: datetime
    items: tuple[str, ...] = ()
    references: tuple[tuple[str, Reference], ...] = ()
    killed: tuple[tuple[str, KillRecord], ...] = ()
    to_correct: tuple[str, ...] = ()
    misplaced: int = 0
    late_misplaced: int = 0
    unanswered: int = 0
    to_answer: tuple[str, ...] = ()
    killed_hypotheses: tuple[tuple[str, str, str], ...] = ()
    state: str = ""
    conclusion: str = ""

    @property
    def needed_misplaced(self) -> int:
        """The number of misplaced blocks to send or to dismiss."""
        return self.late_misplaced if self.phase in ENDED_PHASES else self.misplaced

    @property
    def is_session(self) -> bool:
        """Whether the thread is a session: it has a KICKOFF or a version (R23)."""
        return self.phase is not None

    @property
    def late(self) -> int:
        """The number of blocks that came in after the end and would be applied."""
        return self.applies if self.phase is Phase.COMPLETE else 0

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[OwedAck, ...]:
        """Return the overdue ACKs, the oldest first."""
        late = [each for each in self.owed if is_overdue(each, now, deadline)]
        return tuple(sorted(late, key=lambda each: (each.last_sent, each.message_id)))


def is_overdue(owed: OwedAck, now: datetime, deadline: timedelta) -> bool:
    """Return whether an ACK is overdue.

    Subtracts from `now`, because imported mail may have any date and adding could overflow.
    """
    return owed.last_sent < now - deadline


# Needs of sessions, and the order of a list


_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


class Need(StrEnum):
    """What a session waits for, the most urgent first; the values are stable in the JSON.

    The first ten wait for an operator or agent. The others only show how far the session has
    come.
    """

    STOPPED = "stopped"  # no version can be compiled until the operator decides
    BLOCKED = "blocked"
    ASKED = "asked"
    OVERDUE = "overdue"
    REFUSED = "refused"  # blocks that their authors have not corrected
    MISPLACED = "misplaced"  # delta blocks outside DELTA messages
    UNANSWERED = "unanswered"  # items that a result or an assumption asks about (R28)
    READY = "ready"  # to compile
    LATE = "late"  # blocks that came in after the end, and that only `--reopen` compiles
    HANDOFFS = "handoffs"
    AWAITING_DELTAS = "awaiting_deltas"
    AWAITING_ACKS = "awaiting_acks"
    IN_CRITIQUE = "in_critique"
    CONVERSATION = "conversations"
    COMPLETE = "complete"
    CANCELLED = "cancelled"


_NEEDS = tuple(Need)
_URGENCY = {need: rank for rank, need in enumerate(_NEEDS)}
WAITING_NEEDS = _NEEDS[: _URGENCY[Need.AWAITING_DELTAS]]
_NEED_OF_PHASE: dict[Phase | None, Need] = {
    None: Need.CONVERSATION,
    Phase.AWAITING_ACKS: Need.AWAITING_ACKS,
    Phase.AWAITING_DELTAS: Need.AWAITING_DELTAS,
    Phase.READY_TO_COMPILE: Need.READY,
    Phase.IN_CRITIQUE: Need.IN_CRITIQUE,
    Phase.COMPLETE: Need.COMPLETE,
    Phase.CANCELLED: Need.CANCELLED,
}


def needs_of(overview: Overview, now: datetime, deadline: timedelta) -> tuple[Need, ...]:
    """Return all needs of a session, the most urgent first; at least the one of its phase.

    A stopped session is not ready. A cancelled one needs nobody. What was open when a session was
    completed is no need any more.
    """
    if overview.phase is Phase.CANCELLED:
        return (Need.CANCELLED,)
    is_over = overview.phase is Phase.COMPLETE
    is_needed = (
        overview.is_stopped,
        overview.blocked > 0,
        overview.questions > 0,
        any(is_overdue(each, now, deadline) for each in overview.owed),
        overview.refusals > 0 and not is_over,
        overview.needed_misplaced > 0,
        overview.unanswered > 0 and not is_over,
        overview.phase is Phase.READY_TO_COMPILE and not overview.is_stopped,
        overview.late > 0,
        overview.handoffs > 0,
    )
    found = tuple(compress(WAITING_NEEDS, is_needed))
    phase = _NEED_OF_PHASE[overview.phase]
    return found if phase is Need.READY and found else (*found, phase)


def urgency_key(
    overview: Overview, now: datetime, deadline: timedelta
) -> tuple[int, timedelta, str]:
    """Return the sort key of every list of sessions: the worst need, then the latest activity."""
    worst = needs_of(overview, now, deadline)[0]
    return (_URGENCY[worst], _LAST_MOMENT - overview.last_at, overview.thread_id)


def count_needs(
    overviews: Iterable[Overview], now: datetime, deadline: timedelta
) -> dict[str, int]:
    """Count the sessions, and the threads with each need; a thread may have several.

    Threads that are no session are counted by their needs only.
    """
    total = 0
    found = dict.fromkeys(_NEEDS, 0)
    for overview in overviews:
        total += overview.is_session
        for need in needs_of(overview, now, deadline):
            found[need] += 1
    return {"sessions": total, **{str(need): count for need, count in found.items()}}


# The colour role of a text (look, Message types); colour never replaces the text
ColorRole: TypeAlias = Literal["attention", "notice", "positive", "plain", "quiet"]
# The label of a need for counts of sessions, not for counts within one session; its colour role
_WAITING_LABELS: dict[Need, tuple[str, ColorRole]] = {
    Need.STOPPED: ("that cannot compile", "attention"),
    Need.BLOCKED: ("blocked", "attention"),
    Need.ASKED: ("with questions", "notice"),
    Need.OVERDUE: ("with overdue ACKs", "attention"),
    Need.REFUSED: ("with rejected blocks", "attention"),
    Need.MISPLACED: ("with blocks in no DELTA", "attention"),
    Need.UNANSWERED: ("with unanswered results", "attention"),
    Need.READY: ("ready to compile", "positive"),
    Need.LATE: ("with late blocks", "notice"),
    Need.HANDOFFS: ("with handoffs", "notice"),
}
# Why the round waits for an agent
TURN_LABELS: dict[Turn, str] = {
    Turn.OWES_ACK: "owes an ACK",
    Turn.OWES_DELTA: "owes a delta",
    Turn.TO_CORRECT: "has blocks to correct",
}
OTHER_THREADS = "Other threads, with neither a kickoff nor a version"
NO_SESSIONS = "No sessions yet"
START_COMMAND = 'brenner session start --question "…" --context "…" --to NAME --role ROLE'
_RUNNING_PHASES = (Phase.AWAITING_ACKS, Phase.AWAITING_DELTAS)


def describe_needs(
    overview: Overview, now: datetime, deadline: timedelta
) -> list[tuple[str, ColorRole]]:
    """Describe what is open, the most urgent first, or else the phase. Critiques come last.

    Each text comes with its colour role.
    """
    late, misplaced = len(overview.overdue(now, deadline)), overview.needed_misplaced
    words: dict[Need, str] = {
        Need.STOPPED: "cannot compile",
        Need.BLOCKED: plural(overview.blocked, "blocked", "blocked"),
        Need.ASKED: plural(overview.questions, "question"),
        Need.OVERDUE: f"{plural(late, 'ACK')} overdue",
        Need.REFUSED: plural(overview.refusals, "rejected block"),
        Need.MISPLACED: plural(misplaced, "block in no DELTA", "blocks in no DELTA"),
        Need.UNANSWERED: plural(overview.unanswered, "unanswered item"),
        Need.READY: PHASE_LABELS[Phase.READY_TO_COMPILE],
        Need.LATE: plural(overview.late, "late block"),
        Need.HANDOFFS: plural(overview.handoffs, "handoff"),
    }
    needs = [need for need in needs_of(overview, now, deadline) if need in words]
    found = [(words[need], _WAITING_LABELS[need][1]) for need in needs] or [
        describe_phase(overview)
    ]
    if overview.critiques and overview.phase not in ENDED_PHASES:
        found.append((plural(overview.critiques, "open critique"), "plain"))
    return found


def describe_phase(overview: Overview) -> tuple[str, ColorRole]:
    if not overview.is_session and overview.unread:
        return f"{plural(overview.unread, 'delta')}, no kickoff", "notice"
    is_going_on = overview.phase in _RUNNING_PHASES
    return (PHASE_LABELS[overview.phase], "plain" if is_going_on else "quiet")


def summarize_counts(found: Mapping[str, int]) -> str:
    """Render the result of `count_needs`: `5 sessions: 1 blocked, 2 with questions`.

    If nothing waits: `3 open sessions; none needs you`. Return "" if there are no sessions. A
    session may be counted several times.
    """
    total = found["sessions"]
    labels = ((need, label) for need, (label, _) in _WAITING_LABELS.items())
    waiting = [f"{found[need]:,} {label}" for need, label in labels if found[need]]
    if waiting:
        threads = grouped(total, "session") if total else "No sessions, other threads"
        return f"{threads}: {', '.join(waiting)}"
    if not total:
        return "No sessions" if found[Need.CONVERSATION] else ""
    unfinished = total - found[Need.COMPLETE] - found[Need.CANCELLED]
    if not unfinished:
        return "No open sessions"
    none = "it does not need you" if unfinished == 1 else "none needs you"
    return f"{grouped(unfinished, 'open session')}; {none}"


def describe_owed_acks(owed: Sequence[OwedAck], reader: StatusReader, owes: str) -> str:
    """Return `You owe 1 acknowledgement. Waiting for 3 acknowledgements from 2 agents.`

    `owes` begins the sentence about the reader: `You owe`, or `Operator owes`. Overdue ones are
    named at the end of each sentence.
    """
    mine = [each for each in owed if each.debtor == reader.actor]
    others = [each for each in owed if each.debtor != reader.actor]
    agents = {each.debtor for each in others}
    sentences = [f"{owes} {_ack_count(mine)}{_overdue_count(mine, reader)}."] if mine else []
    if others:
        whom = escape_control(min(agents)) if len(agents) == 1 else f"{len(agents)} agents"
        late = _overdue_count(others, reader)
        sentences.append(f"Waiting for {_ack_count(others)} from {whom}{late}.")
    return " ".join(sentences)


def _ack_count(owed: Sequence[OwedAck]) -> str:
    return grouped(len(owed), "acknowledgement")


def _overdue_count(owed: Sequence[OwedAck], reader: StatusReader) -> str:
    """Return `, 2 overdue, the oldest sent 27 h ago`, or "" if none is overdue."""
    late = [each for each in owed if is_overdue(each, reader.now, reader.deadline)]
    if not late:
        return ""
    oldest = duration_text(reader.now - min(each.last_sent for each in late))
    if len(owed) == 1:
        return f", overdue, sent {oldest} ago"
    return f", {len(late):,} overdue, the oldest sent {oldest} ago"


def split_sessions(
    overviews: Iterable[Overview],
) -> tuple[list[Overview], list[Overview]]:
    """Split rows into sessions and threads with neither a KICKOFF nor a version (R23)."""
    parts: tuple[list[Overview], list[Overview]] = ([], [])
    for each in overviews:
        parts[not each.is_session].append(each)
    return parts


def describe_skipped_threads(count: int) -> str:
    """Describe the threads that every list of sessions leaves out; return "" if there are none."""
    if not count:
        return ""
    have = "thread has" if count == 1 else "threads have"
    return f"{count:,} {have} an ID that is not valid for a session"


# From a status to a row


# characters; a list keeps the questions of all sessions in memory, and shows one line of each
_LONGEST_QUESTION = 300
LONGEST_CLAIM = 2_000  # characters; only their words are compared


def overview_of(status: SessionStatus, artifact: Artifact) -> Overview:
    """Return the row of a session; `artifact` is ignored if there is no version yet."""
    version = status.version
    items = [item for _, item in artifact.all_items()] if version else []
    return Overview(
        thread_id=status.thread_id,
        kind=status.kind,
        question=_one_line(status.question),
        round=status.round,
        phase=status.phase,
        version=version.number if version else None,
        errors=version.errors if version else None,
        awaited=tuple((each.name, each.turn) for each in status.awaited),
        owed=tuple(
            OwedAck(each.debtor, each.message_id, each.due(timedelta()))
            for each in status.open_acks
        ),
        blocked=len(status.of_type(BLOCKED.name)),
        questions=len(status.of_type(QUESTION.name)),
        handoffs=len(status.of_type(HANDOFF.name)),
        critiques=len(status.critiques) + len(status.of_type(CRITIQUE.name)),
        refusals=len(status.refusals),
        unread=status.unread,
        applies=status.applies,
        is_stopped=status.compile_blocker is not None,
        position=status.position,
        first_at=status.first_at,
        last_at=status.last_at,
        items=tuple(item.id for item in items),
        references=tuple((item.id, each) for item in items for each in item.references),
        killed=tuple((item.id, item.killed) for item in items if item.killed),
        to_correct=tuple(
            dict.fromkeys(each.agent for each in (*status.refusals, *status.misplaced))
        ),
        misplaced=len(status.misplaced),
        late_misplaced=len(status.late_misplaced),
        unanswered=len(status.unanswered),
        to_answer=tuple(dict.fromkeys(each.agent for each in status.unanswered if each.agent)),
        killed_hypotheses=tuple(
            (item.id, item.text("name"), item.text("claim")[:LONGEST_CLAIM])
            for item in (artifact.sections[HYPOTHESIS_SLATE.id] if version else ())
            if item.killed
        ),
        state=_state_of(status, artifact) if version else "",
        conclusion=_one_line(artifact.research_thread.text("conclusion")) if version else "",
    )


def _state_of(status: SessionStatus, artifact: Artifact) -> str:
    # Not needed if all rows are cached
    from brenner.artifact.pairs import active_tests, describe_state

    number = status.version.number if status.version else 0
    return describe_state(artifact, number, active_tests(artifact))


def _one_line(text: str) -> str:
    """Return the beginning of a question on one line."""
    line = " ".join(text[: 4 * _LONGEST_QUESTION].split())
    return line if len(line) <= _LONGEST_QUESTION else line[: _LONGEST_QUESTION - 1] + "…"


# JSON and cache entry of a row
#
# A cache entry that is damaged, or that another release wrote, is discarded and computed again.


_FORMAT = f"8 {__version__}"
_DIGEST_LENGTH = 16
_TO_CORRECT, _TO_ANSWER, _KILLED_HYPOTHESES = map(
    Overview._fields.index, ("to_correct", "to_answer", "killed_hypotheses")
)
_KIND, _PHASE, _AWAITED, _OWED = map(Overview._fields.index, ("kind", "phase", "awaited", "owed"))
_FIRST_AT, _LAST_AT, _ITEMS, _REFERENCES, _KILLED = map(
    Overview._fields.index, ("first_at", "last_at", "items", "references", "killed")
)
# A dict lookup is much faster than calling the enum class.
_KINDS: dict[str, ThreadKind] = {str(each): each for each in ThreadKind}
_PHASES: dict[str | None, Phase | None] = {None: None, **{str(each): each for each in Phase}}
_TURNS: dict[str, Turn] = {str(each): each for each in Turn}


_IDENTITY = ("thread_id", "kind", "question", "round", "phase", "version")
_COUNTS = (
    *("blocked", "questions", "handoffs", "critiques", "refusals", "misplaced"),
    *("unanswered", "unread", "applies"),
)


def overview_json(overview: Overview, now: datetime, deadline: timedelta) -> dict[str, object]:
    """Return the stable JSON of a row; `needs` are the values of `Need`, worst first."""
    late = set(overview.overdue(now, deadline))
    fields = overview._asdict()
    return {
        **{name: fields[name] for name in _IDENTITY},
        "needs": list(needs_of(overview, now, deadline)),
        "awaited": [{"agent": name, "turn": turn} for name, turn in overview.awaited],
        "owed": [
            {
                "agent": each.debtor,
                "message_id": each.message_id,
                "last_sent": iso(each.last_sent),
                "overdue": each in late,
            }
            for each in overview.owed
        ],
        "overdue": len(late),
        **{name: fields[name] for name in _COUNTS},
        "stopped": overview.is_stopped,
        "errors": overview.errors,
        "position": overview.position,
        "first_at": iso(overview.first_at),
        "last_at": iso(overview.last_at),
    }


class CachedOverview(NamedTuple):
    """Cache entry: the row of a thread at a number of messages, with the time of the last one.

    Messages never change, so only a longer thread can have another row. The time detects mail that
    was replaced outside the program. A thread without protocol messages has no row, which is
    cached, too.
    """

    thread_id: str
    position: int
    last_at: datetime
    overview: Overview | None


def encode_overview(cached: CachedOverview) -> str:
    overview = cached.overview
    thread = [_FORMAT, cached.thread_id, cached.position, iso(cached.last_at)]
    document = [*thread, _encode_row(overview) if overview else None]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _digest(text) + text


def _encode_row(overview: Overview) -> list[object]:
    """Return all fields in their order, with times as text."""
    values: dict[str, object] = overview._asdict()
    values["owed"] = [(each.debtor, each.message_id, iso(each.last_sent)) for each in overview.owed]
    values["first_at"], values["last_at"] = iso(overview.first_at), iso(overview.last_at)
    values["references"] = [(item, *reference) for item, reference in overview.references]
    values["killed"] = [(item, *killed) for item, killed in overview.killed]
    return list(values.values())


def decode_overview(text: str) -> CachedOverview:
    """Decode a cached row. Raise ValueError, and nothing else, if the text is not valid."""
    return decode_checked(_decode, text)


def _decode(text: str) -> CachedOverview:
    digest, rest = text[:_DIGEST_LENGTH], text[_DIGEST_LENGTH:]
    if _digest(rest) != digest:
        raise ValueError(digest)
    format_id, thread_id, position, last_at, row = json.loads(rest)
    if format_id != _FORMAT:
        raise ValueError(format_id)
    overview = _decode_row(row) if row else None
    return CachedOverview(thread_id, position, datetime.fromisoformat(last_at), overview)


def _decode_row(row: list[Any]) -> Overview:
    """Convert the values in place, because every list of sessions decodes all rows."""
    row[_KIND], row[_PHASE] = _KINDS[row[_KIND]], _PHASES[row[_PHASE]]
    row[_AWAITED] = tuple([(name, _TURNS[turn]) for name, turn in row[_AWAITED]])
    row[_OWED] = tuple(
        [OwedAck(debtor, number, datetime.fromisoformat(at)) for debtor, number, at in row[_OWED]]
    )
    row[_FIRST_AT] = datetime.fromisoformat(row[_FIRST_AT])
    row[_LAST_AT] = datetime.fromisoformat(row[_LAST_AT])
    row[_ITEMS] = tuple(row[_ITEMS])
    row[_REFERENCES] = tuple([(item, Reference(*rest)) for item, *rest in row[_REFERENCES]])
    row[_TO_CORRECT], row[_TO_ANSWER] = tuple(row[_TO_CORRECT]), tuple(row[_TO_ANSWER])
    row[_KILLED] = tuple([(item, KillRecord(*rest)) for item, *rest in row[_KILLED]])
    row[_KILLED_HYPOTHESES] = tuple([(*each,) for each in row[_KILLED_HYPOTHESES]])
    return Overview(*row)


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


# JSON of a session's status; keys are only ever added


def status_json(status: SessionStatus, now: datetime, deadline: timedelta) -> dict[str, object]:
    """Return the stable JSON of a status; overdue ACKs depend on the time and the deadline."""
    return {
        "thread_id": status.thread_id,
        "kind": status.kind.value,
        "question": status.question,
        "round": status.round,
        "phase": status.phase.value if status.phase else None,
        "attention": [
            {"kind": each.kind, "text": each.text} for each in attention(status, now, deadline)
        ],
        "version": _version_json(status.version) if status.version else None,
        "participants": [_participant_json(each) for each in status.participants],
        "pending": [open_ack_json(each, now, deadline) for each in status.open_acks],
        "critiques": {
            "items": [each._asdict() for each in status.critiques],
            "messages": [*map(open_message_json, status.of_type(CRITIQUE.name))],
        },
        "blocked": [*map(open_message_json, status.of_type(BLOCKED.name))],
        "questions": [*map(open_message_json, status.of_type(QUESTION.name))],
        "handoffs": [*map(open_message_json, status.of_type(HANDOFF.name))],
        "refusals": [refused_block_json(each) for each in status.refusals],
        "misplaced": misplaced_json(status.misplaced),
        "unanswered": [each.to_json() for each in status.unanswered],
        "conflicts": [each._asdict() for each in status.conflicts],
        "lacks_third_alternative": status.lacks_third_alternative,
        "settled": [settled_ack_json(each) for each in status.settled],
        "cancelled": cancellation_json(status.cancelled) if status.cancelled else None,
        "unread": status.unread,
        "applies": status.applies,
        "stopped": status.compile_blocker.to_json() if status.compile_blocker else None,
        "position": status.position,
        "first_at": iso(status.first_at),
        "last_at": iso(status.last_at),
        "references": [
            {"id": item, **reference._asdict()} for item, reference in status.references
        ],
        "independent": _independent_json(status.independent),
    }


def _independent_json(found: IndependentRound | None) -> dict[str, object] | None:
    """Return the independent first round, null if the session has none (R33)."""
    if found is None:
        return None
    ended_by = found.ended_by.id if found.ended_by else None
    return {"sealed": found.sealed, "until": "v1", "ended_by": ended_by}


def _version_json(version: PublishedVersion) -> dict[str, object]:
    return {
        "version": version.number,
        "message_id": version.message_id,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "status": version.status,
        "errors": version.errors,
        "warnings": version.warnings,
        "third_alternative": "Present" if version.has_third_alternative else "MISSING",
        "counts": dict(version.counts),
    }


def _participant_json(each: Participant) -> dict[str, object]:
    return {
        "name": each.name,
        "role": each.role,
        "in_roster": each.is_in_roster,
        "turn": each.turn.value,
        "awaited": each.is_awaited,
        "kickoff": each.kickoff,
        "acknowledged": each.is_acknowledged,
        "deltas": each.deltas,
        "applied": each.applied,
        "refused": each.refused,
        "duplicate": each.duplicate,
        "total": each.total,
        "asides": list(each.other_messages),
        "last_at": iso(each.last_at) if each.last_at else None,
    }


def open_ack_json(each: OpenAck, now: datetime, deadline: timedelta) -> dict[str, object]:
    """Return an owed ACK with the keys of `mail pending --json`."""
    due = each.due(deadline)
    return {
        "agent": each.debtor,
        "message_id": each.message_id,
        "last_message_id": each.last_message_id,
        "times_sent": each.times_sent,
        "type": each.type,
        "from": each.sender,
        "subject": each.subject,
        "since": iso(each.since),
        "due": iso(due),
        "overdue": due < now,
        **({"sealed": True} if each.is_sealed else {}),
    }


def settled_ack_json(each: SettledAck) -> dict[str, object]:
    """Return an ACK that settled without an ACK message; `by` is the message that settled it."""
    return {
        "agent": each.debtor,
        "message_id": each.message_id,
        "type": each.type,
        "by": each.by,
        "how": each.how,
    }


def cancellation_json(each: Cancellation) -> dict[str, object]:
    return each._asdict() | {"at": iso(each.at)}


def open_message_json(each: OpenMessage) -> dict[str, object]:
    return {
        "message_id": each.message_id,
        "type": each.type,
        "from": each.sender,
        "subject": each.subject,
        "at": iso(each.at),
        "waiting_for": list(each.waiting_for),
        "about": each.about,
        "rank": each.rank or None,
    }


def misplaced_json(found: Iterable[RefusedBlock]) -> list[dict[str, object]]:
    """Return delta blocks outside DELTA messages as rows of a ledger."""
    return [refused_block_json(each) | {"state": "misplaced"} for each in found]


_NOT_SHOWN = ("is_item", "diagnostics")


def refused_block_json(each: RefusedBlock) -> dict[str, object]:
    """Return a refused block with the keys of a compile's ledger."""
    known = {name: value for name, value in each._asdict().items() if name not in _NOT_SHOWN}
    return known | {"violations": [found.to_json() for found in each.diagnostics]}
