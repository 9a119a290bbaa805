"""Plays: sessions in which people do at random what they can do, step by step."""

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

from brenner.protocol.messages import Message
from sample_messages import THREAD_ID, kill
from status_sessions import AGENTS, ANN, BEA, ROSTER, Sitting, add, edit
from version_threads import OPERATOR


class Step(NamedTuple):
    """What somebody does; `which` chooses among what is there."""

    what: str
    who: str
    which: int


_BLOCKS = (
    *(add("Place"), add("Time"), add("Luck"), edit("H1", "one"), edit("H1", "two")),
    *(edit("H2", "one"), kill("hypothesis_slate", "H1"), edit("H9", "x"), edit("H1", " ")),
    *(add("Time", claim=" "), add("Place").replace("ADD", "add"), "```delta\n{\n```\n"),
)
_STATUSES = ("Received", "Will Action", "Completed", "completed.", "whatever", "")
TYPES = ("CRITIQUE: x", "BLOCKED: x", "QUESTION: x", "HANDOFF: x", "INFO: x", "Re: KICKOFF: x")
_WHAT = (
    *("kickoff", "kickoff", "later kickoff", "delta", "delta", "delta", "delta", "ack", "ack"),
    *("ack without a number", "reply", "again", "other", "other for nothing", "dismiss", "compile"),
    *("compile", "close"),
)
_who = st.sampled_from((*AGENTS, ANN, OPERATOR, "Stranger"))
steps = st.builds(Step, st.sampled_from(_WHAT), _who, st.integers(0, 99))
plays = st.lists(steps, min_size=1, max_size=14)


def play(sitting: Sitting, step: Step) -> None:
    """Do it, if it can be done."""
    _DEEDS[step.what](sitting, step)


def _people(which: int) -> tuple[str, ...]:
    return tuple(name for bit, name in enumerate((*AGENTS, OPERATOR)) if which & (1 << bit)) or (
        ANN,
        BEA,
    )


def _any_id(sitting: Sitting, which: int) -> int:
    """The number of a message of the thread, or none."""
    return 1 + which % (sitting.mailbox.thread(THREAD_ID, limit=1).position + 1)


def _kickoff(sitting: Sitting, step: Step) -> None:
    roster = ROSTER if step.which % 3 else None
    sitting.kickoff(*_people(step.which), roster=roster, ack=step.which != 7 or None)


def _later_kickoff(sitting: Sitting, step: Step) -> None:
    sitting.kickoff(*_people(step.which), words=f"This time {step.which}.")


def _delta(sitting: Sitting, step: Step) -> None:
    first, second = step.which % len(_BLOCKS), step.which % 7
    blocks = (_BLOCKS[first],) if step.which % 2 else (_BLOCKS[first], _BLOCKS[second])
    sitting.delta(step.who, *(blocks if step.which else ()))


def _ack(sitting: Sitting, step: Step) -> None:
    status = _STATUSES[step.which % len(_STATUSES)]
    sitting.ack(step.who, _any_id(sitting, step.which), status)


def _ack_without_a_number(sitting: Sitting, step: Step) -> None:
    sitting.ack(step.who, None, _STATUSES[step.which % len(_STATUSES)])


def _reply(sitting: Sitting, step: Step) -> None:
    messages = sitting.messages()
    if messages:
        to = messages[step.which % len(messages)].id
        body = "## Status\nReceived\n"
        sitting.post(Message(THREAD_ID, step.who, (OPERATOR, ANN), "ACK: x", body), reply_to=to)


def _again(sitting: Sitting, step: Step) -> None:
    messages = sitting.messages()
    if messages:
        stored = sitting.mailbox.message(messages[step.which % len(messages)].id)
        if not stored.message.subject.startswith("COMPILED"):
            sitting.again(stored, *(_people(step.which) if step.which % 2 else ()))


def _other(sitting: Sitting, step: Step) -> None:
    subject = TYPES[step.which % len(TYPES)]
    sitting.send(step.who, subject, add("Place"), _people(step.which))


def _other_for_nothing(sitting: Sitting, step: Step) -> None:
    subject = TYPES[step.which % len(TYPES)]
    sitting.send(step.who, subject, "x", _people(step.which), ack=bool(step.which % 5))


def _dismiss(sitting: Sitting, step: Step) -> None:
    messages = sitting.messages()
    if messages:
        stored = sitting.mailbox.message(messages[step.which % len(messages)].id)
        sitting.dismiss(stored, 1, sender=step.who)


def _compile(sitting: Sitting, _step: Step) -> None:
    sitting.compile()


def _close(sitting: Sitting, _step: Step) -> None:
    sitting.compile("closed")


_DEEDS: dict[str, Callable[[Sitting, Step], None]] = {
    "kickoff": _kickoff,
    "later kickoff": _later_kickoff,
    "delta": _delta,
    "ack": _ack,
    "ack without a number": _ack_without_a_number,
    "reply": _reply,
    "again": _again,
    "other": _other,
    "other for nothing": _other_for_nothing,
    "dismiss": _dismiss,
    "compile": _compile,
    "close": _close,
}


def played(play_of: list[Step], sitting: Sitting | None = None) -> Sitting:
    """The session after all of it."""
    sitting = sitting or Sitting()
    for step in play_of:
        play(sitting, step)
    return sitting
