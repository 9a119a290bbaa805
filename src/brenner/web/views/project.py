"""Pages of the project: all sessions (`/`), the agents of a session, `/connect`, `/help` and the
source text.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import Diagnostic, RequestError
from brenner.protocol.message_types import TYPES
from brenner.protocol.messages import Trust, iso
from brenner.protocol.roster import Roster, RosterEntry
from brenner.protocol.roster_config import read_roster
from brenner.services.client_settings import agent_instructions
from brenner.services.compile import read_project_source
from brenner.services.session_files import sessions_only_in_files
from brenner.session.excerpts import passages_of
from brenner.session.model import Participant, Phase, Turn
from brenner.session.overview import (
    NO_SESSIONS,
    OTHER_THREADS,
    START_COMMAND,
    TURN_LABELS,
    WAITING_NEEDS,
    Need,
    Overview,
    count_needs,
    describe_needs,
    describe_owed_acks,
    describe_phase,
    describe_skipped_threads,
    needs_of,
    open_ack_json,
    overview_json,
    split_sessions,
    summarize_counts,
    urgency_key,
)
from brenner.session.status import AgentContribution, SurvivingWork, contributions
from brenner.session.status_text import PHASE_LABELS, StatusReader, describe_turn
from brenner.web import links
from brenner.web.layout import delta_counts, session_document
from brenner.web.rendering import MAX_BARS, list_page_document, requested_page, session_page_links
from brenner.web.request import Document, Page, PageResult, RequestContext
from brenner.web.views.runs import runs_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.mail.model import Agent
    from brenner.web.sessions import Session

_MAX_SHOWN = 50
_CONVERSATION = "conversation"
_PHASES: dict[str, str] = {
    str(phase or _CONVERSATION): words for phase, words in PHASE_LABELS.items()
}


def page(context: RequestContext) -> PageResult:
    """Return all open sessions, those that wait for action first. Complete ones are folded."""
    project, phase = context.site.workspace.project, context.query.get("phase") or None
    if phase not in (None, *_PHASES):
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    found = context.site.reading.listing()
    now_and_deadline = context.now, project.ack_deadline
    everything = sorted(
        found.sessions.values(), key=lambda each: urgency_key(each, *now_and_deadline)
    )
    fitting, apart = split_sessions(
        each for each in everything if phase in (None, each.phase or _CONVERSATION)
    )
    folded = [each for each in fitting if not phase and _is_finished(each, context)]
    folded_ids = {each.thread_id for each in folded}
    unfolded = [each for each in fitting if each.thread_id not in folded_ids]
    summary = count_needs([*fitting, *apart], *now_and_deadline)
    only_files = () if phase else sessions_only_in_files(project, found.sessions)
    list_page = requested_page(context, len(unfolded), _MAX_SHOWN)
    document: dict[str, object] = {
        "words": _summary_words([*fitting, *apart], summary, context),
        "summary": summary,
        "phase": phase,
        "phases": _phase_counts(everything),
        "sessions": [_row(each, context) for each in list_page.slice(unfolded)],
        **list_page_document(list_page, partial(links.home, phase)),
        "complete": {
            "total": len(folded),
            "sessions": [_row(each, context) for each in folded[:_MAX_SHOWN]],
            "next": links.home(Phase.COMPLETE) if len(folded) > _MAX_SHOWN else None,
        },
        "apart": {
            "words": OTHER_THREADS,
            "total": len(apart),
            "sessions": [_row(each, context) for each in apart[:_MAX_SHOWN]],
        },
        "only_files": list(only_files[:_MAX_SHOWN]),
        "only_files_count": len(only_files),
        "others": len(found.others),
        "others_words": describe_skipped_threads(len(found.others)),
        "empty": {"words": f"{NO_SESSIONS}. To start one:", "command": START_COMMAND},
    }
    return Page("pages/home.html", "Sessions", document)


def _worst_need(each: Overview, context: RequestContext) -> Need:
    return needs_of(each, context.now, context.site.workspace.project.ack_deadline)[0]


def _is_finished(each: Overview, context: RequestContext) -> bool:
    """Return whether a session has ended without open ends."""
    return _worst_need(each, context) in (Need.COMPLETE, Need.CANCELLED)


def _summary_words(
    sessions: Sequence[Overview], summary: Mapping[str, int], context: RequestContext
) -> list[str]:
    """Return the summary and the open ACKs in sentences."""
    if not sessions:
        return []
    project = context.site.workspace.project
    operator, deadline = project.operator, project.ack_deadline
    reader = StatusReader(operator, operator, context.now, deadline)
    owed = [owed for each in sessions for owed in each.owed]
    acks = describe_owed_acks(owed, reader, f"{operator} owes")
    return [f"{summarize_counts(summary)}.", *([acks] if acks else [])]


def _row(each: Overview, context: RequestContext) -> Document:
    """Return a session: the stable JSON of a row, and its words."""
    deadline = context.site.workspace.project.ack_deadline
    waits = _worst_need(each, context) in WAITING_NEEDS
    phase = describe_phase(each)[0]
    turns = [{"agent": name, "words": TURN_LABELS[turn]} for name, turn in each.awaited]
    if not turns and each.phase is Phase.READY_TO_COMPILE and not each.is_stopped:
        # Everything has arrived, so it is the operator's turn.
        turns = [{"agent": context.site.workspace.project.operator, "words": "can compile"}]
    return {
        **overview_json(each, context.now, deadline),
        "waits": waits,
        "state": each.state or None,
        "conclusion": each.conclusion or None,
        "phase_words": phase,
        "need_words": [
            {"text": text, "role": role}
            for text, role in describe_needs(each, context.now, deadline)
            if waits or text != phase
        ],
        "turns": turns,
    }


def _phase_counts(sessions: Sequence[Overview]) -> list[Document]:
    found = [str(each.phase or _CONVERSATION) for each in sessions]
    return [
        {"phase": phase, "words": words, "sessions": found.count(phase)}
        for phase, words in _PHASES.items()
    ]


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
    found = read_roster(dict(session.merged.artifact.metadata.roster), "the session")
    roster = found if isinstance(found, Roster) else Roster(())
    last = max([number for each in sent.values() for number in each.rounds], default=0)
    is_report = "form" in context.parameters
    document = {
        "session": session_document(context),
        "thread_id": session.thread_id,
        "version": session.history.number or None,
        "mode": roster.mode if roster.entries else None,
        "agents": list(_agents(context, shown.slice(names), roster)),
        "rounds": list(range(max(1, last - _MAX_ROUNDS + 1), last + 1)),
        "following": session.history.number + 1,
        "most_charted": MAX_BARS,
        # The report of a session is made from the mail alone
        "runs": None if is_report else runs_document(context),
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


def _agents(context: RequestContext, names: Sequence[str], roster: Roster) -> Iterator[Document]:
    """Yield the agents: who they are, what they have contributed, and what they owe."""
    session = context.session
    participants = {each.name: each for each in session.status.participants}
    registered = {each.name: each for each in session.workspace.mailbox.agents()}
    entries = {each.agent_name: each for each in reversed(roster.entries)}
    messages = Counter(each.message.sender for each in session.stored)
    last_times = {each.message.sender: each.at for each in session.stored}
    unverified = Counter(
        each.message.sender for each in session.stored if each.envelope.trust is Trust.UNVERIFIED
    )
    for name in names:
        participant = participants.get(name)
        last = participant.last_at if participant else last_times.get(name)
        sent = session.cached(_contributions).get(name, AgentContribution(name))
        entry = entries.get(name, _NO_ENTRY)
        yield {
            "name": name,
            "role": (participant.role if participant else None) or entry.role or None,
            "in_roster": name in entries,
            "operator": name in session.history.operators,
            **_program(entry, registered.get(name)),
            **_contribution_document(sent, session.thread_id, name),
            **_survival_document(session.survivals.get(name, SurvivingWork())),
            "deltas": session.cached(delta_counts).get(name, 0),
            "owes": _owes(context, name, participant),
            "messages": messages[name],
            "unverified": unverified[name],
            "last_at": iso(last) if last else None,
        }


def _program(entry: RosterEntry, registered: Agent | None) -> Document:
    return {
        "program": entry.program or (registered.program if registered else "") or None,
        "model": entry.model or (registered.model if registered else "") or None,
        "registered_at": iso(registered.registered_at) if registered else None,
    }


def _owes(context: RequestContext, name: str, participant: Participant | None) -> Document:
    """Return what an agent owes: its turn, open ACKs and corrections."""
    status, now = context.session.status, context.now
    deadline = context.site.workspace.project.ack_deadline
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
            {"message_id": each.message_id, "block": each.block} for each in refusals[:_MAX_OWED]
        ],
        "number_of_acks": len(acks),
        "number_of_corrections": len(refusals),
    }


def _contribution_document(sent: AgentContribution, thread_id: str, name: str) -> Document:
    refused = links.session(thread_id, "ledger", outcome=BlockOutcome.REFUSED.value, agent=name)
    return {
        "blocks": sent.blocks,
        **{outcome.value: sent.count(outcome) for outcome in BlockOutcome},
        "added": _id_list(sent.added),
        "edited": _id_list(sent.edited),
        "killed": _id_list(sent.killed),
        "refused_for": [{"code": code, "blocks": count} for code, count in sent.codes],
        "refused_at": refused,
        "rounds": [
            {"round": number, **{outcome.value: counts[outcome] for outcome in BlockOutcome}}
            for number, counts in list(sent.rounds.items())[-_MAX_ROUNDS:]
        ],
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
        "clients": [{"name": name, "command": command} for name, command in about.clients],
        "remark": about.remark,
        "tell": agent_instructions(_NAME_PLACEHOLDER),
    }
    return Page("pages/connect.html", "Connect an agent", document, is_live=False)


# The page `/help`: keys, words, marks and message types. A script opens it over any page.


def _shortcut(does: str, *keys: str, between: str = " ") -> Document:
    """Return keys pressed in sequence (or a range of keys), and what they do."""
    return {"keys": keys, "does": does, "between": between}


_NOT_FOR_GUESTS = (_shortcut("list all sessions", "g", "h"),)
_KEYS = (
    _shortcut("open or close this help", "?"),
    _shortcut("find an item, session, agent or action", "/", "Ctrl K", between=" or "),
    *_NOT_FOR_GUESTS,
    _shortcut(
        f"open a page of the session: {', '.join(links.TABS)}",
        "1",
        str(len(links.TABS)),
        between=" to ",
    ),
    _shortcut("go to the next change, message, item or session", "j"),
    _shortcut("go to the previous one", "k"),
    _shortcut("show or hide who wrote each part of the artifact", "p"),
    _shortcut("show the working draft or the published version", "d"),
    _shortcut("go to the first new message since you looked", "n"),
    _shortcut("close the open note or dialog, or leave a search field", "Esc"),
)
# Words of the pages, in the order in which a reader meets them
_WORDS = (
    ("session", "One research question that several agents work on. Its ID begins with RS."),
    ("operator", "The person who starts sessions, compiles and decides."),
    ("round", "One cycle: kickoff, deltas, compile, critique."),
    ("delta", "A message with contributions to the artifact. Each contribution is a block."),
    ("block", "One contribution: it adds, edits or kills one item. It is applied or rejected."),
    ("item", "One entry of the artifact, such as hypothesis H1 or test T2."),
    ("artifact", "The document of a session: hypotheses, predictions, tests and open points."),
    ("version", "The artifact after a compile: v1, v2 and so on. A version never changes."),
    ("working draft", "The artifact as a compile would publish it now."),
    ("third alternative", "A hypothesis that the question itself is cut in the wrong place."),
    ("anchor", "The source of a claim: §42 cites the source text, inference is a conclusion."),
    ("lint", "A check of the artifact against the rules of the protocol."),
    ("killed", "Withdrawn from the artifact with a reason. The item stays visible."),
    ("ACK", "An acknowledgement: the recipient confirms that it has read a message."),
    ("saved", "The version is in a file of the project. Committed: the file is also in git."),
    ("genealogy", "Which item comes from which, over all sessions."),
    ("provenance", "Who set a value, in which message and version. ± marks a replaced value."),
)
# Marks of the pages
_MARKS = (
    ("agent", "An agent, with its initials and its colour."),
    ("killed", "Killed. The reason is next to it."),
    ("added", "Added since the other version."),
    ("removed", "Removed since the other version."),
    ("unverified", "The sender did not prove its name with a secret."),
    ("error", "A problem, with its code and how to fix it."),
    ("id", "An item, version or thread. Follow the link to open it."),
)


def help_page(context: RequestContext) -> PageResult:
    """Return the help. Guests see no keys for pages closed to them."""
    is_guest = context.guest_of is not None
    document = {
        "keys": [each for each in _KEYS if not (is_guest and each in _NOT_FOR_GUESTS)],
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
    index = next((at for at, each in enumerate(passages) if each[0] == wanted), None)
    around = (index or 0) // _SECTIONS_PER_PAGE + 1
    list_page = requested_page(context, len(passages), _SECTIONS_PER_PAGE, otherwise=around)
    document = {
        "path": project.source_text,
        "section": wanted if index is not None else None,
        "missing": wanted if index is None and passages else None,
        "sections": [
            {"number": number, "title": title, "text": words}
            for number, title, words in list_page.slice(passages)
        ],
        **list_page_document(list_page, lambda number: links.source(page=number)),
    }
    return Page("pages/source.html", "Source text", document, is_live=False)
