"""What to do next about a session, in one sentence with the command to copy."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from shlex import quote
from typing import NamedTuple

from brenner.cli.sentences import as_option, joined, thread_argument
from brenner.cli.session.status_words import plural
from brenner.diagnostics.visible import visible
from brenner.session.status import OpenAck, Phase, SessionStatus, Turn
from brenner.thread.types import BLOCKED, QUESTION

__all__ = ["Reader", "Step", "next_step"]
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


class Step(NamedTuple):
    """Why, and the command; it works when it is pasted into a shell."""

    words: str
    command: str


def next_step(status: SessionStatus, reader: Reader) -> Step:
    """The one thing that brings the session on, as far as the reader can do it."""
    return next(_steps(status, reader))


def _steps(status: SessionStatus, reader: Reader) -> Iterator[Step]:
    """What there is to do, the first thing first; the last one is always there."""
    thread = thread_argument(status.thread_id)
    own = sorted((each for each in status.open_acks if each.debtor == reader.actor), key=_pressing)
    if status.stopped and reader.is_operator:
        yield Step("see why nothing can be compiled", f"brenner artifact verify {thread}")
    if own and own[0].type in _PRESSING:
        yield _acknowledge(own[0], reader)
    yield from _operators(status, reader, thread) if reader.is_operator else ()
    if own:
        yield _acknowledge(own[0], reader)
    yield from _own_delta(status, reader)
    yield from _between_rounds(status, reader, thread)
    if status.phase is None:
        yield Step("read it", f"brenner mail thread {thread}")
    yield Step("follow it live", f"brenner session watch {thread}")


def _pressing(each: OpenAck) -> tuple[int, datetime, int]:
    rank = _PRESSING.index(each.type) if each.type in _PRESSING else len(_PRESSING)
    return (rank, each.since, each.message_id)


def _acknowledge(owed: OpenAck, reader: Reader) -> Step:
    what = f"the {owed.type or 'message'} of {visible(owed.sender)}"
    actor = as_option(reader.actor, reader.operator)
    words = f"answer {what}, `brenner mail show {owed.last_message_id}`, then"
    return Step(words, f"brenner mail ack {owed.last_message_id}{actor}")


def _operators(status: SessionStatus, reader: Reader, thread: str) -> Iterator[Step]:
    """What only the operator does: compile, send again, tell who is to correct something."""
    number = status.version.number if status.version else 0
    is_refused = any(each.version is None for each in status.refusals)
    if status.phase is Phase.READY_TO_COMPILE:
        words = f"publish v{number + 1}; {plural(status.applies, 'block')} would be applied"
        options = " --reopen" * status.is_closed + " --notify" * is_refused
        yield Step(words, f"brenner compile{options} {thread}")
    late = status.overdue(reader.now, reader.deadline)
    debtors = dict.fromkeys(each.debtor for each in late if each.debtor != reader.actor)
    if debtors:
        command = f"brenner mail pending --resend --thread {_option_value(status.thread_id)}"
        yield Step(f"ask {joined(debtors)} again", command)
    to_correct = [each.name for each in status.awaited if each.turn is Turn.TO_CORRECT]
    if to_correct and is_refused and not status.applies:  # else a version would be published
        words = f"mail {joined(to_correct)} what is refused, if you have not yet"
        yield Step(words, f"brenner compile --notify {thread}")


def _option_value(text: str) -> str:
    """A text as one types it behind an option; a valid ID may be long, and is never cut."""
    return quote(visible(text, len(text) + 1))


def _own_delta(status: SessionStatus, reader: Reader) -> Iterator[Step]:
    """An agent's contribution."""
    turns = {each.name: each.turn for each in status.participants}
    if turns.get(reader.actor) in (Turn.OWES_DELTA, Turn.TO_CORRECT, Turn.OWES_ACK):
        who, thread = _option_value(reader.actor), _option_value(status.thread_id)
        to = _option_value(reader.operator)
        command = f"brenner new DELTA --as {who} --to {to} --thread {thread} > message.md"
        yield Step("write your delta, then `brenner mail send message.md`", command)


def _between_rounds(status: SessionStatus, reader: Reader, thread: str) -> Iterator[Step]:
    if status.phase is Phase.COMPLETE and status.applies and reader.is_operator:
        words = f"go on with it: {plural(status.applies, 'block')} came in after the end"
        yield Step(words, f"brenner compile --reopen {thread}")
    if status.phase is Phase.COMPLETE:
        yield Step("read the last version", f"brenner artifact show {thread}")
    if status.phase is not Phase.IN_CRITIQUE or not reader.is_operator:
        return
    if status.is_closed:
        words = f"ask again; until something comes in, v{status.round - 1} is the last version"
        yield Step(words, f"brenner session round --reopen {thread}")
    else:
        end = f"the end is `brenner session complete {thread}`"
        yield Step(f"start round {status.round}, or {end}", f"brenner session round {thread}")
