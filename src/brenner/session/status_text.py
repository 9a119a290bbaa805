"""The phase of a round and an agent's turn in it, in words: the same on every front end."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from shlex import quote
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from brenner.diagnostics.model import worst_first
from brenner.protocol.message_types import (
    BLOCKED,
    CRITIQUE,
    HANDOFF,
    KICKOFF,
    QUESTION,
    placeholder,
)
from brenner.protocol.messages import span
from brenner.session.model import (
    OpenAck,
    OpenMessage,
    Participant,
    Phase,
    Refusal,
    SessionStatus,
    Turn,
)
from brenner.text import as_option, counted, escape_control, joined, thread_argument

PHASE_WORDS: dict[Phase | None, str] = {
    Phase.AWAITING_ACKS: "awaiting ACKs",
    Phase.AWAITING_DELTAS: "awaiting deltas",
    Phase.READY_TO_COMPILE: "ready to compile",
    Phase.IN_CRITIQUE: "in critique",
    Phase.COMPLETE: "complete",
    None: "conversation",
}
_MOST_ASIDES = 2
# What needs somebody, what was done, what was done with faults, what is of no account now
Weight: TypeAlias = Literal["attention", "strong", "plain", "quiet"]


class TurnWords(NamedTuple):
    """What she has to do or has done, how much that weighs, and what she wrote instead."""

    text: str
    weight: Weight
    aside: str = ""


_TURNS = MappingProxyType(
    {
        Turn.OWES_DELTA: TurnWords("owes a delta", "attention"),
        Turn.PASSED: TurnWords("passed", "quiet"),
    }
)


def turn_words(each: Participant, status: SessionStatus, now: datetime) -> TurnWords:
    """An agent's turn in the current round."""
    words = _turn(each, status, now)
    if not each.asides or each.turn is Turn.NOT_ASKED:
        return words
    ids = ", ".join(map(str, each.asides))
    wrote = ids if len(each.asides) <= _MOST_ASIDES else f"{len(each.asides)} other messages"
    return words._replace(aside=f"; wrote {wrote}")


def _turn(each: Participant, status: SessionStatus, now: datetime) -> TurnWords:
    if each.turn is Turn.OWES_ACK:
        owed = _owed(each, status.open_acks)
        since = f", {span(now - owed.last_sent)}" if owed else ""
        return TurnWords(f"owes an ACK{since}", "attention")
    if each.turn is Turn.NOT_ASKED:
        return TurnWords(_not_asked(each), "quiet")
    if each.turn is Turn.TO_CORRECT:
        return TurnWords(f"{_deltas(each)}, to correct", "attention")
    if each.turn is Turn.CONTRIBUTED:
        return TurnWords(_deltas(each), "plain" if each.refused else "strong")
    return _TURNS[each.turn]


def _owed(each: Participant, open_acks: tuple[OpenAck, ...]) -> OpenAck | None:
    """The ACK of the kickoff that asked her, of whichever copy."""
    return next(
        (
            ack
            for ack in open_acks
            if ack.debtor == each.name and each.kickoff in (ack.message_id, ack.last_message_id)
        ),
        next((ack for ack in open_acks if ack.debtor == each.name), None),
    )


def _not_asked(each: Participant) -> str:
    if each.deltas:
        return _deltas(each)
    return "not asked" if each.is_in_roster else "not in the roster"


def _deltas(each: Participant) -> str:
    """`2 deltas: 5 applied, 1 refused`; what is zero is left out."""
    counts = {"applied": each.applied, "refused": each.refused, "duplicate": each.duplicate}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"{counted(each.deltas, 'delta')}: {told or 'no block in it'}"


def since_words(status: SessionStatus) -> tuple[str, str] | None:
    """What has come in that no version has read, and what would become of it."""
    if not status.unread:
        return None
    count = counted(status.unread, "delta has", "deltas have")
    applies = counted(status.applies, "block would apply", "blocks would apply")
    since = " since" if status.version else ""
    return f"{count} arrived{since}", applies if status.applies else "no block of it would apply"


# What needs the operator, in words, worst first: the same words on every front end.


_MOST_NAMES = 3
_MOST_ABOUT = 60


class Attention(NamedTuple):
    """One thing. `kind` is a stable word; `text` a short sentence without a full stop.

    What others wrote is safe to show in it. `messages` and `items` are those that it is about.
    """

    kind: str
    text: str
    messages: tuple[int, ...] = ()
    items: tuple[str, ...] = ()


def attention(status: SessionStatus, now: datetime, deadline: timedelta) -> tuple[Attention, ...]:
    """Everything that waits for the operator, or for somebody whom she may have to remind.

    What is asked of her comes before what agents ask each other; both are of the same kind.
    """
    blocked, others_blocked = _parted(status, BLOCKED.name)
    asked, others_asked = _parted(status, QUESTION.name)
    blocks, block = "are blocked and ask {}", "is blocked and asks {}"
    critiques = _ids(status.of_type(CRITIQUE.name)), tuple(each.item for each in status.critiques)
    said = (
        Attention("stopped", _stopped(status), _stopped_by(status)),
        Attention("blocked", _told(blocked, "is blocked", "are blocked"), _ids(blocked)),
        Attention("question", _told(asked, "asks", "have questions"), _ids(asked)),
        Attention("blocked", _told(others_blocked, block, blocks), _ids(others_blocked)),
        Attention(
            "question", _told(others_asked, "asks {}", "have questions for {}"), _ids(others_asked)
        ),
        Attention("overdue", _overdue(status, now, deadline)),
        Attention("refused", _refused(status)),
        Attention("ready", _ready(status)),
        Attention("late", _late(status)),
        Attention("handoff", _handoffs(status), _ids(status.of_type(HANDOFF.name))),
        Attention("critique", _critiques(status), *critiques),
    )
    return tuple(each for each in said if each.text)


def _ids(found: Iterable[OpenMessage]) -> tuple[int, ...]:
    return tuple(each.message_id for each in found)


def _stopped_by(status: SessionStatus) -> tuple[int, ...]:
    found = status.stopped.message_id if status.stopped else None
    return (found,) if found else ()


def _stopped(status: SessionStatus) -> str:
    stopped = status.stopped
    if stopped is None:
        return ""
    title = stopped.code.title
    return f"Nothing can be compiled, because of message {stopped.message_id}: {_lower(title)}"


def _parted(status: SessionStatus, name: str) -> tuple[list[OpenMessage], list[OpenMessage]]:
    """The open messages of a type that wait for the operator, or for anybody; then the others."""
    parts: tuple[list[OpenMessage], list[OpenMessage]] = ([], [])
    for each in status.of_type(name):
        is_for_others = bool(each.waiting_for) and status.operator not in each.waiting_for
        parts[is_for_others].append(each)
    return parts


def _told(found: Sequence[OpenMessage], one: str, several: str) -> str:
    """Of one message what it says; of several who wrote them. `{}` is for whom they wait."""
    if not found:
        return ""
    names = list(dict.fromkeys(each.sender for each in found))
    whom = _names(dict.fromkeys(name for each in found for name in each.waiting_for))
    if len(found) == 1:
        return f"{_names(names)} {one.format(whom)}: {_words(found[0].about)}"
    if len(names) == 1:
        return f"{_names(names)} {one.format(whom)}, in {len(found)} messages"
    return f"{_names(names)} {several.format(whom)}"


def _overdue(status: SessionStatus, now: datetime, deadline: timedelta) -> str:
    """`2 agents owe an overdue ACK, the oldest for 28 h`: since it was last sent."""
    late = status.overdue(now, deadline)
    if not late:
        return ""
    names = list(dict.fromkeys(each.debtor for each in late))
    who = f"{_names(names)} owes" if len(names) == 1 else f"{len(names)} agents owe"
    what = "an overdue ACK" if len(late) == len(names) else f"{len(late)} overdue ACKs"
    since = span(now - min(each.last_sent for each in late))
    return f"{who} {what}, {'' if len(late) == 1 else 'the oldest '}for {since}"


def _refused(status: SessionStatus) -> str:
    found = status.refusals
    if not found:
        return ""
    names = _names(dict.fromkeys(each.agent for each in found))
    them = "it" if len(found) == 1 else "them"
    blocks = counted(len(found), "refused block")
    return f"{blocks}: {names} can correct {them}, or you dismiss {them}"


def _ready(status: SessionStatus) -> str:
    if status.phase is not Phase.READY_TO_COMPILE:
        return ""
    blocks = "1 block" if status.applies == 1 else f"{status.applies} blocks"
    number = status.version.number + 1 if status.version else 1
    how = " with `--reopen`" if status.is_closed else ""
    return f"v{number} is ready to compile{how}, {blocks} would be applied"


def _late(status: SessionStatus) -> str:
    if status.phase is not Phase.COMPLETE or not status.applies:
        return ""
    blocks = "1 block" if status.applies == 1 else f"{status.applies} blocks"
    return f"{blocks} came in after the end and would be applied"


def _handoffs(status: SessionStatus) -> str:
    found = status.of_type(HANDOFF.name)
    if not found:
        return ""
    to = dict.fromkeys(name for each in found for name in each.waiting_for)
    waits = "waits" if len(found) == 1 else "wait"
    return f"{counted(len(found), 'handoff')} {waits} for {_names(to) or 'somebody'}"


def _critiques(status: SessionStatus) -> str:
    messages = status.of_type(CRITIQUE.name)
    ids = [each.item for each in status.critiques]
    found = [*ids, *messages]
    if not found:
        return ""
    parts = [*([_names(ids)] if ids else ()), *_numbered(messages)]
    return f"{counted(len(found), 'critique')} {'is' if len(found) == 1 else 'are'} open: " + (
        ", ".join(parts)
    )


def _numbered(messages: Sequence[OpenMessage]) -> Iterator[str]:
    if len(messages) > _MOST_NAMES:
        yield f"{len(messages)} messages"
    elif messages:
        numbers = [str(each.message_id) for each in messages]
        yield f"message{'s' * (len(numbers) > 1)} {_names(numbers)}"


def _names(names: Iterable[str]) -> str:
    shown = [escape_control(name, _MOST_ABOUT) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _words(text: str) -> str:
    return escape_control(" ".join(text.split()), _MOST_ABOUT)


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


# What to do next about a session, in one sentence with the command to copy.


__all__ = ["Does", "Reader", "Step", "next_step"]
# What keeps its author from working comes before everything that the operator can do herself
_PRESSING = (BLOCKED.name, QUESTION.name)


class Reader(NamedTuple):
    """Who looks at the status, and when. Agents look too, and cannot do what the operator can."""

    actor: str
    operator: str
    now: datetime
    deadline: timedelta

    @property
    def is_operator(self) -> bool:
        """Whether it is the operator who looks."""
        return self.actor == self.operator


class Does(StrEnum):
    """What a step does, for front ends that have other ways than commands."""

    VERIFY = "verify"
    ACKNOWLEDGE = "acknowledge"
    COMPILE = "compile"
    ASK_AGAIN = "ask_again"
    WRITE = "write"
    READ = "read"
    ROUND = "round"
    COMPLETE = "complete"
    WATCH = "watch"


class Step(NamedTuple):
    """Why, and the command; it works when it is pasted into a shell.

    `instead` is another way on, where the reader has to choose: the words, and its command; what
    it does is `or_does`. `aim` is why without any command in it, where the words have one;
    `message_id` the message that it is about.
    """

    words: str
    command: str
    instead: tuple[str, str] | None = None
    does: Does = Does.READ
    aim: str = ""
    message_id: int | None = None
    or_does: Does | None = None


def next_step(status: SessionStatus, reader: Reader, told: Collection[int] = ()) -> Step:
    """The one thing that brings the session on, as far as the reader can do it.

    `told` are the messages whose authors have been mailed what is refused in them.
    """
    return next(_steps(status, reader, told))


def _steps(status: SessionStatus, reader: Reader, told: Collection[int]) -> Iterator[Step]:
    """What there is to do, the first thing first; the last one is always there."""
    thread = thread_argument(status.thread_id)
    own = _pressing_first(each for each in status.open_acks if each.debtor == reader.actor)
    if status.stopped and reader.is_operator:
        words = "see why nothing can be compiled"
        yield Step(words, f"brenner artifact verify {thread}", does=Does.VERIFY)
    if own and own[0].type in _PRESSING:
        yield _acknowledge(own[0], reader)
    yield from _operators(status, reader, told) if reader.is_operator else ()
    yield from _own(status, reader, own)
    yield from _between_rounds(status, reader, thread)
    yield from _asking_again(status, reader) if reader.is_operator else ()
    if status.phase is None:
        yield Step("read it", f"brenner mail thread {thread}")
    yield Step("follow it live", f"brenner session watch {thread}", does=Does.WATCH)


def _pressing_first(owed: Iterable[OpenAck]) -> list[OpenAck]:
    """Of kickoffs the newest comes first: it says what is asked now."""
    ranked: dict[str, list[OpenAck]] = {name: [] for name in (*_PRESSING, KICKOFF.name, "")}
    for each in sorted(owed, key=lambda each: (each.since, each.message_id)):
        ranked.get(each.type or "", ranked[""]).append(each)
    ranked[KICKOFF.name].reverse()
    return [each for some in ranked.values() for each in some]


def _acknowledge(owed: OpenAck, reader: Reader) -> Step:
    """What asks for an answer is not to be closed without one: the form alone is refused."""
    what = f"the {owed.type or 'message'} of {escape_control(owed.sender)}"
    actor = as_option(reader.actor, reader.operator)
    words = f"answer {what}, `brenner mail show {owed.last_message_id}`, then"
    answer = f" --notes {quote(placeholder('your answer'))}" * (owed.type in _PRESSING)
    return Step(
        words,
        f"brenner mail ack {owed.last_message_id}{actor}{answer}",
        does=Does.ACKNOWLEDGE,
        aim=f"answer {what}",
        message_id=owed.last_message_id,
    )


def _operators(status: SessionStatus, reader: Reader, told: Collection[int]) -> Iterator[Step]:
    """What only the operator does: compile, send again, tell who is to correct something."""
    thread = thread_argument(status.thread_id)
    number = status.version.number if status.version else 0
    is_refused = any(each.version is None for each in status.refusals)
    if status.phase is Phase.READY_TO_COMPILE:
        words = f"publish v{number + 1}; {counted(status.applies, 'block')} would be applied"
        options = " --reopen" * status.is_closed + " --notify" * is_refused
        yield Step(words, f"brenner compile{options} {thread}", does=Does.COMPILE)
    awaited = {each.name for each in status.awaited}
    is_held_up = status.phase is Phase.AWAITING_ACKS or awaited & _debtors(status, reader).keys()
    yield from _asking_again(status, reader) if is_held_up else ()
    to_correct = {each.name for each in status.awaited if each.turn is Turn.TO_CORRECT}
    new = [each for each in status.refusals if each.version is None and each.message_id not in told]
    names = dict.fromkeys(each.agent for each in new if each.agent in to_correct)
    if names and not status.applies:  # else a version would be published
        words = f"mail {joined(names)} what is refused"
        yield Step(words, f"brenner compile --notify {thread}", does=Does.COMPILE)


def _asking_again(status: SessionStatus, reader: Reader) -> Iterator[Step]:
    """An ACK that nothing waits for is asked for when there is nothing better to do."""
    if debtors := _debtors(status, reader):
        command = f"brenner mail pending --resend --thread {_option_value(status.thread_id)}"
        yield Step(f"ask {joined(debtors)} again", command, does=Does.ASK_AGAIN)


def _debtors(status: SessionStatus, reader: Reader) -> dict[str, None]:
    late = status.overdue(reader.now, reader.deadline)
    return dict.fromkeys(each.debtor for each in late if each.debtor != reader.actor)


def _option_value(text: str) -> str:
    """A text as one types it behind an option; a valid ID may be long, and is never cut."""
    return quote(escape_control(text, len(text) + 1))


def _own(status: SessionStatus, reader: Reader, owed: Sequence[OpenAck]) -> Iterator[Step]:
    """What everybody does for herself: say that she is there, correct, contribute."""
    me = next((each for each in status.participants if each.name == reader.actor), None)
    asked = [each for each in owed if me and me.kickoff in (each.message_id, each.last_message_id)]
    yield from (_acknowledge(each, reader) for each in asked)
    who, thread = _option_value(reader.actor), _option_value(status.thread_id)
    to = _option_value(reader.operator)
    command = f"brenner new DELTA --as {who} --to {to} --thread {thread} > message.md"
    refused = [each for each in status.refusals if each.agent == reader.actor]
    if refused:
        words = f"{_correct(refused)}; then `brenner mail send message.md`"
        place = refused[0]
        aim = f"correct block {place.block} of message {place.message_id}"
        yield Step(words, command, does=Does.WRITE, aim=aim, message_id=place.message_id)
    yield from (_acknowledge(each, reader) for each in owed)
    if me and me.is_awaited:
        words = "write your delta, then `brenner mail send message.md`"
        yield Step(words, command, does=Does.WRITE, aim="write your delta")


def _correct(refused: Sequence[Refusal]) -> str:
    """`correct block 2 of message 5 (INVALID_TARGET: …), `brenner mail show 5`, and 1 more`."""
    first = refused[0]
    found = min(first.diagnostics, key=worst_first, default=None)
    why = f" ({found.id}: {found.code.title[:1].lower()}{found.code.title[1:]})" if found else ""
    more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
    where = f"`brenner mail show {first.message_id}`"
    return f"correct block {first.block} of message {first.message_id}{why}, {where}{more}"


def _between_rounds(status: SessionStatus, reader: Reader, thread: str) -> Iterator[Step]:
    if status.phase is Phase.COMPLETE and status.applies and reader.is_operator:
        words = f"go on with it: {counted(status.applies, 'block')} came in after the end"
        yield Step(words, f"brenner compile --reopen {thread}", does=Does.COMPILE)
    if status.phase is Phase.COMPLETE:
        yield Step("read the last version", f"brenner artifact show {thread}")
    if status.phase is not Phase.IN_CRITIQUE or not reader.is_operator:
        return
    if status.is_closed:
        words = f"ask again; until something comes in, v{status.round - 1} is the last version"
        yield Step(words, f"brenner session round --reopen {thread}", does=Does.ROUND)
    else:
        end = ("or end the session", f"brenner session complete {thread}")
        yield Step(
            f"start round {status.round}",
            f"brenner session round {thread}",
            end,
            does=Does.ROUND,
            or_does=Does.COMPLETE,
        )
