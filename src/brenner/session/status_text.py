"""The status of a session as text: phase, turns, what needs attention, the next step.

Every front end uses these texts.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Literal, TypeAlias

from brenner.diagnostics.model import worst_first
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import (
    BLOCKED,
    CRITIQUE,
    HANDOFF,
    KICKOFF,
    QUESTION,
    placeholder,
)
from brenner.protocol.messages import duration_text
from brenner.session.model import (
    OpenAck,
    OpenMessage,
    Participant,
    Phase,
    RefusedBlock,
    SessionStatus,
    SettledAck,
    Turn,
)
from brenner.text import as_option, escape_control, joined, plural, thread_argument

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime, timedelta

PHASE_LABELS: dict[Phase | None, str] = {
    Phase.AWAITING_ACKS: "awaiting ACKs",
    Phase.AWAITING_DELTAS: "awaiting deltas",
    Phase.READY_TO_COMPILE: "ready to compile",
    Phase.IN_CRITIQUE: "between rounds",
    Phase.COMPLETE: "complete",
    Phase.CANCELLED: "cancelled",
    None: "conversation",
}


def describe_round(phase: Phase | None, number: int) -> str:
    """Return `Round 2, awaiting deltas`, or `Between rounds 2 and 3` after a version."""
    if phase is None:
        return PHASE_LABELS[None]
    if phase is Phase.IN_CRITIQUE:
        return f"Between rounds {number - 1} and {number}"
    return f"Round {number}, {PHASE_LABELS[phase]}"


_MOST_OTHER_MESSAGES = 2
# Needs action; done; done with errors; irrelevant now
TurnWeight: TypeAlias = Literal["attention", "strong", "plain", "quiet"]


class TurnText(NamedTuple):
    """The turn of an agent as text, its weight, and the other messages that the agent wrote."""

    text: str
    weight: TurnWeight
    aside: str = ""


def describe_turn(each: Participant, status: SessionStatus, now: datetime) -> TurnText:
    """Describe an agent's turn in the current round."""
    words = _turn_text(each, status, now)
    if not each.other_messages or each.turn is Turn.NOT_ASKED:
        return words
    wrote = ", ".join(map(str, each.other_messages))
    if len(each.other_messages) > _MOST_OTHER_MESSAGES:
        wrote = f"{len(each.other_messages)} other messages"
    return words._replace(aside=f"; wrote {wrote}")


def _turn_text(each: Participant, status: SessionStatus, now: datetime) -> TurnText:
    if each.turn is Turn.OWES_ACK:
        owed = _owed_ack(each, status.open_acks)
        since = f" for {duration_text(now - owed.last_sent)}" if owed else ""
        return TurnText(f"owes an ACK{since}", "attention")
    if each.turn is Turn.NOT_ASKED:
        return TurnText(_not_asked_text(each, status), "quiet")
    if each.turn is Turn.TO_CORRECT:
        return TurnText(f"{_delta_counts(each)}, to correct", "attention")
    if each.turn is Turn.CONTRIBUTED:
        return TurnText(_delta_counts(each), "plain" if each.refused else "strong")
    if each.turn is Turn.PASSED:
        return TurnText("passed", "quiet")
    return TurnText("owes a delta", "attention")


def _owed_ack(each: Participant, open_acks: tuple[OpenAck, ...]) -> OpenAck | None:
    """Return the ACK that the agent owes for its kickoff or a copy of it, else any ACK it owes."""
    return next(
        (
            ack
            for ack in open_acks
            if ack.debtor == each.name and each.kickoff in (ack.message_id, ack.last_message_id)
        ),
        next((ack for ack in open_acks if ack.debtor == each.name), None),
    )


def _not_asked_text(each: Participant, status: SessionStatus) -> str:
    if each.deltas:
        return _delta_counts(each)
    if status.is_over:
        return "nothing to do"
    return "not asked" if each.is_in_roster else "not in the roster"


def _delta_counts(each: Participant) -> str:
    """Return `2 deltas: 5 apply, 1 rejected`, without the zero counts.

    No version includes these deltas yet.
    """
    apply = "applies" if each.applied == 1 else "apply"
    counts = {apply: each.applied, "rejected": each.refused, "duplicate": each.duplicate}
    shown = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{plural(each.deltas, 'delta')}: {shown or 'no blocks'}"


def describe_unread(status: SessionStatus) -> tuple[str, str] | None:
    """Describe the unread deltas, and how many of their blocks would apply."""
    if not status.unread:
        return None
    count = plural(status.unread, "delta has", "deltas have")
    applies = plural(status.applies, "block would apply", "blocks would apply")
    since = " since" if status.version else ""
    return f"{count} arrived{since}", applies if status.applies else "no block would apply"


def describe_independent(status: SessionStatus) -> str:
    """Return how many contributions of an independent first round are sealed; empty after it."""
    found = status.independent
    if found is None or found.ended_by is not None or status.is_over:
        return ""
    count = plural(found.sealed, "contribution")
    return f"independent first round: {count} sealed until v1"


_SETTLED_BY = {"contributed": "a delta", "completed": "completing", "cancelled": "cancelling"}


def describe_settled(status: SessionStatus) -> str:
    """Return which ACKs settled without an ACK message since the latest version, and how (R24).

    That is: `kickoff 1 by a delta (RedSky, message 5); 2 ACKs by completing (message 9)`.
    """
    since = status.version.message_id if status.version else 0
    groups: dict[tuple[str, int], list[SettledAck]] = {}
    for each in status.settled:
        if each.by >= since:
            groups.setdefault((each.how, each.by), []).append(each)
    return "; ".join(
        _settled_text(how, by, found) for (how, by), found in list(groups.items())[-_MOST_SETTLED:]
    )


def _settled_text(how: str, by: int, found: Sequence[SettledAck]) -> str:
    place, first = f"message {by}", found[0]
    if how == "contributed":
        place = f"{escape_control(first.debtor, _MOST_ABOUT)}, {place}"
    what = f"{first.type or 'message'} {first.message_id}"
    if len(found) > 1:
        what = plural(len(found), "ACK")
    return f"{what} by {_SETTLED_BY[how]} ({place})"


# What needs attention, worst first


_MOST_SETTLED = 6
_MOST_NAMES = 3
_MOST_ABOUT = 60


class Attention(NamedTuple):
    """Something that needs attention.

    `kind` is a stable word, `text` a sentence without a full stop, with the text of agents escaped.
    `messages` and `items` are those that it is about.
    """

    kind: str
    text: str
    messages: tuple[int, ...] = ()
    items: tuple[str, ...] = ()


# Kinds that a complete session does not show: nobody has to do anything about them any more
_SETTLED_BY_THE_END = ("refused", "unanswered", "conflict", "third_alternative")


def attention(status: SessionStatus, now: datetime, deadline: timedelta) -> tuple[Attention, ...]:
    """Return everything that waits for the operator, or for an agent to remind, worst first.

    Requests to the operator come before requests between agents; both have the same kind. A
    cancelled session needs nobody. A complete one needs only answers to what came after its end.
    """
    if status.phase is Phase.CANCELLED:
        return ()
    blocked, others_blocked = _split_by_addressee(status, BLOCKED.name)
    asked, others_asked = _split_by_addressee(status, QUESTION.name)
    requests = (
        ("blocked", blocked, "is blocked", "are blocked"),
        ("question", asked, "asks", "have questions"),
        ("blocked", others_blocked, "is blocked and asks {}", "are blocked and ask {}"),
        ("question", others_asked, "asks {}", "have questions for {}"),
    )
    candidates = (
        Attention("stopped", _compile_blocker_text(status), _compile_blocker_ids(status)),
        *(
            Attention(kind, _senders_text(found, one, several), _message_ids(found))
            for kind, found, one, several in requests
        ),
        Attention("overdue", _overdue_text(status, now, deadline)),
        Attention("refused", _refused_text(status)),
        Attention(
            "misplaced",
            _misplaced_text(status),
            tuple(dict.fromkeys(each.message_id for each in status.needed_misplaced)),
        ),
        Attention(
            "unanswered",
            _unanswered_text(status),
            tuple(dict.fromkeys(each.message_id for each in status.unanswered)),
            tuple(dict.fromkeys(each.item for each in status.unanswered)),
        ),
        Attention(
            "conflict",
            _conflicts_text(status),
            items=tuple(dict.fromkeys(each.item for each in status.conflicts)),
        ),
        Attention("no_kickoff", _no_kickoff_text(status)),
        Attention("ready", _ready_text(status)),
        Attention("late", _late_text(status)),
        Attention("handoff", _handoffs_text(status), _message_ids(status.of_type(HANDOFF.name))),
        Attention(
            "critique",
            _critiques_text(status),
            _message_ids(status.of_type(CRITIQUE.name)),
            () if status.is_over else tuple(each.item for each in status.critiques),
        ),
        Attention("third_alternative", _third_alternative_text(status)),
    )
    settled = _SETTLED_BY_THE_END if status.is_over else ()
    return tuple(each for each in candidates if each.text and each.kind not in settled)


def _message_ids(found: Iterable[OpenMessage]) -> tuple[int, ...]:
    return tuple(each.message_id for each in found)


def _compile_blocker_ids(status: SessionStatus) -> tuple[int, ...]:
    found = status.compile_blocker.message_id if status.compile_blocker else None
    return (found,) if found else ()


def _compile_blocker_text(status: SessionStatus) -> str:
    blocker = status.compile_blocker
    if blocker is None:
        return ""
    why = _lower_first(blocker.code.title)
    return f"Cannot compile because of message {blocker.message_id}: {why}"


def _split_by_addressee(
    status: SessionStatus, name: str
) -> tuple[list[OpenMessage], list[OpenMessage]]:
    """Split the open messages of a type: for the operator or any agent, then the others."""
    parts: tuple[list[OpenMessage], list[OpenMessage]] = ([], [])
    for each in status.of_type(name):
        is_for_others = bool(each.waiting_for) and status.operator not in each.waiting_for
        parts[is_for_others].append(each)
    return parts


def _senders_text(found: Sequence[OpenMessage], one: str, several: str) -> str:
    """Quote a single message; of several, name the senders. `{}` is replaced by the addressees."""
    if not found:
        return ""
    names = list(dict.fromkeys(each.sender for each in found))
    whom = _join_names(dict.fromkeys(name for each in found for name in each.waiting_for))
    if len(found) == 1:
        about = escape_control(" ".join(found[0].about.split()), _MOST_ABOUT)
        return f"{_join_names(names)} {one.format(whom)}: {about}"
    if len(names) == 1:
        return f"{_join_names(names)} {one.format(whom)}, in {len(found)} messages"
    return f"{_join_names(names)} {several.format(whom)}"


def _overdue_text(status: SessionStatus, now: datetime, deadline: timedelta) -> str:
    """Return `Waiting for 2 overdue acknowledgements from 2 agents, the oldest for 28 h`.

    The time is counted from the last sending.
    """
    late = status.overdue(now, deadline)
    if not late:
        return ""
    names = list(dict.fromkeys(each.debtor for each in late))
    who = _join_names(names) if len(names) == 1 else f"{len(names)} agents"
    what = plural(len(late), "overdue acknowledgement")
    since = duration_text(now - min(each.last_sent for each in late))
    return f"Waiting for {what} from {who}, {'' if len(late) == 1 else 'the oldest '}for {since}"


def _refused_text(status: SessionStatus) -> str:
    found = status.refusals
    if not found:
        return ""
    names = _join_names(dict.fromkeys(each.agent for each in found))
    them = "it" if len(found) == 1 else "them"
    blocks = plural(len(found), "rejected block")
    return f"{blocks}: {names} can correct {them}, or you can dismiss {them}"


def _misplaced_text(status: SessionStatus) -> str:
    found = status.needed_misplaced
    if not found:
        return ""
    names = _join_names(dict.fromkeys(each.agent for each in found))
    blocks = plural(len(found), "delta block")
    numbers = [str(each) for each in dict.fromkeys(each.message_id for each in found)]
    where = f"message{'s' * (len(numbers) > 1)} {_join_names(numbers)}"
    is_one = len(found) == 1
    return (
        f"{blocks} in {where} {'is' if is_one else 'are'} in no DELTA and will not be compiled: "
        f"{names} can send {'it' if is_one else 'them'} as a DELTA, or you can dismiss "
        f"{'it' if is_one else 'them'}"
    )


def _unanswered_text(status: SessionStatus) -> str:
    """Return what results and false assumptions ask, and who can answer (R28)."""
    found = status.unanswered
    if not found:
        return ""
    facts = [each.fact for each in found[:_MOST_NAMES]]
    facts += [f"{len(found) - _MOST_NAMES} more"] if len(found) > _MOST_NAMES else []
    names = _join_names(dict.fromkeys(each.agent or status.operator for each in found))
    it = "it" if len(found) == 1 else "them"
    return f"{'; '.join(facts)}: waiting for an answer from {names}, or you can dismiss {it}"


def _conflicts_text(status: SessionStatus) -> str:
    found = status.conflicts
    if not found:
        return ""
    names = _join_names(f"{each.item} {each.field}" for each in found)
    which = "one value" if len(found) == 1 else "a value for each"
    are = "is" if len(found) == 1 else "are"
    return (
        f"{plural(len(found), 'conflict')} {are} open: {names}. Choose {which}, or ask the authors"
    )


def _third_alternative_text(status: SessionStatus) -> str:
    """Return what is missing between rounds: before that, a delta may still bring it."""
    if not status.lacks_third_alternative or status.phase is not Phase.IN_CRITIQUE:
        return ""
    return "No hypothesis is a third alternative: ask for one in the next round"


def _no_kickoff_text(status: SessionStatus) -> str:
    """Describe the contributions to a thread that is no session: its ID may be mistyped (R23)."""
    if status.phase is not None or not status.unread:
        return ""
    deltas = plural(status.unread, "delta")
    return f"{deltas} in a thread without a kickoff: the thread ID may be mistyped"


def _ready_text(status: SessionStatus) -> str:
    if status.phase is not Phase.READY_TO_COMPILE:
        return ""
    blocks = plural(status.applies, "block")
    number = status.version.number + 1 if status.version else 1
    how = " with `--reopen`" if status.is_closed else ""
    return f"v{number} is ready to compile{how}: {blocks} would apply"


def _late_text(status: SessionStatus) -> str:
    if status.phase is not Phase.COMPLETE or not status.applies:
        return ""
    blocks = plural(status.applies, "block")
    return f"{blocks} arrived after the session was completed and would apply"


def _handoffs_text(status: SessionStatus) -> str:
    found = status.of_type(HANDOFF.name)
    if not found:
        return ""
    to = dict.fromkeys(name for each in found for name in each.waiting_for)
    waits = "waits" if len(found) == 1 else "wait"
    return f"{plural(len(found), 'handoff')} {waits} for {_join_names(to) or 'an agent'}"


def _critiques_text(status: SessionStatus) -> str:
    messages = status.of_type(CRITIQUE.name)
    ids = [] if status.is_over else [each.item for each in status.critiques]
    found = [*ids, *messages]
    if not found:
        return ""
    parts = [*([_join_names(ids)] if ids else ()), *_message_numbers(messages)]
    return f"{plural(len(found), 'critique')} {'is' if len(found) == 1 else 'are'} open: " + (
        ", ".join(parts)
    )


def _message_numbers(messages: Sequence[OpenMessage]) -> Iterator[str]:
    if len(messages) > _MOST_NAMES:
        yield f"{len(messages)} messages"
    elif messages:
        numbers = [str(each.message_id) for each in messages]
        yield f"message{'s' * (len(numbers) > 1)} {_join_names(numbers)}"


def _join_names(names: Iterable[str]) -> str:
    shown = [escape_control(name, _MOST_ABOUT) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _lower_first(title: str) -> str:
    return title[:1].lower() + title[1:]


# The next step, as one sentence with a command to copy


# Their authors cannot continue, so these come before everything else.
_URGENT_TYPES = (BLOCKED.name, QUESTION.name)


class StatusReader(NamedTuple):
    """The actor that reads the status, and when. Agents cannot do all that the operator can."""

    actor: str
    operator: str
    now: datetime
    deadline: timedelta

    @property
    def is_operator(self) -> bool:
        return self.actor == self.operator


# What a step does, for front ends that offer more than commands
StepAction: TypeAlias = Literal[
    "verify", "acknowledge", "compile", "ask_again", "write", "read", "round", "complete", "watch"
]


class NextStep(NamedTuple):
    """A reason, and a command that can be pasted into a shell.

    `instead` is an alternative, as text and command; `or_does` is its action. `purpose` is the
    reason without a command, if `words` contains one. `message_id` is the message that the step is
    about.
    """

    words: str
    command: str
    instead: tuple[str, str] | None = None
    does: StepAction = "read"
    purpose: str = ""
    message_id: int | None = None
    or_does: StepAction | None = None


def next_step(
    status: SessionStatus, reader: StatusReader, notified: Collection[int] = ()
) -> NextStep:
    """Return the step that moves the session forward, as far as the reader can take it.

    `notified` are the messages whose authors have got a reply about their rejected blocks.
    """
    return next(_steps(status, reader, notified))


def _steps(
    status: SessionStatus, reader: StatusReader, notified: Collection[int]
) -> Iterator[NextStep]:
    """Yield the possible steps, the most urgent first; the last one is always possible."""
    thread = thread_argument(status.thread_id)
    if status.phase is Phase.CANCELLED:
        yield from _cancelled_steps(status, reader, thread)
        return
    own = _by_urgency(each for each in status.open_acks if each.debtor == reader.actor)
    if status.compile_blocker and reader.is_operator:
        words = "find out why compiling fails"
        yield NextStep(words, f"brenner artifact verify {thread}", does="verify")
    if own and own[0].type in _URGENT_TYPES:
        yield _acknowledge_step(own[0], reader)
    yield from _operator_steps(status, reader, notified) if reader.is_operator else ()
    yield from _own_steps(status, reader, own)
    yield from _between_round_steps(status, reader, thread)
    yield from _resend_steps(status, reader) if reader.is_operator else ()
    if status.phase is None:
        yield NextStep("read it", f"brenner mail thread {thread}")
    yield NextStep("follow it live", f"brenner session watch {thread}", does="watch")


def _cancelled_steps(
    status: SessionStatus, reader: StatusReader, thread: str
) -> Iterator[NextStep]:
    """Yield nothing to do, and for the operator how to reopen the session."""
    again = ("or reopen it", status.reopen_command)
    is_again = reader.is_operator and bool(status.reopen_command)
    is_round = is_again and status.reopen_command.startswith("brenner session round")
    yield NextStep(
        "nothing, the session is cancelled; read it",
        f"brenner mail thread {thread}",
        again if is_again else None,
        or_does="round" if is_round else None,
        purpose="read it",
    )


def _by_urgency(owed: Iterable[OpenAck]) -> list[OpenAck]:
    """Sort owed ACKs by urgency. The newest kickoff comes first: it has the current request."""
    ranked: dict[str, list[OpenAck]] = {name: [] for name in (*_URGENT_TYPES, KICKOFF.name, "")}
    for each in sorted(owed, key=lambda each: (each.since, each.message_id)):
        ranked.get(each.type or "", ranked[""]).append(each)
    ranked[KICKOFF.name].reverse()
    return [each for some in ranked.values() for each in some]


def _acknowledge_step(owed: OpenAck, reader: StatusReader) -> NextStep:
    """Return the step to acknowledge a message.

    For urgent types `--notes` has a placeholder for the answer, which is rejected unless replaced.
    """
    what = f"the {owed.type or 'message'} from {escape_control(owed.sender)}"
    actor = as_option(reader.actor, reader.operator)
    is_urgent = owed.type in _URGENT_TYPES
    verb = "answer" if is_urgent else "acknowledge"
    words = f"read {what} with `brenner mail show {owed.last_message_id}`, then {verb} it"
    answer = f" --notes {quote(placeholder('your answer'))}" * is_urgent
    return NextStep(
        words,
        f"brenner mail ack {owed.last_message_id}{actor}{answer}",
        does="acknowledge",
        purpose=f"{verb} {what}",
        message_id=owed.last_message_id,
    )


def _operator_steps(
    status: SessionStatus, reader: StatusReader, notified: Collection[int]
) -> Iterator[NextStep]:
    """Yield what only the operator does: compile, resend, notify authors of rejected blocks."""
    thread = thread_argument(status.thread_id)
    number = status.version.number if status.version else 0
    is_refused = any(each.version is None for each in (*status.refusals, *status.misplaced))
    if status.phase is Phase.READY_TO_COMPILE:
        words = f"publish v{number + 1} ({plural(status.applies, 'block')} would apply)"
        options = " --reopen" * status.is_closed + " --notify" * is_refused
        yield NextStep(words, f"brenner compile{options} {thread}", does="compile")
    awaited = {each.name for each in status.awaited}
    is_held_up = (
        status.phase is Phase.AWAITING_ACKS or awaited & _overdue_debtors(status, reader).keys()
    )
    yield from _resend_steps(status, reader) if is_held_up else ()
    to_correct = {each.name for each in status.awaited if each.turn is Turn.TO_CORRECT}
    new = [
        each for each in status.refusals if each.version is None and each.message_id not in notified
    ]
    names = dict.fromkeys(each.agent for each in new if each.agent in to_correct)
    if not status.is_over:
        lost = (each for each in status.misplaced if each.message_id not in notified)
        names |= dict.fromkeys(each.agent for each in lost if each.agent != reader.actor)
    if names and not status.applies:  # else a version would be published
        why = "the reasons for the rejected blocks" if new else "a note on the blocks in no DELTA"
        words = f"send {joined(names)} {why}"
        yield NextStep(words, f"brenner compile --notify {thread}", does="compile")


def _resend_steps(status: SessionStatus, reader: StatusReader) -> Iterator[NextStep]:
    """Yield the step to resend messages whose ACK is overdue."""
    if debtors := _overdue_debtors(status, reader):
        command = f"brenner mail pending --resend --thread {_option_value(status.thread_id)}"
        yield NextStep(f"remind {joined(debtors)}", command, does="ask_again")


def _overdue_debtors(status: SessionStatus, reader: StatusReader) -> dict[str, None]:
    late = status.overdue(reader.now, reader.deadline)
    return dict.fromkeys(each.debtor for each in late if each.debtor != reader.actor)


def _option_value(text: str) -> str:
    """Quote a text as the value of an option, never truncated: a valid ID may be long."""
    return quote(escape_control(text, len(text) + 1))


def _own_steps(
    status: SessionStatus, reader: StatusReader, owed: Sequence[OpenAck]
) -> Iterator[NextStep]:
    """Yield what each agent does for itself: acknowledge, correct, contribute."""
    participant = next((each for each in status.participants if each.name == reader.actor), None)
    for_kickoff = [
        each
        for each in owed
        if participant and participant.kickoff in (each.message_id, each.last_message_id)
    ]
    yield from (_acknowledge_step(each, reader) for each in for_kickoff)
    actor, thread = _option_value(reader.actor), _option_value(status.thread_id)
    to = _option_value(reader.operator)
    command = f"brenner new DELTA --as {actor} --to {to} --thread {thread} > message.md"
    open_blocks = (*(() if status.is_over else status.refusals), *status.needed_misplaced)
    refused = [each for each in open_blocks if each.agent == reader.actor]
    if refused:
        words = f"{_correction_text(refused)}, then `brenner mail send message.md`"
        first = refused[0]
        aim = f"correct block {first.block} of message {first.message_id}"
        yield NextStep(words, command, does="write", purpose=aim, message_id=first.message_id)
    asked = [each for each in status.unanswered if each.agent == reader.actor]
    if asked and not status.is_over:
        more = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
        words = f"{asked[0].request}{more}, then `brenner mail send message.md`"
        aim = f"answer: {asked[0].fact}"
        yield NextStep(words, command, does="write", purpose=aim, message_id=asked[0].message_id)
    yield from (_acknowledge_step(each, reader) for each in owed)
    if participant and participant.is_awaited:
        words = "write your delta, then `brenner mail send message.md`"
        yield NextStep(words, command, does="write", purpose="write your delta")


def _correction_text(refused: Sequence[RefusedBlock]) -> str:
    """Return `correct block 2 of message 5 (CODE: …; `brenner mail show 5`) and 1 more`."""
    first = refused[0]
    found = min(first.diagnostics, key=worst_first, default=None)
    why = f"{found.id}: {_lower_first(found.code.title)}; " if found else ""
    more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
    where = f"`brenner mail show {first.message_id}`"
    return f"correct block {first.block} of message {first.message_id} ({why}{where}){more}"


def _between_round_steps(
    status: SessionStatus, reader: StatusReader, thread: str
) -> Iterator[NextStep]:
    if status.phase is Phase.COMPLETE:
        is_late = status.applies and reader.is_operator
        words = f"or reopen the session ({plural(status.applies, 'block')} arrived after its end)"
        yield NextStep(
            "read the final version",
            f"brenner artifact show {thread}",
            (words, f"brenner compile --reopen {thread}") if is_late else None,
            or_does="compile" if is_late else None,
        )
    if status.phase is not Phase.IN_CRITIQUE or not reader.is_operator:
        return
    if status.is_closed:
        words = f"start another round (v{status.round - 1} is final until a delta arrives)"
        yield NextStep(words, f"brenner session round --reopen {thread}", does="round")
    else:
        end = ("or end the session", f"brenner session complete {thread}")
        if status.unanswered:
            words = "or end the session without an answer"
            end = (words, f"brenner session complete --anyway {thread}")
        yield NextStep(
            f"start round {status.round}",
            f"brenner session round {thread}",
            end,
            does="round",
            or_does="complete",
        )
