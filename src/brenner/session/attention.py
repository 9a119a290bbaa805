"""What needs the operator, in words, worst first: the same words on every front end."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from brenner.protocol.message_types import BLOCKED, CRITIQUE, HANDOFF, QUESTION
from brenner.protocol.messages import span
from brenner.session.status import OpenMessage, Phase, SessionStatus
from brenner.text import counted, visible

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
    shown = [visible(name, _MOST_ABOUT) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    *most, last = shown or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _words(text: str) -> str:
    return visible(" ".join(text.split()), _MOST_ABOUT)


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]
