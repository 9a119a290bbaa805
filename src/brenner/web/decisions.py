"""What waits for the operator's decision: rejected and misplaced blocks, items that ask for an
answer, conflicts, a missing third alternative, lint errors, messages to answer, overdue ACKs.

What cannot be decided now is not listed: an ended session asks only for what came after its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.artifact.diff import describe_block, value_text
from brenner.diagnostics.model import Diagnostic, Severity, worst_first
from brenner.named_tuple import NamedTuple
from brenner.protocol.delta.schema import HYPOTHESIS_SLATE
from brenner.protocol.message_types import BLOCKED, QUESTION
from brenner.session.model import Phase
from brenner.session.status import undecided_conflicts
from brenner.text import cut
from brenner.web import links
from brenner.web.messages import thread_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from brenner.artifact.model import Item
    from brenner.artifact.state import Conflict, Entry, Source
    from brenner.session.model import OpenAck, OpenMessage, RefusedBlock, SessionStatus
    from brenner.session.unanswered import UnansweredItem
    from brenner.web.request import Document, RequestContext
    from brenner.web.sessions import Session

_MOST_SHOWN = 50  # of each kind
_LONGEST_VALUE, _LONGEST_NAME = 1200, 120
_FOCUS_ON_THIRD = "Add a third alternative: a hypothesis that holds if all others are wrong"


class OpenDecisions(NamedTuple):
    """What waits for the operator, by kind, in the order of the page."""

    asked: tuple[OpenMessage, ...] = ()
    refused: tuple[RefusedBlock, ...] = ()
    misplaced: tuple[RefusedBlock, ...] = ()
    unanswered: tuple[UnansweredItem, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    lint: tuple[Diagnostic, ...] = ()  # errors about one item
    lacking: tuple[Diagnostic, ...] = ()  # errors that only new items fix, for the next round
    overdue: tuple[OpenAck, ...] = ()
    third_alternative: tuple[int, ...] = ()  # the round that can ask for one

    @property
    def total(self) -> int:
        """The number of decisions. What a version lacks is one: to ask for it."""
        return sum(map(len, self._replace(lacking=self.lacking[:1])))


def open_decisions(session: Session, context: RequestContext) -> OpenDecisions:
    status = session.status
    if status.phase in (Phase.CANCELLED, None):
        return OpenDecisions()
    late = status.overdue(context.now, context.site.workspace.project.ack_deadline)
    found = OpenDecisions(
        asked=tuple(_open_requests(status)),
        misplaced=status.needed_misplaced,
        overdue=tuple(each for each in late if each.debtor != status.operator),
    )
    if status.is_over:
        return found
    report, can_ask = session.lint, status.phase is Phase.IN_CRITIQUE
    errors = [e for e in report.violations if e.severity is Severity.ERROR] if report else []
    return found._replace(
        refused=status.refusals,
        unanswered=status.unanswered,
        conflicts=open_conflicts(session),
        lint=tuple(each for each in errors if each.item),
        lacking=tuple(each for each in errors if not each.item) if can_ask else (),
        third_alternative=(status.round,) if can_ask and status.lacks_third_alternative else (),
    )


def open_conflicts(session: Session) -> tuple[Conflict, ...]:
    """Return the conflicts of the latest version that no later message has decided."""
    return undecided_conflicts(session.history, session.merged.state)


def can_change(status: SessionStatus) -> bool:
    """Return whether a delta of the operator can change the artifact now."""
    return not status.is_over and status.version is not None


def published_items(session: Session) -> Mapping[str, Item]:
    """Return the items of the latest version by ID."""
    return {item.id: item for _, item in session.history.state.artifact.all_items()}


def decisions_document(session: Session, context: RequestContext) -> Document:
    """Return every decision with what a reader needs for it, each kind truncated."""
    found = open_decisions(session, context)
    shown = OpenDecisions._make(each[:_MOST_SHOWN] for each in found)
    more = (max(0, len(each) - _MOST_SHOWN) for each in found)
    return {
        "count": found.total,
        "asked": [_asked(session, each) for each in shown.asked],
        "refused": [_block(session, each) for each in shown.refused],
        "misplaced": [_block(session, each) for each in shown.misplaced],
        "unanswered": [_unanswered(session, each) for each in shown.unanswered],
        "conflicts": [conflict_document(session, each) for each in shown.conflicts],
        "lint": [_lint_error(session, each) for each in shown.lint],
        "lacking": [_lint_error(session, each) for each in shown.lacking],
        "overdue": [_overdue(session, each) for each in shown.overdue],
        "third_alternative": [
            {"round": number, "focus": _FOCUS_ON_THIRD} for number in shown.third_alternative
        ],
        "more": dict(zip(OpenDecisions._fields, more, strict=True)),
    }


# Messages that ask the operator


def _open_requests(status: SessionStatus) -> Iterator[OpenMessage]:
    """Yield the questions and blockers for the operator, or for any agent."""
    for each in (*status.of_type(BLOCKED.name), *status.of_type(QUESTION.name)):
        if not each.waiting_for or status.operator in each.waiting_for:
            yield each


def _asked(session: Session, each: OpenMessage) -> Document:
    return {
        "message_id": each.message_id,
        "type": each.type,
        "from": each.sender,
        "about": cut(each.about or each.subject, _LONGEST_VALUE),
        "at": each.at.isoformat(),
        "link": _message_link(session, each.message_id),
    }


def _message_link(session: Session, message_id: int) -> str:
    return thread_address(session, message_id) or links.message(message_id)


# Rejected and misplaced blocks


def block_address(message_id: int, block: int) -> str:
    """Return what `brenner session dismiss` calls a block: `9.1`."""
    return f"{message_id}.{block}"


def _block(session: Session, each: RefusedBlock) -> Document:
    return {
        "address": block_address(each.message_id, each.block),
        "message_id": each.message_id,
        "block": each.block,
        "agent": each.agent,
        "words": _block_words(session, each),
        "notified": each.message_id in session.notified_messages,
        "violations": [found.to_json() for found in sorted(each.diagnostics, key=worst_first)],
        "link": _message_link(session, each.message_id),
    }


def _block_words(session: Session, each: RefusedBlock) -> str:
    """Return what the block wanted: `EDIT H99`, as the ledger has it."""
    entry = session.cached(_entries).get((each.message_id, each.block))
    if entry is not None:
        return describe_block(entry)
    target = each.target_id or each.name or each.section or ""
    return f"{each.operation or 'block'} {target}".strip()


def _entries(session: Session) -> dict[tuple[int, int], Entry]:
    ledgers = [each.entries for each in session.ledgers.values()]
    return {(e.message_id, e.block): e for some in (*ledgers, session.unread_entries) for e in some}


# Items that ask for an answer (R28)


def _unanswered(session: Session, each: UnansweredItem) -> Document:
    item = session.cached(published_items).get(each.item)
    is_hypothesis = each.item.startswith(HYPOTHESIS_SLATE.prefix)
    return {
        **each.to_json(),
        "address": each.address,
        "fact": each.fact,
        "name": cut(item.title, _LONGEST_NAME) if item else "",
        "link": links.item(session.thread_id, each.item)
        if item
        else _message_link(session, each.message_id),
        "field": "claim" if is_hypothesis else "procedure",
        "has_form": item is not None,
    }


# Conflicts


def conflict_document(session: Session, each: Conflict) -> Document:
    """Return all values of a field, the current one first, each with its author."""
    item = session.cached(published_items).get(each.item_id)
    values = zip(conflict_values(each), _sources(each), strict=True)
    return {
        "item": each.item_id,
        "name": cut(item.title, _LONGEST_NAME) if item else "",
        "field": each.field,
        "version": each.version,
        "values": [_value(session, value, source) for value, source in values],
        "has_form": each.path[0] not in _WITHOUT_FORM,
        "link": links.item(session.thread_id, each.item_id),
    }


_WITHOUT_FORM = ("references", "results")  # lists of objects; only their authors can write them


def conflict_values(each: Conflict) -> tuple[object, ...]:
    """Return the values to choose from, the current one first.

    An edit that dropped elements of a list displaces only these, so each other choice has them as
    well.
    """
    if not isinstance(each.value, tuple):
        return (each.value, *(lost.value for lost in each.displaced))
    lost_elements = [lost.value for lost in each.displaced if isinstance(lost.value, tuple)]
    return (each.value, *((*each.value, *elements) for elements in lost_elements))


def edit_text(value: object) -> str:
    """Return a value as the form edits it: a list has one element on a line."""
    if isinstance(value, tuple):
        return "\n".join(map(value_text, value))
    return value_text(value)


def question_about(
    session: Session, item_id: str, field: str
) -> tuple[tuple[str, ...], str] | None:
    """Return the authors of a conflict, and the question to them; None without that conflict."""
    for each in open_conflicts(session):
        if (each.item_id, each.field) == (item_id, field):
            values = zip(conflict_values(each), _sources(each), strict=True)
            said = [
                f"- {source.agent} (message {source.message_id}): {edit_text(value) or 'removed'}"
                for value, source in values
            ]
            asked = f"{item_id} {field} has conflicting values. Which one is right, and why?"
            return tuple(dict.fromkeys(source.agent for source in _sources(each))), "\n".join(
                (asked, "", *said)
            )
    return None


def _sources(each: Conflict) -> tuple[Source, ...]:
    return (each.source, *(lost.source for lost in each.displaced))


def _value(session: Session, value: object, source: Source) -> Document:
    return {
        "text": cut(edit_text(value), _LONGEST_VALUE),
        "is_removed": value is None,
        "agent": source.agent,
        "message_id": source.message_id,
        "link": _message_link(session, source.message_id),
    }


# Lint errors, overdue ACKs, and what the version lacks


def _lint_error(session: Session, each: Diagnostic) -> Document:
    """Return an error of the latest version. One about an item can be fixed in a form."""
    item = session.cached(published_items).get(each.item or "")
    return {
        **each.to_json(),
        "link": links.item(session.thread_id, item.id)
        if item
        else links.session(session.thread_id, "artifact") + "#lint",
        "has_form": item is not None and item.is_active,
    }


def _overdue(session: Session, each: OpenAck) -> Document:
    return {
        "message_id": each.last_message_id,
        "debtor": each.debtor,
        "type": each.type,
        "subject": each.subject,
        "last_sent": each.last_sent.isoformat(),
        "times_sent": each.times_sent,
        "link": _message_link(session, each.message_id),
    }
