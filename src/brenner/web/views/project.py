"""The page `/`: every session, what needs the operator first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from brenner.artifact.state import Outcome
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.mail.model import Agent, Trust
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import iso
from brenner.protocol.roster import Roster, RosterEntry
from brenner.protocol.roster_config import read_roster
from brenner.services.compile import source_of
from brenner.services.identity import first_words
from brenner.services.sessions import only_in_files
from brenner.session.kickoff_text import Passage, passages_of
from brenner.session.model import Participant, Phase, Turn
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
    open_ack_json,
    others_words,
    overview_json,
    summary_words,
    urgent_first,
)
from brenner.session.status import Contribution, Survival, contributions
from brenner.session.status_text import PHASE_WORDS, turn_words
from brenner.web import links
from brenner.web.layout import deltas_sent, session_document
from brenner.web.rendering import MOST_BARS, in_session, part, part_json
from brenner.web.request import Answer, Document, Page, RequestContext
from brenner.web.sessions import Session

_MOST_SHOWN = 50
_CONVERSATION = "conversation"
_PHASES: dict[str, str] = {
    str(phase or _CONVERSATION): words for phase, words in PHASE_WORDS.items()
}


def page(visit: RequestContext) -> Answer:
    """Every session that is open, those that wait for somebody first; complete ones are folded."""
    look = _look(visit)
    found = visit.site.reading.listing()
    everything = sorted(found.sessions.values(), key=look.order)
    fitting = [each for each in everything if look.fits(each)]
    folded = [each for each in fitting if look.is_folded(each)]
    unfolded = [each for each in fitting if not look.is_folded(each)] if folded else fitting
    summary = counts(fitting, look.now, look.deadline)
    only_files = () if look.phase else only_in_files(visit.site.workspace.project, found.sessions)
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


def _look(visit: RequestContext) -> _Look:
    phase = visit.asked.get("phase") or None
    if phase not in (None, *_PHASES):
        raise RequestError(NO_SUCH_PAGE.at(path=visit.path))
    project = visit.site.workspace.project
    return _Look(project.operator, visit.now, project.ack_deadline, phase)


def _phases(sessions: Sequence[Overview]) -> list[Document]:
    """How many sessions are in each phase."""
    found = [str(each.phase or _CONVERSATION) for each in sessions]
    return [
        {"phase": phase, "words": words, "sessions": found.count(phase)}
        for phase, words in _PHASES.items()
    ]


def _paged(sessions: Sequence[Overview], look: _Look, visit: RequestContext) -> Document:
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


# The page `/sessions/T/agents`: who takes part, what each has contributed, what stands, what each
# owes.


_TAB = "agents"
_ON_A_PAGE, _MOST_ITEMS, _MOST_ROUNDS, _MOST_OWED = 50, 60, 8, 20
_NOBODY = RosterEntry("", "")


def agents_page(visit: RequestContext) -> Answer:
    """Those of the roster, in its order, then others who take part."""
    session = visit.session
    sent = session.once(_sent)
    names = _names(session, sent)
    shown = part(visit, len(names), _ON_A_PAGE)
    known = _Known(visit, sent)
    last = max([number for each in sent.values() for number, *_ in each.rounds], default=0)
    document = {
        "session": session_document(visit),
        "thread_id": session.thread_id,
        "version": session.history.number or None,
        "mode": known.roster.mode if known.roster.entries else None,
        "agents": [known.agent(name) for name in shown.of(names)],
        "rounds": list(range(max(1, last - _MOST_ROUNDS + 1), last + 1)),
        "following": session.history.number + 1,
        "most_charted": MOST_BARS,
        **part_json(shown, in_session(session.thread_id, _TAB, {})),
    }
    return Page("pages/agents.html", "Agents", document)


def _sent(session: Session) -> Mapping[str, Contribution]:
    read = {number: each.entries for number, each in session.ledgers.items()}
    return contributions(read, session.expected)


def _names(session: Session, sent: Mapping[str, Contribution]) -> Sequence[str]:
    """The participants, who else owes something, and who else has a hand in the artifact."""
    participants = (each.name for each in session.status.participants)
    debtors = (each.debtor for each in session.status.open_acks)
    return list(dict.fromkeys((*participants, *debtors, *sent, *session.survivals)))


class _Known:
    """What is known of everybody, put together once."""

    def __init__(self, visit: RequestContext, sent: Mapping[str, Contribution]) -> None:
        self._visit, self._session, self._sent = visit, visit.session, sent
        self._participants = {each.name: each for each in self._session.status.participants}
        self._registered: dict[str, Agent] = {
            each.name: each for each in self._session.workspace.mailbox.agents()
        }
        found = read_roster(dict(self._session.merged.artifact.metadata.roster), "the session")
        self.roster = found if isinstance(found, Roster) else Roster(())
        self._entries = {each.agent_name: each for each in reversed(self.roster.entries)}
        stored = self._session.stored
        self._messages = Counter(each.message.sender for each in stored)
        self._last = {each.message.sender: each.posted.at for each in stored}
        self._unverified = Counter(
            each.message.sender for each in stored if each.envelope.trust is Trust.UNVERIFIED
        )

    def agent(self, name: str) -> Document:
        """One agent as the page has her."""
        participant = self._participants.get(name)
        last = participant.last_at if participant else self._last.get(name)
        return {
            **self._who(name, participant),
            **_sent_json(self._sent.get(name, Contribution(name)), self._session.thread_id, name),
            **_survival_json(self._session.survivals.get(name, Survival())),
            "deltas": self._session.once(deltas_sent).get(name, 0),
            "owes": self._owes(name, participant),
            "messages": self._messages[name],
            "unverified": self._unverified[name],
            "last_at": iso(last) if last else None,
        }

    def _who(self, name: str, participant: Participant | None) -> Document:
        entry = self._entries.get(name, _NOBODY)
        registered = self._registered.get(name)
        return {
            "name": name,
            "role": (participant.role if participant else None) or entry.role or None,
            "in_roster": name in self._entries,
            "operator": name in self._session.history.operators,
            "program": entry.program or (registered.program if registered else "") or None,
            "model": entry.model or (registered.model if registered else "") or None,
            "registered_at": iso(registered.registered_at) if registered else None,
        }

    def _owes(self, name: str, participant: Participant | None) -> Document:
        """What somebody waits for."""
        status, now = self._session.status, self._visit.now
        deadline = self._visit.site.workspace.project.ack_deadline
        acks = [each for each in status.open_acks if each.debtor == name]
        refusals = [each for each in status.refusals if each.agent == name]
        words = turn_words(participant, status, now) if participant else None
        return {
            "turn": participant.turn.value if participant else None,
            "says": words._asdict() if words else None,
            "delta": bool(participant and participant.turn is Turn.OWES_DELTA),
            "acks": [open_ack_json(each, now, deadline) for each in acks[:_MOST_OWED]],
            "overdue": sum(each.due(deadline) < now for each in acks),
            "corrections": [
                {"message_id": each.message_id, "block": each.block}
                for each in refusals[:_MOST_OWED]
            ],
            "number_of_acks": len(acks),
            "number_of_corrections": len(refusals),
        }


def _sent_json(sent: Contribution, thread_id: str, name: str) -> Document:
    """What she has sent, and what became of it."""
    refused = links.session(thread_id, "ledger", outcome=Outcome.REFUSED.value, agent=name)
    return {
        "blocks": sent.blocks,
        **{outcome.value: sent.count(outcome) for outcome in Outcome},
        "added": _bounded(sent.added),
        "edited": _bounded(sent.edited),
        "killed": _bounded(sent.killed),
        "refused_for": [{"code": code, "blocks": count} for code, count in sent.codes],
        "refused_at": refused,
        "rounds": [each._asdict() for each in sent.rounds[-_MOST_ROUNDS:]],
    }


def _survival_json(stands: Survival) -> Document:
    return {
        "active": _bounded(stands.active),
        "lost": _bounded(stands.killed),
        "fields_set": stands.fields_set,
        "fields_standing": stands.fields_standing,
    }


def _bounded(ids: Sequence[str]) -> Document:
    """Items: how many, and the first of them."""
    return {"number": len(ids), "ids": list(ids[:_MOST_ITEMS])}


# The page `/connect`: what is served here, and how an agent gets in.


_NAME = "NAME"


def connect_page(visit: RequestContext) -> Answer:
    """What a person needs to connect an agent's program."""
    about = visit.site.about
    document = {
        "folder": about.folder,
        "store": about.store,
        "endpoint": about.endpoint,
        "identity": "strict" if about.is_strict else "open",
        "token": about.wants_token,
        "clients": [each._asdict() for each in about.clients],
        "remark": about.remark,
        "tell": first_words(_NAME),
    }
    return Page("pages/connect.html", "Connect an agent", document, is_live=False)


# The page `/help`: the keys, words, what the marks mean, and the types of messages.
#
# Its script opens the same over any page.


class _Key(NamedTuple):
    """Keys, pressed one after the other, and what they do; or from one to another."""

    keys: tuple[str, ...]
    does: str
    between: str = " "


_NOT_FOR_GUESTS = (_Key(("/",), "search the mail"), _Key(("g", "h"), "all sessions"))
_KEYS = (
    _Key(("?",), "this sheet"),
    *_NOT_FOR_GUESTS,
    _Key(("1", "6"), f"of a session: {', '.join(links.TABS)}", " to "),
    _Key(("j",), "next change, message, item or session"),
    _Key(("k",), "the one before it"),
    _Key(("p",), "show or hide who set what in the artifact"),
    _Key(("Esc",), "close what is open; leave the search field"),
)
# What the pages call things, in the order in which one meets them
_WORDS = (
    ("session", "A question that several agents work on, by mail; its ID begins with RS."),
    ("round", "Kickoff, deltas, critique, and the version that is compiled of them."),
    ("delta", "A message with contributions to the artifact: its blocks."),
    ("block", "One contribution: it adds, edits or kills one item. It is applied, or refused."),
    ("artifact", "The document of the session: hypotheses, predictions, tests, and what is open."),
    ("version", "The artifact as it was compiled, v1, v2 …; it is never changed again."),
    ("third alternative", "A hypothesis that says: both of the others are wrong."),
    ("anchor", "Where a claim comes from: §42 is a passage of the source text, inference is none."),
    ("lint", "The rules of the protocol. A version that breaks one is not valid."),
    ("ACK", "An acknowledgement: somebody has got a message that asks for it."),
    ("persisted", "Kept as a file of the project, and committed."),
    ("provenance", "Who set a field, in which message and version; ± where it replaced another."),
)
# The marks as pages show them; the words are what they stand for.
_MARKS = (
    ("agent", "An agent: initials and a tint of its own, the same everywhere."),
    ("killed", "Killed: struck through and dimmed; the reason stands beside it."),
    ("added", "Added between two versions: underlined."),
    ("removed", "Taken away between two versions: struck through."),
    ("unverified", "Anybody may have sent it: the sender showed no secret of the name."),
    ("error", "A fault: its code, what is wrong, and the fix."),
    ("id", "An ID of an item, version or thread; it is a link."),
)


def help_sheet_page(visit: RequestContext) -> Answer:
    """What one has to know to read the pages. Guests are told of no page that is closed to them."""
    is_guest = visit.guest_of is not None
    document = {
        "keys": [each._asdict() for each in _KEYS if not (is_guest and each in _NOT_FOR_GUESTS)],
        "words": [{"word": word, "means": means} for word, means in _WORDS],
        "types": [
            {"type": each.name, "purpose": each.purpose, "ack_required": each.ack_required}
            for each in TYPES.values()
        ],
        "marks": [{"mark": mark, "means": means} for mark, means in _MARKS],
    }
    return Page("pages/help.html", "Help", document, is_live=False)


# The source text of a project, at the sections that anchors cite.


_MOST_ON_PAGE = 20


def source_page(visit: RequestContext) -> Answer:
    """Its sections by number, some at a time: those around the one that was asked for."""
    project = visit.site.workspace.project
    text = source_of(project)
    if isinstance(text, Diagnostic):
        raise RequestError(text)
    passages = list(passages_of(text or ""))
    wanted = visit.number("section")
    at = next((index for index, each in enumerate(passages) if each.number == wanted), None)
    around = (at or 0) // _MOST_ON_PAGE + 1
    which = part(visit, len(passages), _MOST_ON_PAGE, otherwise=around)
    document = {
        "path": project.source_text,
        "section": wanted if at is not None else None,
        "missing": wanted if at is None and passages else None,
        "sections": [_passage(each) for each in which.of(passages)],
        **part_json(which, lambda number: links.source(page=number)),
    }
    return Page("pages/source.html", "Source text", document, is_live=False)


def _passage(passage: Passage) -> Document:
    return {"number": passage.number, "title": passage.title, "text": passage.text}
