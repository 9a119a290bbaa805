"""The page `/`: every session, what needs the operator first."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import Refused
from brenner.services.sessions import only_in_files
from brenner.session.model import Phase
from brenner.session.overview import (
    NO_SESSIONS,
    START,
    TURN_WORDS,
    WAITING,
    Asked,
    Need,
    Overview,
    ack_words,
    counts,
    need_words,
    needs_of,
    others_words,
    overview_json,
    summary_words,
    urgent_first,
)
from brenner.session.status_text import PHASE_WORDS
from brenner.web import links
from brenner.web.page import Answer, Document, Page
from brenner.web.paging import part, part_json
from brenner.web.visit import Visit

_MOST_SHOWN = 50
_CONVERSATION = "conversation"
_PHASES: dict[str, str] = {
    str(phase or _CONVERSATION): words for phase, words in PHASE_WORDS.items()
}


def page(visit: Visit) -> Answer:
    """Every session that is open, those that wait for somebody first; complete ones are folded."""
    look = _look(visit)
    found = visit.site.reading.listing()
    everything = sorted(found.sessions.values(), key=look.order)
    fitting = [each for each in everything if look.fits(each)]
    folded = [each for each in fitting if look.is_folded(each)]
    unfolded = [each for each in fitting if not look.is_folded(each)] if folded else fitting
    summary = counts(fitting, look.now, look.deadline)
    only_files = () if look.phase else only_in_files(visit.site.desk.project, found.sessions)
    document: dict[str, object] = {
        "words": look.words(fitting, summary),
        "summary": summary,
        "phase": look.phase,
        "phases": _phases(everything),
        **_paged(unfolded, look, visit),
        "complete": _folded(folded, look),
        "only_files": list(only_files[:_MOST_SHOWN]),
        "only_files_count": len(only_files),
        "others": len(found.others),
        "others_words": others_words(len(found.others)),
        "empty": {"words": NO_SESSIONS, "command": START},
    }
    return Page("pages/home.html", "Sessions", document)


class _Look(NamedTuple):
    """Who looks at which sessions, and when."""

    operator: str
    now: datetime
    deadline: timedelta
    phase: str | None

    def fits(self, each: Overview) -> bool:
        """Whether a session is in the phase that is asked for."""
        return self.phase in (None, each.phase or _CONVERSATION)

    def order(self, each: Overview) -> tuple[object, ...]:
        """What needs somebody first."""
        return urgent_first(each, self.now, self.deadline)

    def worst(self, each: Overview) -> Need:
        """What it needs most."""
        return needs_of(each, self.now, self.deadline)[0]

    def is_folded(self, each: Overview) -> bool:
        """Whether it is complete, and nothing is open in it, and nobody asks for such."""
        is_complete = each.phase is Phase.COMPLETE
        return is_complete and not self.phase and self.worst(each) is Need.COMPLETE

    def words(self, sessions: Sequence[Overview], summary: Mapping[str, int]) -> list[str]:
        """What needs somebody, in sentences."""
        if not sessions:
            return []
        who = Asked(self.operator, f"{self.operator} owes", self.now, self.deadline)
        acks = ack_words([owed for each in sessions for owed in each.owed], who)
        return [f"{summary_words(summary)}.", *([acks] if acks else [])]

    def row(self, each: Overview) -> Document:
        """A session: the stable JSON of a row, and its words."""
        waits = self.worst(each) in WAITING
        phase = PHASE_WORDS[each.phase]
        needs = need_words(each, self.now, self.deadline)
        return {
            **overview_json(each, self.now, self.deadline),
            "waits": waits,
            "phase_words": phase,
            "need_words": [words._asdict() for words in needs if waits or words.text != phase],
            "turns": self._turns(each),
        }

    def _turns(self, each: Overview) -> list[Document]:
        """Whose turn it is; once everything is in, the operator's."""
        if not each.awaited and each.phase is Phase.READY_TO_COMPILE and not each.is_stopped:
            return [{"agent": self.operator, "words": "can compile"}]
        return [{"agent": name, "words": TURN_WORDS[turn]} for name, turn in each.awaited]


def _look(visit: Visit) -> _Look:
    phase = visit.asked.get("phase") or None
    if phase not in (None, *_PHASES):
        raise Refused(NO_SUCH_PAGE.at(path=visit.path))
    project = visit.site.desk.project
    return _Look(project.operator, visit.now, project.ack_deadline, phase)


def _phases(sessions: Sequence[Overview]) -> list[Document]:
    """How many sessions are in each phase."""
    found = [str(each.phase or _CONVERSATION) for each in sessions]
    return [
        {"phase": phase, "words": words, "sessions": found.count(phase)}
        for phase, words in _PHASES.items()
    ]


def _paged(sessions: Sequence[Overview], look: _Look, visit: Visit) -> Document:
    """One page of them. One that is no longer there is the last: rows move while one looks."""
    found = part(visit, len(sessions), _MOST_SHOWN)
    return {
        "sessions": [look.row(each) for each in found.of(sessions)],
        **part_json(found, partial(links.home, look.phase)),
    }


def _folded(sessions: Sequence[Overview], look: _Look) -> Document:
    """Complete ones, the first of them; a page of their own has all."""
    return {
        "total": len(sessions),
        "sessions": [look.row(each) for each in sessions[:_MOST_SHOWN]],
        "next": links.home(Phase.COMPLETE) if len(sessions) > _MOST_SHOWN else None,
    }
