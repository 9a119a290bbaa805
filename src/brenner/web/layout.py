"""What all pages of a session share: header, tabs, artifact card, rail (timeline of rounds), and
what needs attention.

It is on every page, so it uses only the status and values that are cached per session.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from brenner.diagnostics.codes.mail import UNKNOWN_THREAD
from brenner.diagnostics.model import RequestError
from brenner.lint.linter import LintReport, lint
from brenner.persist.git import persistence_of
from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE
from brenner.protocol.message_types import BLOCKED, COMPILED, CRITIQUE, DELTA, HANDOFF, QUESTION
from brenner.protocol.messages import iso
from brenner.protocol.thread_ids import classify_thread_id
from brenner.services.compile import load_readable_source_text
from brenner.services.evidence import readable_pack
from brenner.services.session_files import read_session_file
from brenner.services.versions import LoadedVersion, Target, load_version
from brenner.session.compiled_message import schema_verdict, statistics, third_alternative
from brenner.session.overview import status_json
from brenner.session.status_text import (
    Attention,
    NextStep,
    StatusReader,
    StepAction,
    attention,
    describe_independent,
    describe_round,
    describe_settled,
    describe_turn,
    describe_unread,
    next_step,
)
from brenner.text import joined, thread_argument
from brenner.web import links
from brenner.web.agent_marks import names_by_appearance
from brenner.web.decisions import open_decisions
from brenner.web.draft import is_requested
from brenner.web.messages import thread_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from brenner.artifact.model import Artifact
    from brenner.protocol.messages import StoredMessage
    from brenner.session.model import SessionStatus
    from brenner.session.participants import ThreadRound
    from brenner.web.request import Document, RequestContext
    from brenner.web.sessions import Session

# The *Latest Artifact* card of the publish document.


def artifact_card(artifact: Artifact, report: LintReport) -> dict[str, object]:
    """Return the facts of a version, under the names of the publish document."""
    return {
        "version": artifact.metadata.version,
        "statistics": statistics(artifact),
        "schema": schema_verdict(report),
        "lint": report.summary._asdict(),
        "valid": report.valid,
        "third_alternative": third_alternative(artifact),
    }


def contributors(session: Session) -> list[Mapping[str, object]]:
    """Return the authors of the artifact: their DELTA messages and the items with their values."""
    deltas = session.cached(delta_counts)
    items: dict[str, int] = {}
    for changes in session.history.state.blame.values():
        agents = (change.source.agent for change in changes.values() if change.value)
        for agent in dict.fromkeys(agents):  # each once, in a stable order
            items[agent] = items.get(agent, 0) + 1
    # An adopted version has no blame: use the contributors in its front matter.
    names = items or dict.fromkeys(session.history.state.artifact.metadata.contributors, 0)
    return [
        {"name": name, "deltas": deltas.get(name, 0), "items": items.get(name, 0)} for name in names
    ]


def delta_counts(session: Session) -> Mapping[str, int]:
    """Count the DELTA messages of each sender, including an operator who takes no part."""
    senders = (each.message.sender for each in session.messages if each.type == DELTA.name)
    return Counter(senders)


# What needs the operator, and the next step.
#
# Sentences and commands are those of the command line. Forms of the lab come before commands.
# Guests get no commands.


_MESSAGE_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "blocked": BLOCKED.name,
        "question": QUESTION.name,
        "handoff": HANDOFF.name,
        "critique": CRITIQUE.name,
    }
)
_NO_COMMAND = ("read", "watch")
_NOTHING_TO_DO = "Nothing to do now. New messages appear here by themselves."
# An agent waits for these
_URGENT_KINDS = (
    *("stopped", "blocked", "question", "overdue", "refused", "misplaced"),
    *("unanswered", "no_kickoff"),
)


def attention_document(session: Session, context: RequestContext) -> dict[str, object]:
    """Return what needs the operator, most urgent first, each with a link; then the next step."""
    found = attention(session.status, context.now, context.site.workspace.project.ack_deadline)
    return {
        "attention": [
            {
                "kind": each.kind,
                "text": each.text,
                "link": _attention_link(session, each, context),
                "is_pressing": each.kind in _URGENT_KINDS,
            }
            for each in found
        ],
        "next_step": None if context.guest_of is not None else _next_step(session, context),
    }


# The tab that lists what needs attention, with its filter and the place on the page
_UNREAD = ("ledger", {"version": "unread"}, "")
_LISTS: Mapping[str, tuple[str, dict[str, str], str]] = MappingProxyType(
    {
        "ready": _UNREAD,
        "late": _UNREAD,
        "no_kickoff": _UNREAD,
        "refused": ("ledger", {"outcome": "refused"}, ""),
        "misplaced": ("ledger", {}, "#misplaced"),
        "overdue": ("agents", {}, ""),
        "conflict": ("artifact", {}, "#conflicts"),
        "third_alternative": ("artifact", {}, ""),
    }
)
# What only the operator decides; guests see where it is
_DECIDED = ("conflict", "third_alternative")


def _attention_link(session: Session, each: Attention, context: RequestContext) -> str:
    """Return the page that shows it: the one message or item, or the list of them."""
    thread_id = session.thread_id
    if each.kind in _DECIDED and context.guest_of is None:
        return links.session(thread_id, "decide") + f"#{each.kind}"
    if each.kind in _LISTS:
        tab, query, fragment = _LISTS[each.kind]
        return links.session(thread_id, tab, **query) + fragment
    if len(each.messages) + len(each.items) == 1 or each.kind == "unanswered":
        return _single_link(session, each)
    if each.items:
        return links.session(thread_id, "artifact", section=ADVERSARIAL_CRITIQUE.id)
    kind = _MESSAGE_TYPES.get(each.kind)
    return links.session(thread_id, "thread" if kind else "versions", type=kind)


def _single_link(session: Session, each: Attention) -> str:
    if each.items:
        return links.item(session.thread_id, each.items[0])
    return thread_address(session, each.messages[0]) or links.message(each.messages[0])


def _next_step(session: Session, context: RequestContext) -> Document:
    project = context.site.workspace.project
    reader = StatusReader(project.operator, project.operator, context.now, project.ack_deadline)
    step = next_step(session.status, reader, session.notified_messages)
    has_command = step.does not in _NO_COMMAND
    forms = _step_forms(session, step) if context.site.is_lab else ()
    return {
        "words": _NOTHING_TO_DO if step.does == "watch" else step.words,
        "aim": _NOTHING_TO_DO if step.does == "watch" else step.purpose or step.words,
        "command": step.command if has_command else None,
        "instead": list(step.instead) if step.instead else None,
        "pages": [{"link": to, "words": words} for to, words in _step_pages(session, step)],
        "forms": [{"link": to, "words": words} for to, words in forms],
    }


def _step_pages(session: Session, step: NextStep) -> Iterator[tuple[str, str]]:
    """Yield the pages about a step that all readers can open."""
    thread_id = session.thread_id
    if step.does == "verify":
        yield links.session(thread_id, "versions", verify=1), "Verify"
    elif step.does == "read":
        tab, words = ("artifact", "Artifact") if session.history.versions else ("thread", "Thread")
        yield links.session(thread_id, tab), words
    elif step.message_id is not None:
        there = thread_address(session, step.message_id) or links.message(step.message_id)
        yield there, f"Message {step.message_id}"


def _step_forms(session: Session, step: NextStep) -> Iterator[tuple[str, str]]:
    """Yield the lab forms that do the step, best one first."""
    thread_id = session.thread_id
    if session.status.cancelled:
        yield links.lab("reopen", thread_id), "Reopen"
        return
    if step.does == "acknowledge":
        yield links.lab("reply", thread_id, message=step.message_id), "Reply"
        yield links.lab("acknowledge", thread_id, message=step.message_id), "Acknowledge"
    for does in (step.does, step.or_does):
        if does is not None and does in _FORM_LABELS:
            reopen = "yes" if session.status.is_over else None
            yield links.lab(does, thread_id, reopen=reopen), _FORM_LABELS[does]


# By action
_FORM_LABELS: Mapping[StepAction, str] = MappingProxyType(
    {"compile": "Compile", "round": "Start next round", "complete": "Complete session"}
)


# The rail: a timeline of the rounds


# A round with more changes of type than this is shown as counts
_MAX_STEPS = 9
_MAX_ROUNDS = 8
_MAX_AGENTS = 4


def rail(session: Session) -> Mapping[str, object]:
    """Return the latest rounds, oldest first. `earlier` links to those before."""
    rounds = session.rounds
    shown = rounds[-_MAX_ROUNDS:]
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


def _round(session: Session, each: ThreadRound, *, is_last: bool) -> Mapping[str, object]:
    thread_id = session.thread_id
    runs = [(name, list(some)) for name, some in groupby(each.messages, key=attrgetter("type"))]
    is_long = len(runs) > _MAX_STEPS
    steps = _type_counts(each) if is_long else (_rail_step(each, *run) for run in runs)
    version = each.version.number if each.version else None
    return {
        "round": each.number,
        "version": version,
        "messages": len(each.messages),
        "link": links.session(thread_id, "thread", round=each.number),
        "current": is_last and version is None,
        "at": iso(each.messages[-1].at),
        "steps": list(steps),
    }


def _rail_step(
    round_: ThreadRound, name: str | None, run: Sequence[StoredMessage]
) -> Mapping[str, object]:
    """Return a run of messages of the same type. `version` is the one that it published."""
    agents = list(dict.fromkeys(each.message.sender for each in run))
    version = round_.version
    is_published = version is not None and any(each.id == version.message_id for each in run)
    return {
        "type": name,
        "version": version.number if version and is_published else None,
        "count": len(run),
        "agents": agents[:_MAX_AGENTS],
        "more_agents": max(0, len(agents) - _MAX_AGENTS),
        "message_id": run[0].id if len(run) == 1 else None,
        "at": iso(run[0].at),
    }


def _type_counts(round_: ThreadRound) -> Iterator[Mapping[str, object]]:
    """Yield the messages of each type in a long round. The COMPILED message comes last."""
    counts = Counter(each.type for each in round_.messages)
    ending = COMPILED.name if round_.version else None
    for name in [*(each for each in counts if each != ending), *([ending] if ending else [])]:
        yield {
            "type": name,
            "version": round_.version.number if round_.version and name == ending else None,
            "count": counts[name],
            "agents": [],
            "more_agents": 0,
            "message_id": None,
            "at": None,
        }


# Per list of the status: a session may have thousands of open ACKs
_MAX_LISTED = 50


def session_document(context: RequestContext) -> Document:
    """Return the session for `session.html`, under the key `session` of the page.

    A session without mail is shown from its file in `artifacts/` (dual-source rule).
    """
    session = session_or_none(context)
    if session is None:
        return _file_document(context, load_session_file(context))
    status, project = session.status, context.site.workspace.project
    return {
        **_truncate_lists(status_json(status, context.now, project.ack_deadline)),
        "source": "mail",
        "operator": project.operator,
        "appearance": list(session.cached(names_by_appearance)),
        "stands": _phase_line(status),
        "tabs": [
            *_tabs(session, is_draft=is_requested(context)),
            *_decide_tab(session, context),
        ],
        "rail": session.cached(rail),
        "card": _card_document(session),
        "turns": _turns(status, context),
        "waits": _awaited_text(status),
        "settled_words": describe_settled(status),
        "independent_words": describe_independent(status),
        **attention_document(session, context),
    }


def _awaited_text(status: SessionStatus) -> str:
    names = joined(each.name for each in status.awaited)
    if status.cancelled:
        found = status.cancelled
        return f"{found.by} cancelled the session in message {found.message_id}: {found.reason}"
    if status.is_over:
        return "The session is complete"
    return f"Waiting for {names}" if names else "No agent owes anything in this round"


def session_or_none(context: RequestContext) -> Session | None:
    """Return the session, or None if it has no mail but a file in `artifacts/`."""
    try:
        return context.session
    except RequestError as refused:
        if refused.diagnostic.code != UNKNOWN_THREAD:
            raise
        if read_session_file(context.site.workspace.project, context.thread_id) is None:
            raise
    return None


def load_session_file(context: RequestContext) -> LoadedVersion:
    return load_version(
        context.site.workspace, Target(context.thread_id, context.query_number("version"))
    )


def _truncate_lists(document: dict[str, object]) -> dict[str, object]:
    """Truncate the long lists of the status. `cut` has their full lengths."""
    cut: dict[str, int] = {}

    def short(name: str, value: object) -> object:
        if isinstance(value, dict):
            return {key: short(f"{name}.{key}", each) for key, each in value.items()}
        if isinstance(value, list) and len(value) > _MAX_LISTED:
            cut[name] = len(value)
            return value[:_MAX_LISTED]
        return value

    return {key: short(key, value) for key, value in document.items()} | {"cut": cut}


def _phase_line(status: SessionStatus) -> str:
    """Return `round 2, awaiting deltas`, as the first line of `session status` has it."""
    text = describe_round(status.phase, status.round)
    return text[0].lower() + text[1:]


def _tabs(session: Session, *, is_draft: bool) -> list[Mapping[str, object]]:
    status = session.status
    counts: dict[str, int | None] = {
        "artifact": sum(statistics(session.history.state.artifact).values())
        if status.version
        else 0,
        "thread": status.position,
        "versions": len(session.history.versions),
        "agents": len(status.participants),
    }
    query = _KEEP_DRAFT if is_draft else _NO_QUERY
    return [_tab(session.thread_id, name, counts.get(name), query) for name in links.TABS]


_NO_QUERY: Mapping[str, object] = MappingProxyType({})
_KEEP_DRAFT: Mapping[str, object] = MappingProxyType({"draft": 1})


def _decide_tab(session: Session, context: RequestContext) -> Iterator[Mapping[str, object]]:
    """Yield the tab of the decisions, with their number. Guests have none."""
    if context.guest_of is None:
        query = _KEEP_DRAFT if is_requested(context) else _NO_QUERY
        yield _tab(session.thread_id, "decide", open_decisions(session, context).total, query)


def _tab(
    thread_id: str, name: str, count: int | None, query: Mapping[str, object] = _NO_QUERY
) -> Mapping[str, object]:
    tab = "" if name == links.TABS[0] else name
    return {"name": name, "link": links.session(thread_id, tab, **query), "count": count}


def _card_document(session: Session) -> Mapping[str, object] | None:
    version, report = session.status.version, session.lint
    if version is None or report is None:
        return None
    since = describe_unread(session.status)
    return {
        **artifact_card(session.history.state.artifact, report),
        "message_id": version.message_id,
        "compiled_at": version.compiled_at,
        "compiled_by": version.compiled_by,
        "status": version.status,
        "contributors": session.cached(contributors),
        "conflicts": len(session.history.state.conflicts),
        "persistence": session.persistence._asdict(),
        "since": list(since) if since else [],
    }


def _turns(status: SessionStatus, context: RequestContext) -> list[Mapping[str, object]]:
    """Return whose turn it is, awaited participants first."""
    ordered = sorted(status.participants, key=lambda each: not each.is_awaited)[:_MAX_LISTED]
    return [
        {"name": each.name, "role": each.role, **describe_turn(each, status, context.now)._asdict()}
        for each in ordered
    ]


# A session without mail


def _file_document(context: RequestContext, loaded: LoadedVersion) -> Document:
    """Return the same keys as far as a file has them."""
    project, thread_id = context.site.workspace.project, context.thread_id
    artifact, metadata = loaded.artifact, loaded.artifact.metadata
    report = lint(artifact, source=load_readable_source_text(project), pack=readable_pack(project))
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
        "operator": project.operator,
        "appearance": list(metadata.contributors),
        "stands": "saved file only",
        "tabs": [
            _tab(thread_id, "overview", None),
            _tab(thread_id, "artifact", sum(statistics(artifact).values())),
        ],
        "rail": {"rounds": [], "earlier": None},
        "card": {
            **artifact_card(artifact, report),
            "message_id": None,
            "compiled_at": metadata.compiled_at,
            "compiled_by": metadata.compiled_by,
            "status": metadata.status,
            "contributors": [
                {"name": name, "deltas": None, "items": None} for name in metadata.contributors
            ],
            "conflicts": 0,
            "persistence": persistence_of(project, thread_id, loaded.text)._asdict(),
            "since": [],
        },
        "turns": [],
        "independent_words": "",
        "waits": "",
        "settled_words": "",
        "next_step": None
        if context.guest_of is not None
        else {
            "words": "read it in a terminal",
            "aim": "read it in a terminal",
            "command": f"brenner artifact show {thread_argument(thread_id)}",
            "instead": None,
            "pages": [],
            "forms": [],
        },
    }
