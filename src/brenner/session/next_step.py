"""What to do next about a session, in one sentence with the command to copy."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from shlex import quote
from typing import NamedTuple

from brenner.diagnostics.model import worst_first
from brenner.protocol.message_types import BLOCKED, KICKOFF, QUESTION, placeholder
from brenner.session.status import OpenAck, Phase, Refusal, SessionStatus, Turn
from brenner.text import as_option, counted, joined, thread_argument, visible

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
    what = f"the {owed.type or 'message'} of {visible(owed.sender)}"
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
    return quote(visible(text, len(text) + 1))


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
