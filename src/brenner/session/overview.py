"""What sessions need, in words: the same on every front end."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from itertools import compress
from typing import Any, Literal, NamedTuple, TypeAlias

from brenner import __version__
from brenner.artifact.model import Artifact, Killed, Reference
from brenner.artifact.state import read_text
from brenner.protocol.message_types import BLOCKED, CRITIQUE, HANDOFF, QUESTION
from brenner.protocol.messages import iso, span
from brenner.protocol.thread_ids import ThreadKind
from brenner.session.model import (
    LatestVersion,
    OpenAck,
    OpenMessage,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
    Turn,
)
from brenner.session.status_text import PHASE_WORDS, attention
from brenner.text import counted, escape_control

# A session in one row: what a list of all sessions shows, and what it refers to.
#
# It follows from the thread alone, so that it can be kept until the thread grows.


class Awaited(NamedTuple):
    """Somebody for whom the round waits, and why."""

    name: str
    turn: Turn


class Owed(NamedTuple):
    """An ACK that is owed, and since when it was last asked for."""

    debtor: str
    message_id: int
    last_sent: datetime


class Overview(NamedTuple):
    """One row. The counts are of what is open; `errors` are those of lint, None before a version.

    `position` is how many messages the thread has. `items` are the IDs of all items of the latest
    version; `references` what they refer to, those of killed items among them; `killed` who killed
    which of them, and why; `to_correct` whose blocks are refused and not corrected yet.
    """

    thread_id: str
    kind: ThreadKind
    question: str
    round: int
    phase: Phase | None
    version: int | None
    errors: int | None
    awaited: tuple[Awaited, ...]
    owed: tuple[Owed, ...]
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
    killed: tuple[tuple[str, Killed], ...] = ()
    to_correct: tuple[str, ...] = ()

    @property
    def late(self) -> int:
        """How many blocks came in after the end that would be applied."""
        return self.applies if self.phase is Phase.COMPLETE else 0

    def overdue(self, now: datetime, deadline: timedelta) -> tuple[Owed, ...]:
        """The ACKs that should have come by now, the oldest first."""
        late = [each for each in self.owed if is_overdue(each, now, deadline)]
        return tuple(sorted(late, key=lambda each: (each.last_sent, each.message_id)))


def is_overdue(owed: Owed, now: datetime, deadline: timedelta) -> bool:
    """Whether it should have come by now; imported mail may bear any date."""
    return owed.last_sent < now - deadline


# What sessions need of the operator, and in which order a list of them is read.


_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


class Need(StrEnum):
    """What a session waits for, the most urgent first; the words are the stable ones of the JSON.

    The first eight wait for somebody; the others say no more than how far the session has come.
    """

    STOPPED = "stopped"  # no version can be compiled, until somebody decides
    BLOCKED = "blocked"
    ASKED = "asked"
    OVERDUE = "overdue"
    REFUSED = "refused"  # blocks that their authors have not corrected
    READY = "ready"  # to compile
    LATE = "late"  # blocks that came in after the end, and that only `--reopen` compiles
    HANDOFFS = "handoffs"
    AWAITING_DELTAS = "awaiting_deltas"
    AWAITING_ACKS = "awaiting_acks"
    IN_CRITIQUE = "in_critique"
    CONVERSATION = "conversations"
    COMPLETE = "complete"


_NEEDS = tuple(Need)
_RANK = {need: rank for rank, need in enumerate(_NEEDS)}
WAITING = _NEEDS[: _RANK[Need.AWAITING_DELTAS]]
_OF_PHASE: dict[Phase | None, Need] = {
    None: Need.CONVERSATION,
    Phase.AWAITING_ACKS: Need.AWAITING_ACKS,
    Phase.AWAITING_DELTAS: Need.AWAITING_DELTAS,
    Phase.READY_TO_COMPILE: Need.READY,
    Phase.IN_CRITIQUE: Need.IN_CRITIQUE,
    Phase.COMPLETE: Need.COMPLETE,
}


def needs_of(overview: Overview, now: datetime, deadline: timedelta) -> tuple[Need, ...]:
    """Everything that holds of a session, the most urgent first; at the least how far it is.

    What is stopped is not ready.
    """
    holds = (
        overview.is_stopped,
        overview.blocked > 0,
        overview.questions > 0,
        any(is_overdue(each, now, deadline) for each in overview.owed),
        overview.refusals > 0,
        overview.phase is Phase.READY_TO_COMPILE and not overview.is_stopped,
        overview.late > 0,
        overview.handoffs > 0,
    )
    found = tuple(compress(WAITING, holds))
    phase = _OF_PHASE[overview.phase]
    return found if phase is Need.READY and found else (*found, phase)


def urgent_first(
    overview: Overview, now: datetime, deadline: timedelta
) -> tuple[int, timedelta, str]:
    """The sort key of every list of sessions: the worst need, then the latest activity."""
    worst = needs_of(overview, now, deadline)[0]
    return (_RANK[worst], _LAST_MOMENT - overview.last_at, overview.thread_id)


def counts(overviews: Iterable[Overview], now: datetime, deadline: timedelta) -> dict[str, int]:
    """How many sessions there are, and of how many each need holds; a session may have several."""
    total = 0
    found = dict.fromkeys(_NEEDS, 0)
    for overview in overviews:
        total += 1
        for need in needs_of(overview, now, deadline):
            found[need] += 1
    return {"sessions": total, **{str(need): count for need, count in found.items()}}


# What is counted are sessions, not what waits in them
_SESSIONS: dict[Need, str] = {
    Need.STOPPED: "stopped",
    Need.BLOCKED: "blocked",
    Need.ASKED: "with questions",
    Need.OVERDUE: "with overdue ACKs",
    Need.REFUSED: "with refused blocks",
    Need.READY: "ready",
    Need.LATE: "with late blocks",
    Need.HANDOFFS: "with handoffs",
}
# The colour role of a word (look, Message types); it never stands for the word
Role: TypeAlias = Literal["attention", "notice", "positive", "plain", "quiet"]
_ROLES: dict[Need, Role] = {
    Need.STOPPED: "attention",
    Need.BLOCKED: "attention",
    Need.ASKED: "notice",
    Need.OVERDUE: "attention",
    Need.REFUSED: "attention",
    Need.READY: "positive",
    Need.LATE: "notice",
    Need.HANDOFFS: "notice",
}
# Why the round waits for somebody
TURN_WORDS: dict[Turn, str] = {
    Turn.OWES_ACK: "owes an ACK",
    Turn.OWES_DELTA: "owes a delta",
    Turn.TO_CORRECT: "has blocks to correct",
}
NO_SESSIONS = "There are no sessions yet. Each will appear here with its kickoff:"
START = 'brenner session start --question "…" --context "…" --to NAME --role ROLE'
_GOING_ON = (Phase.AWAITING_ACKS, Phase.AWAITING_DELTAS)


class NeedWords(NamedTuple):
    """What is open in a session, and how much that weighs."""

    text: str
    role: Role


def need_words(overview: Overview, now: datetime, deadline: timedelta) -> list[NeedWords]:
    """What is open, the most urgent first; where nothing is, its phase. Critiques come last."""
    late = len(overview.overdue(now, deadline))
    words: dict[Need, str] = {
        Need.STOPPED: "stopped",
        Need.BLOCKED: counted(overview.blocked, "blocked", "blocked"),
        Need.ASKED: counted(overview.questions, "question"),
        Need.OVERDUE: f"{counted(late, 'ACK')} overdue",
        Need.REFUSED: counted(overview.refusals, "refused block"),
        Need.READY: PHASE_WORDS[Phase.READY_TO_COMPILE],
        Need.LATE: counted(overview.late, "late block"),
        Need.HANDOFFS: counted(overview.handoffs, "handoff"),
    }
    needs = [need for need in needs_of(overview, now, deadline) if need in words]
    found = [NeedWords(words[need], _ROLES[need]) for need in needs] or [phase_words(overview)]
    if overview.critiques:
        found.append(NeedWords(counted(overview.critiques, "critique"), "plain"))
    return found


def phase_words(overview: Overview) -> NeedWords:
    """How far the round is."""
    is_going_on = overview.phase in _GOING_ON
    return NeedWords(PHASE_WORDS[overview.phase], "plain" if is_going_on else "quiet")


def summary_words(found: Mapping[str, int]) -> str:
    """`5 sessions: 1 blocked, 2 with questions`, of `counts`; empty where there are no sessions.

    A session may be counted under several words.
    """
    total = found["sessions"]
    if not total:
        return ""
    waiting = [f"{found[need]:,} {_SESSIONS[need]}" for need in WAITING if found[need]]
    words = f": {', '.join(waiting)}" if waiting else ", nothing waits"
    return f"{total:,} session{'s' * (total != 1)}{words}"


class Asked(NamedTuple):
    """Who asks what is owed, when, and how she is called: `You owe`, or `Operator owes`."""

    name: str
    owes: str
    now: datetime
    deadline: timedelta


def ack_words(owed: Sequence[Owed], asked: Asked) -> str:
    """`You owe an ACK. 2 agents owe 3 ACKs, the oldest for 27 h; 1 is overdue.`"""
    mine = [each for each in owed if each.debtor == asked.name]
    others = [each for each in owed if each.debtor != asked.name]
    agents = sorted({each.debtor for each in others})
    owe = f"{escape_control(agents[0])} owes" if len(agents) == 1 else f"{len(agents)} agents owe"
    told = [
        f"{who} {_acks(some, asked)}." for who, some in ((asked.owes, mine), (owe, others)) if some
    ]
    return " ".join(told)


def _acks(owed: Sequence[Owed], asked: Asked) -> str:
    """`3 ACKs, the oldest for 27 h; 1 is overdue`, as `mail pending` says it."""
    what = "an ACK" if len(owed) == 1 else f"{len(owed):,} ACKs"
    late = sum(is_overdue(each, asked.now, asked.deadline) for each in owed)
    if not late:
        return what
    oldest = span(asked.now - min(each.last_sent for each in owed))
    since = f"for {oldest}" if len(owed) == 1 else f"the oldest for {oldest}"
    return f"{what}, {since}; {late:,} {'is' if late == 1 else 'are'} overdue"


def others_words(count: int) -> str:
    """What is left out of every list of sessions; empty where nothing is."""
    if not count:
        return ""
    have = "thread has" if count == 1 else "threads have"
    return f"{count:,} {have} an ID that no session can have"


# The row of a session in a list, from where it stands.


# A list shows one line of it, and holds those of all sessions at once.
_LONGEST_QUESTION = 300


def overview_of(status: SessionStatus, artifact: Artifact) -> Overview:
    """The row; `artifact` is the latest version's, and says nothing where there is none."""
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
        awaited=tuple(Awaited(each.name, each.turn) for each in status.awaited),
        owed=tuple(Owed(each.debtor, each.message_id, each.last_sent) for each in status.open_acks),
        blocked=len(status.of_type(BLOCKED.name)),
        questions=len(status.of_type(QUESTION.name)),
        handoffs=len(status.of_type(HANDOFF.name)),
        critiques=len(status.critiques) + len(status.of_type(CRITIQUE.name)),
        refusals=len(status.refusals),
        unread=status.unread,
        applies=status.applies,
        is_stopped=status.stopped is not None,
        position=status.position,
        first_at=status.first_at,
        last_at=status.last_at,
        items=tuple(item.id for item in items),
        references=tuple((item.id, each) for item in items for each in item.references),
        killed=tuple((item.id, item.killed) for item in items if item.killed),
        to_correct=tuple(dict.fromkeys(each.agent for each in status.refusals)),
    )


def _one_line(text: str) -> str:
    """The beginning of a question, its words on one line."""
    line = " ".join(text[: 4 * _LONGEST_QUESTION].split())
    return line if len(line) <= _LONGEST_QUESTION else line[: _LONGEST_QUESTION - 1] + "…"


# A row of the list of sessions: the stable JSON of every front end, and the text that is kept.
#
# What is kept follows from the thread and from nothing else, and says how far the thread had
# come. A
# text that is damaged, or that another release wrote, is no row: then it is worked out again.


_FORMAT = f"4 {__version__}"
_DIGEST = 16
_TO_CORRECT = Overview._fields.index("to_correct")
_KIND, _PHASE, _AWAITED, _OWED = map(Overview._fields.index, ("kind", "phase", "awaited", "owed"))
_FIRST_AT, _LAST_AT, _ITEMS, _REFERENCES, _KILLED = map(
    Overview._fields.index, ("first_at", "last_at", "items", "references", "killed")
)
# Looking a word up takes a fraction of the time of calling the class.
_KINDS: dict[str, ThreadKind] = {str(each): each for each in ThreadKind}
_PHASES: dict[str | None, Phase | None] = {None: None, **{str(each): each for each in Phase}}
_TURNS: dict[str, Turn] = {str(each): each for each in Turn}


def overview_json(overview: Overview, now: datetime, deadline: timedelta) -> dict[str, object]:
    """The stable form of a row; `needs` are the words of brenner.session.needs, worst first."""
    late = set(overview.overdue(now, deadline))
    return {
        "thread_id": overview.thread_id,
        "kind": overview.kind,
        "question": overview.question,
        "round": overview.round,
        "phase": overview.phase,
        "version": overview.version,
        "needs": list(needs_of(overview, now, deadline)),
        "awaited": [{"agent": each.name, "turn": each.turn} for each in overview.awaited],
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
        "blocked": overview.blocked,
        "questions": overview.questions,
        "handoffs": overview.handoffs,
        "critiques": overview.critiques,
        "refusals": overview.refusals,
        "unread": overview.unread,
        "applies": overview.applies,
        "stopped": overview.is_stopped,
        "errors": overview.errors,
        "position": overview.position,
        "first_at": iso(overview.first_at),
        "last_at": iso(overview.last_at),
    }


class Known(NamedTuple):
    """What is known of a thread that had so many messages, the last of them at that time.

    Nothing but a longer thread can have another row: messages never change. The time is there for
    mail that was put in the place of other mail behind our back. A thread in which nobody speaks
    the protocol has no row, and that is worth knowing, too.
    """

    thread_id: str
    position: int
    last_at: datetime
    overview: Overview | None


def encode_overview(known: Known) -> str:
    """The text to keep."""
    overview = known.overview
    thread = [_FORMAT, known.thread_id, known.position, iso(known.last_at)]
    document = [*thread, _row(overview) if overview else None]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _digest(text) + text


def _row(overview: Overview) -> list[object]:
    """All fields in their order; the times as text."""
    values: dict[str, object] = overview._asdict()
    values["owed"] = [(each.debtor, each.message_id, iso(each.last_sent)) for each in overview.owed]
    values["first_at"], values["last_at"] = iso(overview.first_at), iso(overview.last_at)
    values["references"] = [(item, *reference) for item, reference in overview.references]
    values["killed"] = [(item, *killed) for item, killed in overview.killed]
    return list(values.values())


def decode_overview(text: str) -> Known:
    """What a kept text says; ValueError, and nothing else, where it is none of ours."""
    return read_text(_decode, text)


def _decode(text: str) -> Known:
    digest, rest = text[:_DIGEST], text[_DIGEST:]
    if _digest(rest) != digest:
        raise ValueError(digest)
    form, thread_id, position, last_at, row = json.loads(rest)
    if form != _FORMAT:
        raise ValueError(form)
    overview = _overview(row) if row else None
    return Known(thread_id, position, datetime.fromisoformat(last_at), overview)


def _overview(row: list[Any]) -> Overview:
    """All rows are read whenever a list is shown: what is a list in the text is changed there."""
    row[_KIND], row[_PHASE] = _KINDS[row[_KIND]], _PHASES[row[_PHASE]]
    row[_AWAITED] = tuple([Awaited(name, _TURNS[turn]) for name, turn in row[_AWAITED]])
    row[_OWED] = tuple(
        [Owed(debtor, number, datetime.fromisoformat(at)) for debtor, number, at in row[_OWED]]
    )
    row[_FIRST_AT] = datetime.fromisoformat(row[_FIRST_AT])
    row[_LAST_AT] = datetime.fromisoformat(row[_LAST_AT])
    row[_ITEMS] = tuple(row[_ITEMS])
    row[_REFERENCES] = tuple([(item, Reference(*rest)) for item, *rest in row[_REFERENCES]])
    row[_TO_CORRECT] = tuple(row[_TO_CORRECT])
    row[_KILLED] = tuple([(item, Killed(*rest)) for item, *rest in row[_KILLED]])
    return Overview(*row)


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST]


# The status of a session as one JSON document, the same for every front end.
#
# Keys are only ever added.


def status_json(status: SessionStatus, now: datetime, deadline: timedelta) -> dict[str, object]:
    """The stable form; what is overdue depends on the time and the deadline."""
    return {
        "thread_id": status.thread_id,
        "kind": status.kind.value,
        "question": status.question,
        "round": status.round,
        "phase": status.phase.value if status.phase else None,
        "attention": [
            {"kind": each.kind, "text": each.text} for each in attention(status, now, deadline)
        ],
        "version": _version(status.version) if status.version else None,
        "participants": [_participant(each) for each in status.participants],
        "pending": [open_ack_json(each, now, deadline) for each in status.open_acks],
        "critiques": {
            "items": [each._asdict() for each in status.critiques],
            "messages": _messages(status.of_type(CRITIQUE.name)),
        },
        "blocked": _messages(status.of_type(BLOCKED.name)),
        "questions": _messages(status.of_type(QUESTION.name)),
        "handoffs": _messages(status.of_type(HANDOFF.name)),
        "refusals": [refusal_json(each) for each in status.refusals],
        "unread": status.unread,
        "applies": status.applies,
        "stopped": status.stopped.to_json() if status.stopped else None,
        "position": status.position,
        "first_at": iso(status.first_at),
        "last_at": iso(status.last_at),
        "references": [
            {"id": item, **reference._asdict()} for item, reference in status.references
        ],
    }


def _version(version: LatestVersion) -> dict[str, object]:
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


def _participant(each: Participant) -> dict[str, object]:
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
        "asides": list(each.asides),
        "last_at": iso(each.last_at) if each.last_at else None,
    }


def open_ack_json(each: OpenAck, now: datetime, deadline: timedelta) -> dict[str, object]:
    """An ACK that is owed, with the keys of `mail pending --json`."""
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
    }


def _messages(found: Iterable[OpenMessage]) -> list[dict[str, object]]:
    return [open_message_json(each) for each in found]


def open_message_json(each: OpenMessage) -> dict[str, object]:
    """A message that waits for somebody."""
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


def refusal_json(each: Refusal) -> dict[str, object]:
    """A refused block, with the keys of a compile's ledger."""
    return {
        "message_id": each.message_id,
        "block": each.block,
        "line": each.line,
        "agent": each.agent,
        "operation": each.operation,
        "section": each.section,
        "target_id": each.target_id,
        "name": each.name,
        "version": each.version,
        "violations": [found.to_json() for found in each.diagnostics],
    }
