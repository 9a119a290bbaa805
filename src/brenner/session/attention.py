"""What needs the operator, in words, worst first: the same words on every front end."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.diagnostics.visible import visible
from brenner.session.status import OpenMessage, Phase, SessionStatus
from brenner.thread.posted import span
from brenner.thread.types import BLOCKED, CRITIQUE, HANDOFF, QUESTION

_MOST_NAMES = 3
_MOST_ABOUT = 60


class Attention(NamedTuple):
    """One thing. `kind` is a stable word; `text` a short sentence without a full stop.

    What others wrote is safe to show in it.
    """

    kind: str
    text: str


def attention(status: SessionStatus, now: datetime, deadline: timedelta) -> tuple[Attention, ...]:
    """Everything that waits for the operator, or for somebody whom she may have to remind."""
    said = {
        "stopped": _stopped(status),
        "blocked": _blocked(status),
        "question": _questions(status),
        "overdue": _overdue(status, now, deadline),
        "refused": _refused(status),
        "ready": _ready(status),
        "late": _late(status),
        "handoff": _handoffs(status),
        "critique": _critiques(status),
    }
    return tuple(Attention(kind, text) for kind, text in said.items() if text)


def _stopped(status: SessionStatus) -> str:
    stopped = status.stopped
    if stopped is None:
        return ""
    title = stopped.code.title
    return f"Nothing can be compiled, because of message {stopped.message_id}: {_lower(title)}"


def _blocked(status: SessionStatus) -> str:
    return _told(status.of_type(BLOCKED.name), "is blocked", "are blocked")


def _questions(status: SessionStatus) -> str:
    return _told(status.of_type(QUESTION.name), "asks", "have questions")


def _told(found: Sequence[OpenMessage], one: str, several: str) -> str:
    """Of one message what it says; of several who wrote them."""
    if not found:
        return ""
    names = list(dict.fromkeys(each.sender for each in found))
    if len(found) == 1:
        return f"{_names(names)} {one}: {_words(found[0].about)}"
    if len(names) == 1:
        return f"{_names(names)} {one}, in {len(found)} messages"
    return f"{_names(names)} {several}"


def _overdue(status: SessionStatus, now: datetime, deadline: timedelta) -> str:
    """`2 agents owe an ACK, the oldest for 3 h`."""
    late = status.overdue(now, deadline)
    if not late:
        return ""
    names = list(dict.fromkeys(each.debtor for each in late))
    who = f"{_names(names)} owes" if len(names) == 1 else f"{len(names)} agents owe"
    what = "an overdue ACK" if len(late) == len(names) else f"{len(late)} overdue ACKs"
    since = span(now - min(each.since for each in late))
    return f"{who} {what}, {'' if len(late) == 1 else 'the oldest '}for {since}"


def _refused(status: SessionStatus) -> str:
    found = status.refusals
    if not found:
        return ""
    names = _names(dict.fromkeys(each.agent for each in found))
    them = "it" if len(found) == 1 else "them"
    return f"{_count(found, 'refused block')}: {names} can correct {them}, or you dismiss {them}"


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
    return f"{_count(found, 'handoff')} {waits} for {_names(to) or 'somebody'}"


def _critiques(status: SessionStatus) -> str:
    messages = status.of_type(CRITIQUE.name)
    ids = [each.item for each in status.critiques]
    found = [*ids, *messages]
    if not found:
        return ""
    parts = [*([_names(ids)] if ids else ()), *_numbered(messages)]
    return f"{_count(found, 'critique')} {'is' if len(found) == 1 else 'are'} open: " + (
        ", ".join(parts)
    )


def _numbered(messages: Sequence[OpenMessage]) -> Iterator[str]:
    if len(messages) > _MOST_NAMES:
        yield f"{len(messages)} messages"
    elif messages:
        numbers = [str(each.message_id) for each in messages]
        yield f"message{'s' * (len(numbers) > 1)} {_names(numbers)}"


def _count(found: Sequence[object], word: str) -> str:
    return f"{len(found)} {word}{'s' * (len(found) != 1)}"


def _names(names: Iterable[str]) -> str:
    shown = [visible(name, _MOST_ABOUT) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _words(text: str) -> str:
    return visible(" ".join(text.split()), _MOST_ABOUT)


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]
