"""What sessions need, in words: the same on every front end."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from brenner.protocol.messages import span
from brenner.session.needs import WAITING, Need, needs_of
from brenner.session.overview import Overview, Owed, is_overdue
from brenner.session.status import Phase, Turn
from brenner.session.status_words import PHASE_WORDS
from brenner.text import counted, visible

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
    owe = f"{visible(agents[0])} owes" if len(agents) == 1 else f"{len(agents)} agents owe"
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
