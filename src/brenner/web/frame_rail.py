"""The rail: the rounds of a session as a timeline, in the order of the mail."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from brenner.protocol.message_types import COMPILED
from brenner.protocol.messages import iso
from brenner.session.participants import Round
from brenner.session.rebuild import Filed
from brenner.session.versions import type_of
from brenner.web import links
from brenner.web.reading import Session

# A round with more changes of type than this is shown as counts
_MOST_STEPS = 9
_MOST_ROUNDS = 8
_MOST_AGENTS = 4


def rail(session: Session) -> Mapping[str, object]:
    """The latest rounds, the first of them first; `earlier` leads to those before."""
    rounds = session.rounds
    shown = rounds[-_MOST_ROUNDS:]
    earlier = len(rounds) - len(shown)
    return {
        "rounds": [_round(session, each, is_last=each is rounds[-1]) for each in shown],
        "earlier": {
            "count": earlier,
            "link": links.session(session.thread_id, "thread", round=rounds[0].number),
        }
        if earlier
        else None,
    }


def _round(session: Session, each: Round, *, is_last: bool) -> Mapping[str, object]:
    thread_id = session.thread_id
    runs = [(name, list(some)) for name, some in groupby(each.messages, key=type_of)]
    is_long = len(runs) > _MOST_STEPS
    steps = _counts(each) if is_long else (_step(each, *run) for run in runs)
    version = each.version.number if each.version else None
    return {
        "round": each.number,
        "version": version,
        "messages": len(each.messages),
        "link": links.session(thread_id, "thread", round=each.number),
        "current": is_last and version is None,
        "at": iso(each.messages[-1].posted.at),
        "steps": list(steps),
    }


def _step(of: Round, name: str | None, run: Sequence[Filed]) -> Mapping[str, object]:
    """What came in one after the other of one type; `version` is the one that it published."""
    agents = list(dict.fromkeys(each.posted.message.sender for each in run))
    version = of.version
    is_it = version is not None and any(each.posted.id == version.message_id for each in run)
    return {
        "type": name,
        "version": version.number if version and is_it else None,
        "count": len(run),
        "agents": agents[:_MOST_AGENTS],
        "more_agents": max(0, len(agents) - _MOST_AGENTS),
        "message_id": run[0].posted.id if len(run) == 1 else None,
        "at": iso(run[0].posted.at),
    }


def _counts(of: Round) -> Iterator[Mapping[str, object]]:
    """Of a long round how many of each type, as they first came in; what ends it stays last."""
    counts = Counter(map(type_of, of.messages))
    ending = COMPILED.name if of.version else None
    for name in [*(each for each in counts if each != ending), *([ending] if ending else [])]:
        yield {
            "type": name,
            "version": of.version.number if of.version and name == ending else None,
            "count": counts[name],
            "agents": [],
            "more_agents": 0,
            "message_id": None,
            "at": None,
        }
