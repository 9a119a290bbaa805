"""Pages of the project: all sessions (`/`), the agents of a session, `/connect`, `/help` and the
source text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.mail.model import Agent, Trust
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import iso
from brenner.protocol.roster import Roster, RosterEntry
from brenner.protocol.roster_config import read_roster
from brenner.services.compile import read_project_source
from brenner.services.identity import agent_instructions
from brenner.services.session_files import sessions_only_in_files
from brenner.session.excerpts import Passage, passages_of
from brenner.session.model import Participant, Phase, Turn
from brenner.session.overview import (
    NO_SESSIONS,
    START_COMMAND,
    TURN_LABELS,
    WAITING_NEEDS,
    AckViewer,
    Need,
    Overview,
    count_needs,
    describe_needs,
    describe_owed_acks,
    describe_skipped_threads,
    needs_of,
    open_ack_json,
    overview_json,
    summarize_counts,
    urgency_key,
)
from brenner.session.status import AgentContribution, SurvivingWork, contributions
from brenner.session.status_text import PHASE_LABELS, describe_turn
from brenner.web import links
from brenner.web.layout import delta_counts, session_document
from brenner.web.rendering import MAX_BARS, list_page_document, requested_page, session_page_links
from brenner.web.request import Document, Page, PageResult, RequestContext
from brenner.web.sessions import Session

_MAX_SHOWN = 50
_CONVERSATION = "conversation"
_PHASES: dict[str, str] = {
    str(phase or _CONVERSATION): words for phase, words in PHASE_LABELS.items()
}


def page(context: RequestContext) -> PageResult:
    """Return all open sessions, those that wait for action first. Complete ones are folded."""
    session_filter = _requested_filter(context)
    found = context.site.reading.listing()
    everything = sorted(found.sessions.values(), key=session_filter.order)
    fitting = [each for each in everything if session_filter.fits(each)]
    folded = [each for each in fitting if session_filter.is_folded(each)]
    unfolded = (
        [each for each in fitting if not session_filter.is_folded(each)] if folded else fitting
    )
    summary = count_needs(fitting, session_filter.now, session_filter.deadline)
    only_files = (
        ()
        if session_filter.phase
        else sessions_only_in_files(context.site.workspace.project, found.sessions)
    )
    document: dict[str, object] = {
        "words": session_filter.words(fitting, summary),
        "summary": summary,
        "phase": session_filter.phase,
        "phases": _phase_counts(everything),
        **_page_document(unfolded, session_filter, context),
        "complete": _folded_document(folded, session_filter),
        "only_files": list(only_files[:_MAX_SHOWN]),
        "only_files_count": len(only_files),
        "others": len(found.others),
        "others_words": describe_skipped_threads(len(found.others)),
        "empty": {"words": NO_SESSIONS, "command": START_COMMAND},
    }
    return Page("pages/home.html", "Sessions", document)


class _SessionFilter(NamedTuple):
    """The phase to list, and what is needed to sort sessions and describe what they need."""

    operator: str
    now: datetime
    deadline: timedelta
    phase: str | None

    def fits(self, each: Overview) -> bool:
        """Return whether a session is in the requested phase."""
        return self.phase in (None, each.phase or _CONVERSATION)

    def order(self, each: Overview) -> tuple[object, ...]:
        """Return the sort key: most urgent first."""
        return urgency_key(each, self.now, self.deadline)

    def worst(self, each: Overview) -> Need:
        """Return the most urgent need of a session."""
        return needs_of(each, self.now, self.deadline)[0]

    def is_folded(self, each: Overview) -> bool:
        """Return whether a session is complete without open ends, and no phase is requested."""
        is_complete = each.phase is Phase.COMPLETE
        return is_complete and not self.phase and self.worst(each) is Need.COMPLETE

    def words(self, sessions: Sequence[Overview], summary: Mapping[str, int]) -> list[str]:
        """Return the summary and the open ACKs in sentences."""
        if not sessions:
            return []
        reader = AckViewer(self.operator, f"{self.operator} owes", self.now, self.deadline)
        acks = describe_owed_acks([owed for each in sessions for owed in each.owed], reader)
        return [f"{summarize_counts(summary)}.", *([acks] if acks else [])]

    def row(self, each: Overview) -> Document:
        """Return a session: the stable JSON of a row, and its words."""
        waits = self.worst(each) in WAITING_NEEDS
        phase = PHASE_LABELS[each.phase]
        needs = describe_needs(each, self.now, self.deadline)
        return {
            **overview_json(each, self.now, self.deadline),
            "waits": waits,
            "phase_words": phase,
            "need_words": [words._asdict() for words in needs if waits or words.text != phase],
            "turns": self._turns(each),
        }

    def _turns(self, each: Overview) -> list[Document]:
        """Return whose turn it is. Once everything has arrived, it is the operator's."""
        if not each.awaited and each.phase is Phase.READY_TO_COMPILE and not each.is_stopped:
            return [{"agent": self.operator, "words": "can compile"}]
        return [{"agent": name, "words": TURN_LABELS[turn]} for name, turn in each.awaited]


def _requested_filter(context: RequestContext) -> _SessionFilter:
    phase = context.query.get("phase") or None
    if phase not in (None, *_PHASES):
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    project = context.site.workspace.project
    return _SessionFilter(project.operator, context.now, project.ack_deadline, phase)


def _phase_counts(sessions: Sequence[Overview]) -> list[Document]:
    """Return the number of sessions in each phase."""
    found = [str(each.phase or _CONVERSATION) for each in sessions]
    return [
        {"phase": phase, "words": words, "sessions": found.count(phase)}
        for phase, words in _PHASES.items()
    ]


def _page_document(
    sessions: Sequence[Overview], session_filter: _SessionFilter, context: RequestContext
) -> Document:
    """Return one page of the sessions. Beyond the last page it is the last one, because rows
    move.
    """
    found = requested_page(context, len(sessions), _MAX_SHOWN)
    return {
        "sessions": [session_filter.row(each) for each in found.slice(sessions)],
        **list_page_document(found, partial(links.home, session_filter.phase)),
    }


def _folded_document(sessions: Sequence[Overview], session_filter: _SessionFilter) -> Document:
    """Return the first complete sessions, and the link to all of them."""
    return {
        "total": len(sessions),
        "sessions": [session_filter.row(each) for each in sessions[:_MAX_SHOWN]],
        "next": links.home(Phase.COMPLETE) if len(sessions) > _MAX_SHOWN else None,
    }


# The page `/sessions/T/agents`: participants, contributions, survival, and what each agent owes


_AGENTS_TAB = "agents"
_AGENTS_PER_PAGE, _MAX_ITEMS, _MAX_ROUNDS, _MAX_OWED = 50, 60, 8, 20
_NO_ENTRY = RosterEntry("", "")


def agents_page(context: RequestContext) -> PageResult:
    """Return the agents of the roster, in its order, then other participants."""
    session = context.session
    sent = session.cached(_contributions)
    names = _agent_names(session, sent)
    shown = requested_page(context, len(names), _AGENTS_PER_PAGE)
    documents = _AgentDocuments(context, sent)
    last = max([number for each in sent.values() for number, *_ in each.rounds], default=0)
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "version": session.history.number or None,
        "mode": documents.roster.mode if documents.roster.entries else None,
        "agents": [documents.agent(name) for name in shown.slice(names)],
        "rounds": list(range(max(1, last - _MAX_ROUNDS + 1), last + 1)),
        "following": session.history.number + 1,
        "most_charted": MAX_BARS,
        **list_page_document(shown, session_page_links(session.thread_id, _AGENTS_TAB, {})),
    }
    return Page("pages/agents.html", "Agents", document)


def _contributions(session: Session) -> Mapping[str, AgentContribution]:
    read = {number: each.entries for number, each in session.ledgers.items()}
    return contributions(read, session.unread_entries)


def _agent_names(session: Session, sent: Mapping[str, AgentContribution]) -> Sequence[str]:
    """Return the participants, other debtors of ACKs, and other authors of the artifact."""
    participants = (each.name for each in session.status.participants)
    debtors = (each.debtor for each in session.status.open_acks)
    return list(dict.fromkeys((*participants, *debtors, *sent, *session.survivals)))


class _AgentDocuments:
    """Documents of the agents of one session."""

    def __init__(self, context: RequestContext, sent: Mapping[str, AgentContribution]) -> None:
        self._context, self._session, self._sent = context, context.session, sent
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
        """Return one agent."""
        participant = self._participants.get(name)
        last = participant.last_at if participant else self._last.get(name)
        return {
            **self._identity(name, participant),
            **_contribution_document(
                self._sent.get(name, AgentContribution(name)), self._session.thread_id, name
            ),
            **_survival_document(self._session.survivals.get(name, SurvivingWork())),
            "deltas": self._session.cached(delta_counts).get(name, 0),
            "owes": self._owes(name, participant),
            "messages": self._messages[name],
            "unverified": self._unverified[name],
            "last_at": iso(last) if last else None,
        }

    def _identity(self, name: str, participant: Participant | None) -> Document:
        entry = self._entries.get(name, _NO_ENTRY)
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
        """Return what an agent owes: its turn, open ACKs and corrections."""
        status, now = self._session.status, self._context.now
        deadline = self._context.site.workspace.project.ack_deadline
        acks = [each for each in status.open_acks if each.debtor == name]
        refusals = [each for each in status.refusals if each.agent == name]
        words = describe_turn(participant, status, now) if participant else None
        return {
            "turn": participant.turn.value if participant else None,
            "says": words._asdict() if words else None,
            "delta": bool(participant and participant.turn is Turn.OWES_DELTA),
            "acks": [open_ack_json(each, now, deadline) for each in acks[:_MAX_OWED]],
            "overdue": sum(each.due(deadline) < now for each in acks),
            "corrections": [
                {"message_id": each.message_id, "block": each.block}
                for each in refusals[:_MAX_OWED]
            ],
            "number_of_acks": len(acks),
            "number_of_corrections": len(refusals),
        }


def _contribution_document(sent: AgentContribution, thread_id: str, name: str) -> Document:
    """Return the blocks that an agent has sent, and their outcomes."""
    refused = links.session(thread_id, "ledger", outcome=BlockOutcome.REFUSED.value, agent=name)
    return {
        "blocks": sent.blocks,
        **{outcome.value: sent.count(outcome) for outcome in BlockOutcome},
        "added": _id_list(sent.added),
        "edited": _id_list(sent.edited),
        "killed": _id_list(sent.killed),
        "refused_for": [{"code": code, "blocks": count} for code, count in sent.codes],
        "refused_at": refused,
        "rounds": [each._asdict() for each in sent.rounds[-_MAX_ROUNDS:]],
    }


def _survival_document(survival: SurvivingWork) -> Document:
    return {
        "active": _id_list(survival.active),
        "lost": _id_list(survival.killed),
        "fields_set": survival.fields_set,
        "fields_standing": survival.fields_surviving,
    }


def _id_list(ids: Sequence[str]) -> Document:
    """Return the number of items, and the first of them."""
    return {"number": len(ids), "ids": list(ids[:_MAX_ITEMS])}


# The page `/connect`: the server, and how to connect an agent


_NAME_PLACEHOLDER = "NAME"


def connect_page(context: RequestContext) -> PageResult:
    """Return what the operator needs to connect an agent."""
    about = context.site.about
    document = {
        "folder": about.folder,
        "store": about.store,
        "endpoint": about.endpoint,
        "identity": "strict" if about.is_strict else "open",
        "token": about.wants_token,
        "clients": [each._asdict() for each in about.clients],
        "remark": about.remark,
        "tell": agent_instructions(_NAME_PLACEHOLDER),
    }
    return Page("pages/connect.html", "Connect an agent", document, is_live=False)


# The page `/help`: keys, words, marks and message types. A script opens it over any page.


class _Shortcut(NamedTuple):
    """Keys pressed in sequence (or a range of keys), and what they do."""

    keys: tuple[str, ...]
    does: str
    between: str = " "


_NOT_FOR_GUESTS = (_Shortcut(("/",), "search the mail"), _Shortcut(("g", "h"), "all sessions"))
_KEYS = (
    _Shortcut(("?",), "this sheet"),
    *_NOT_FOR_GUESTS,
    _Shortcut(("1", "6"), f"of a session: {', '.join(links.TABS)}", " to "),
    _Shortcut(("j",), "next change, message, item or session"),
    _Shortcut(("k",), "the one before it"),
    _Shortcut(("p",), "show or hide who set what in the artifact"),
    _Shortcut(("Esc",), "close what is open; leave the search field"),
)
# Words of the pages, in the order in which a reader meets them
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
# Marks of the pages
_MARKS = (
    ("agent", "An agent: initials and a tint of its own, the same everywhere."),
    ("killed", "Killed: struck through and dimmed; the reason stands beside it."),
    ("added", "Added between two versions: underlined."),
    ("removed", "Taken away between two versions: struck through."),
    ("unverified", "Anybody may have sent it: the sender showed no secret of the name."),
    ("error", "A fault: its code, what is wrong, and the fix."),
    ("id", "An ID of an item, version or thread; it is a link."),
)


def help_page(context: RequestContext) -> PageResult:
    """Return keys, words, marks and message types. Guests do not see keys for pages closed to
    them.
    """
    is_guest = context.guest_of is not None
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


# The source text, at the sections that anchors cite


_SECTIONS_PER_PAGE = 20


def source_page(context: RequestContext) -> PageResult:
    """Return the sections of the source text around the requested one."""
    project = context.site.workspace.project
    text = read_project_source(project)
    if isinstance(text, Diagnostic):
        raise RequestError(text)
    passages = list(passages_of(text or ""))
    wanted = context.query_number("section")
    index = next((at for at, each in enumerate(passages) if each.number == wanted), None)
    around = (index or 0) // _SECTIONS_PER_PAGE + 1
    list_page = requested_page(context, len(passages), _SECTIONS_PER_PAGE, otherwise=around)
    document = {
        "path": project.source_text,
        "section": wanted if index is not None else None,
        "missing": wanted if index is None and passages else None,
        "sections": [_passage(each) for each in list_page.slice(passages)],
        **list_page_document(list_page, lambda number: links.source(page=number)),
    }
    return Page("pages/source.html", "Source text", document, is_live=False)


def _passage(passage: Passage) -> Document:
    return {"number": passage.number, "title": passage.title, "text": passage.text}
