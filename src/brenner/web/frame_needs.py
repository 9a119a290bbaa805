"""What needs the operator and what she does next, each with the page or the form for it.

The sentences and commands are those of the terminal. Where the lab has a form, that comes first;
who came by a link cannot do anything here, and is told of no command.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from brenner.protocol.delta.schema import ADVERSARIAL_CRITIQUE
from brenner.protocol.message_types import BLOCKED, CRITIQUE, HANDOFF, QUESTION
from brenner.session.status_text import Attention, Does, Reader, Step, attention, next_step
from brenner.web import links
from brenner.web.page import Document
from brenner.web.reading import Session
from brenner.web.thread_order import address
from brenner.web.visit import Visit

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


def needs_document(session: Session, visit: Visit) -> dict[str, object]:
    """What needs her, the worst first, and where each leads; then the next step."""
    found = attention(session.status, visit.now, visit.site.desk.project.ack_deadline)
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


def _next(session: Session, visit: Visit) -> Document:
    project = visit.site.desk.project
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
        tab, words = ("", "Artifact") if session.chain.versions else ("thread", "Thread")
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
