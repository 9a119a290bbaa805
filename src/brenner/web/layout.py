"""What every page of a session shows around its content: head, tabs, rail, card.

It is on every page, so it is made of what the status has already, and of what a session works out
once for each state of its thread.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from brenner.artifact.model import Artifact, Metadata
from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.model import RequestError
from brenner.lint.linter import LintReport, lint
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE
from brenner.protocol.message_types import BLOCKED, COMPILED, CRITIQUE, DELTA, HANDOFF, QUESTION
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import classify_thread_id
from brenner.services.compile import readable_source
from brenner.services.persist import persistence_of
from brenner.services.sessions import read_session_file
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.session.compiled_message import schema_verdict, statistics, third_alternative
from brenner.session.model import SessionStatus
from brenner.session.overview import status_json
from brenner.session.participants import Round
from brenner.session.rebuild import ThreadMessage
from brenner.session.status_text import (
    PHASE_WORDS,
    Attention,
    Does,
    Reader,
    Step,
    attention,
    next_step,
    since_words,
    turn_words,
)
from brenner.session.versions import type_of
from brenner.text import joined, thread_argument
from brenner.web import links
from brenner.web.messages import address
from brenner.web.request import Document, RequestContext
from brenner.web.sessions import Session

# The *Latest Artifact* card of the publish document.


def card(artifact: Artifact, report: LintReport) -> dict[str, object]:
    """What the version itself tells, under the publish document's names."""
    return {
        "version": artifact.metadata.version,
        "statistics": statistics(artifact),
        "schema": schema_verdict(report),
        "lint": report.summary._asdict(),
        "valid": report.valid,
        "third_alternative": third_alternative(artifact),
    }


def contributors(session: Session) -> list[Mapping[str, object]]:
    """Who made the artifact: her DELTA messages, and the items that have something of hers now."""
    deltas = session.once(deltas_sent)
    items: dict[str, int] = {}
    for changes in session.history.state.blame.values():
        hands = (change.source.agent for change in changes.values() if change.value)
        for agent in dict.fromkeys(hands):  # each once, in the same order every time
            items[agent] = items.get(agent, 0) + 1
    # Nobody knows who set what in a version that was adopted: then as its front matter says
    names = items or dict.fromkeys(session.history.state.artifact.metadata.contributors, 0)
    return [
        {"name": name, "deltas": deltas.get(name, 0), "items": items.get(name, 0)} for name in names
    ]


def deltas_sent(session: Session) -> Mapping[str, int]:
    """How many DELTA messages everybody has sent, the operator among them: she may take no part."""
    senders = (
        each.posted.message.sender for each in session.messages if type_of(each) == DELTA.name
    )
    return Counter(senders)


# What needs the operator and what she does next, each with the page or the form for it.
#
# The sentences and commands are those of the terminal. Where the lab has a form, that comes first;
# who came by a link cannot do anything here, and is told of no command.


_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "blocked": BLOCKED.name,
        "question": QUESTION.name,
        "handoff": HANDOFF.name,
        "critique": CRITIQUE.name,
    }
)
_NO_COMMAND = (Does.READ, Does.WATCH)
_NOTHING = "Nothing to do now: what comes in is shown here by itself."
# What somebody waits for; the rest can wait itself
_PRESSING = ("stopped", "blocked", "question", "overdue", "refused")


def needs_document(session: Session, visit: RequestContext) -> dict[str, object]:
    """What needs her, the worst first, and where each leads; then the next step."""
    found = attention(session.status, visit.now, visit.site.workspace.project.ack_deadline)
    return {
        "attention": [
            {
                "kind": each.kind,
                "text": each.text,
                "link": _leads_to(session, each),
                "is_pressing": each.kind in _PRESSING,
            }
            for each in found
        ],
        "next_step": None if visit.guest_of is not None else _next(session, visit),
    }


def _leads_to(session: Session, each: Attention) -> str:
    """The page that shows what is meant: the one message or item, or the list of them."""
    thread_id = session.thread_id
    if each.kind in ("ready", "late"):
        return links.session(thread_id, "ledger", version="unread")
    if each.kind == "refused":
        return links.session(thread_id, "ledger", outcome="refused")
    if each.kind == "overdue":
        return links.session(thread_id, "agents")
    if len(each.messages) + len(each.items) == 1:
        return _one(session, each)
    if each.items:
        return links.session(thread_id, "artifact", section=ADVERSARIAL_CRITIQUE.id)
    kind = _TYPES.get(each.kind)
    return links.session(thread_id, "thread" if kind else "versions", type=kind)


def _one(session: Session, each: Attention) -> str:
    if each.items:
        return links.item(session.thread_id, each.items[0])
    return address(session, each.messages[0]) or links.message(each.messages[0])


def _next(session: Session, visit: RequestContext) -> Document:
    project = visit.site.workspace.project
    reader = Reader(project.operator, project.operator, visit.now, project.ack_deadline)
    step = next_step(session.status, reader, session.told)
    has_command = step.does not in _NO_COMMAND
    return {
        "words": _NOTHING if step.does is Does.WATCH else step.words,
        "aim": _NOTHING if step.does is Does.WATCH else step.aim or step.words,
        "command": step.command if has_command else None,
        "instead": list(step.instead) if step.instead else None,
        "pages": [_link(*each) for each in _pages(session, step)],
        "forms": [_link(*each) for each in _forms(session, step)] if visit.site.is_lab else [],
    }


def _link(address: str, words: str) -> Document:
    return {"link": address, "words": words}


def _pages(session: Session, step: Step) -> Iterator[tuple[str, str]]:
    """What everybody can read about it."""
    thread_id = session.thread_id
    if step.does is Does.VERIFY:
        yield links.session(thread_id, "versions", verify=1), "Verify"
    elif step.does is Does.READ:
        tab, words = ("", "Artifact") if session.history.versions else ("thread", "Thread")
        yield links.session(thread_id, tab), words
    elif step.message_id is not None:
        there = address(session, step.message_id) or links.message(step.message_id)
        yield there, f"Message {step.message_id}"


def _forms(session: Session, step: Step) -> Iterator[tuple[str, str]]:
    """The forms of the lab that do it, the best one first."""
    thread_id = session.thread_id
    if step.does is Does.ACKNOWLEDGE:
        yield links.lab("reply", thread_id, message=step.message_id), "Reply"
        yield links.lab("acknowledge", thread_id, message=step.message_id), "Acknowledge"
    for does in (step.does, step.or_does):
        if does is not None and does in _FORMS:
            yield links.lab(does.value, thread_id), _FORMS[does]


# By the name of the action
_FORMS: Mapping[Does, str] = MappingProxyType(
    {Does.COMPILE: "Compile", Does.ROUND: "Next round", Does.COMPLETE: "Complete"}
)


# The rail: the rounds of a session as a timeline, in the order of the mail.


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


def _step(of: Round, name: str | None, run: Sequence[ThreadMessage]) -> Mapping[str, object]:
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


# Of each list of the status; a session may owe thousands of ACKs
_MOST_LISTED = 50


def session_document(visit: RequestContext) -> Document:
    """The session of a visit, for `session.html`; it stands under the key `session`.

    One that is only a file in `artifacts/` is shown from there (dual-source rule).
    """
    session = session_of(visit)
    if session is None:
        return _from_file(visit, file_of(visit))
    status, project = session.status, visit.site.workspace.project
    return {
        **_bounded(status_json(status, visit.now, project.ack_deadline)),
        "source": "mail",
        "stands": _stands(status),
        "tabs": _tabs(session),
        "rail": session.once(rail),
        "card": _card(session),
        "turns": _turns(status, visit),
        "waits": _waits(status),
        **needs_document(session, visit),
    }


def session_of(visit: RequestContext) -> Session | None:
    """The session of a visit; None where it has no mail, and a file in `artifacts/`."""
    try:
        return visit.session
    except RequestError as refused:
        if refused.diagnostic.code != UNKNOWN_THREAD:
            raise
        if read_session_file(visit.site.workspace.project, visit.thread_id) is None:
            raise
    return None


def file_of(visit: RequestContext) -> LoadedVersion:
    """The version in the file of a session that has no mail."""
    return load_version(visit.site.workspace, Target(visit.thread_id, visit.number("version")))


def _bounded(document: dict[str, object]) -> dict[str, object]:
    """The status, with the beginning of each long list; `cut` says how long it is."""
    cut: dict[str, int] = {}

    def short(name: str, value: object) -> object:
        if isinstance(value, dict):
            return {key: short(f"{name}.{key}", each) for key, each in value.items()}
        if isinstance(value, list) and len(value) > _MOST_LISTED:
            cut[name] = len(value)
            return value[:_MOST_LISTED]
        return value

    return {key: short(key, value) for key, value in document.items()} | {"cut": cut}


def _stands(status: SessionStatus) -> str:
    """`round 2, awaiting deltas`, as the first line of `session status` has it."""
    words = PHASE_WORDS[status.phase]
    return f"round {status.round}, {words}" if status.phase else words


def _tabs(session: Session) -> list[Mapping[str, object]]:
    """Each with what there is of it; None where nobody counts."""
    status = session.status
    counts: dict[str, int | None] = {
        "artifact": sum(statistics(session.history.state.artifact).values())
        if status.version
        else 0,
        "thread": status.position,
        "versions": len(session.history.versions),
        "agents": len(status.participants),
    }
    return [_tab(session.thread_id, name, counts.get(name)) for name in links.TABS]


def _tab(thread_id: str, name: str, count: int | None) -> Mapping[str, object]:
    tab = "" if name == links.TABS[0] else name
    return {"name": name, "link": links.session(thread_id, tab), "count": count}


def _card(session: Session) -> Mapping[str, object] | None:
    version, report = session.status.version, session.lint
    if version is None or report is None:
        return None
    since = since_words(session.status)
    return {
        **card(session.history.state.artifact, report),
        "message_id": version.message_id,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "status": version.status,
        "contributors": session.once(contributors),
        "conflicts": len(session.history.state.conflicts),
        "persistence": session.persistence._asdict(),
        "since": list(since) if since else [],
    }


def _turns(status: SessionStatus, visit: RequestContext) -> list[Mapping[str, object]]:
    """Whose turn it is: those for whom the round waits come first."""
    ordered = sorted(status.participants, key=lambda each: not each.is_awaited)[:_MOST_LISTED]
    return [
        {"name": each.name, "role": each.role, **turn_words(each, status, visit.now)._asdict()}
        for each in ordered
    ]


def _waits(status: SessionStatus) -> str:
    waits = joined(each.name for each in status.awaited)
    return f"The round waits for {waits}" if waits else "The round waits for nobody"


# A session without mail


def _from_file(visit: RequestContext, loaded: LoadedVersion) -> Document:
    """The same keys, as far as a file can tell."""
    project, thread_id = visit.site.workspace.project, visit.thread_id
    artifact, metadata = loaded.artifact, loaded.artifact.metadata
    report = lint(artifact, source=readable_source(project))
    return {
        "thread_id": thread_id,
        "kind": classify_thread_id(thread_id).value,
        "question": artifact.research_thread.text("statement"),
        "round": None,
        "phase": None,
        "attention": [],
        "participants": [],
        "position": 0,
        "first_at": metadata.created_at,
        "last_at": metadata.updated_at or metadata.compiled_at,
        "source": "file",
        "stands": "only in its file",
        "tabs": [_tab(thread_id, "artifact", sum(statistics(artifact).values()))],
        "rail": {"rounds": [], "earlier": None},
        "card": {
            **card(artifact, report),
            "message_id": None,
            **_stamped(metadata),
            "contributors": [
                {"name": name, "deltas": None, "items": None} for name in metadata.contributors
            ],
            "conflicts": 0,
            "persistence": persistence_of(project, thread_id, loaded.text)._asdict(),
            "since": [],
        },
        "turns": [],
        "waits": "",
        "next_step": None if visit.guest_of is not None else _in_a_terminal(thread_id),
    }


def _in_a_terminal(thread_id: str) -> Document:
    words = "read it in a terminal"
    command = f"brenner artifact show {thread_argument(thread_id)}"
    nothing: list[Document] = []
    return {
        "words": words,
        "aim": words,
        "command": command,
        "instead": None,
        "pages": nothing,
        "forms": nothing,
    }


def _stamped(metadata: Metadata) -> dict[str, object]:
    return {
        "compiled_at": metadata.compiled_at,
        "compiled_by": metadata.compiled_by,
        "status": metadata.status,
    }
