"""To acknowledge a message, or all that is owed in a session."""

from collections.abc import Sequence
from http import HTTPStatus

from brenner.diagnostics.model import BrennerError, Uncertain
from brenner.mail.model import Debt, stored_json
from brenner.mail.rules import check_recipient
from brenner.protocol.message_types import ACK_STATUSES
from brenner.services.acknowledge import RECEIVED, Acknowledged
from brenner.text import counted, visible
from brenner.web import links
from brenner.web.forms import many
from brenner.web.lab.action import Action, Done
from brenner.web.lab.desk import lab_ack
from brenner.web.lab.letters import message_of
from brenner.web.lab.requests import takes
from brenner.web.page import Page
from brenner.web.visit import Visit

_MOST_SHOWN = 200
_NOTHING_CHOSEN = "Choose at least one message."


def _form(visit: Visit, problem: str = "") -> Page:
    debts = _debts(visit)
    asked = visit.asked.get("message", "")
    chosen = many(visit, "message") if visit.form else ((asked,) if asked else _ids(debts))
    shown = [_debt_document(debt) for debt in debts[:_MOST_SHOWN]]
    owed = {str(each["id"]) for each in shown}
    others = [_message_document(visit, each) for each in chosen if each not in owed]
    document = {
        "thread_id": visit.thread_id,
        "messages": [*others, *shown],
        "chosen": list(chosen),
        "owed_in_all": len(debts),
        "statuses": list(ACK_STATUSES),
        "fields": {
            "status": visit.form.get("status", RECEIVED),
            "notes": visit.form.get("notes", ""),
        },
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return Page("lab/acknowledge.html", "Acknowledge", document, status, is_live=False)


def _do(visit: Visit) -> Done | Page:
    """Each by an ACK of its own. All are looked at before the first one is sent."""
    ids = _checked(visit)
    problem = _problem(visit, ids)
    if problem:
        return _form(visit, problem)
    status, notes = visit.form.get("status") or RECEIVED, visit.form.get("notes", "").strip()
    sent: list[tuple[int, Acknowledged]] = []
    for each in ids:
        try:
            sent.append((each, lab_ack(visit, each, status, notes)))
        except BrennerError as error:
            if not sent:
                raise
            return _done(visit, sent, len(ids), error)
    return _done(visit, sent, len(ids))


def _tried(visit: Visit) -> Page:
    """What a dry run says: the same faults, and nothing is sent."""
    return _form(visit, _problem(visit, _checked(visit)))


def _problem(visit: Visit, ids: Sequence[int]) -> str:
    """What is wrong with the form; nothing is sent then."""
    status = visit.form.get("status") or RECEIVED
    if status not in ACK_STATUSES:
        return f"“{visible(status)}” is no status of an ACK. Choose one: {', '.join(ACK_STATUSES)}."
    return "" if ids else _NOTHING_CHOSEN


def _checked(visit: Visit) -> list[int]:
    """The messages that were chosen; one that cannot be acknowledged is refused."""
    messages = [message_of(visit, each) for each in dict.fromkeys(many(visit, "message"))]
    for stored in messages:
        check_recipient(stored, visit.site.desk.project.operator)
    return [stored.id for stored in messages]


def _done(
    visit: Visit,
    sent: list[tuple[int, Acknowledged]],
    wanted: int,
    error: BrennerError | None = None,
) -> Done:
    """What was sent, and where it stopped: nobody is told that all was done if it was not."""
    new = [each for each, ack in sent if ack.sent.is_new]
    says = f"Acknowledged {counted(len(new), 'message')}: {', '.join(map(str, new))}."
    if not new:
        says = "All of that was acknowledged before; nothing was sent now."
    if error:
        rest = "Of the next one nobody knows" if isinstance(error, Uncertain) else "No more were"
        says = f"{len(sent)} of {wanted} are acknowledged. {rest}: {error.diagnostic.message}"
    unmarked = [ack.unmarked for _, ack in sent if ack.unmarked]
    found = [*([error] if error else []), *unmarked]
    document = {
        "acknowledged": [
            {"id": each, "sent": ack.sent.is_new, "ack": stored_json(ack.sent.stored)}
            for each, ack in sent
        ],
        "violations": [each.diagnostic.to_json() for each in found],
    }
    to = (
        *([(links.lab("acknowledge", visit.thread_id), "Acknowledge the others")] if error else []),
        (links.session(visit.thread_id, "thread"), "The thread"),
        (links.session(visit.thread_id), "The session"),
        (links.LAB, "What you owe elsewhere"),
    )
    return Done(is_done=error is None, says=says, document=document, to=to)


def _debts(visit: Visit) -> tuple[Debt, ...]:
    desk = visit.site.desk
    return desk.mailbox.debts(desk.project.operator, visit.thread_id)


def _ids(debts: tuple[Debt, ...]) -> tuple[str, ...]:
    """The last copy of each: to acknowledge it settles the earlier ones, too."""
    return tuple(str(debt.last.id) for debt in debts)


def _debt_document(debt: Debt) -> dict[str, object]:
    message = debt.last.message
    return {
        "id": debt.last.id,
        "from": message.sender,
        "subject": message.subject,
        "type": debt.last.type,
        "at": debt.first.at.isoformat(),
        "times_sent": debt.times_sent,
        "is_owed": True,
    }


def _message_document(visit: Visit, given: str) -> dict[str, object]:
    stored = message_of(visit, given)
    return {
        "id": stored.id,
        "from": stored.message.sender,
        "subject": stored.message.subject,
        "type": stored.type,
        "at": stored.at.isoformat(),
        "times_sent": 1,
        "is_owed": False,
    }


_TAKES = takes(messages=("message",), texts=("status", "notes"))
ACTION = Action("acknowledge", _form, _do, takes=_TAKES, tried=_tried)
