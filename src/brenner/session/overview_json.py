"""A row of the list of sessions: the stable JSON of every front end, and the text that is kept.

What is kept follows from the thread and from nothing else, and says how far the thread had come. A
text that is damaged, or that another release wrote, is no row: then it is worked out again.
"""

import json
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from brenner import __version__
from brenner.artifact.model import Killed, Reference
from brenner.artifact.state import read_text
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import ThreadKind
from brenner.session.needs import needs_of
from brenner.session.overview import Awaited, Overview, Owed
from brenner.session.status import Phase, Turn

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
