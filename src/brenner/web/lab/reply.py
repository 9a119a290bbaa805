"""To answer a message, or to write to a session."""

import re
from collections.abc import Mapping
from http import HTTPStatus

from brenner.diagnostics.model import BrennerError, Refused
from brenner.mail.model import Stored
from brenner.mail.rules import check_recipient
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject, parse_subject
from brenner.services.send import answered_to
from brenner.web.lab.action import Action, Done
from brenner.web.lab.desk import lab_ack
from brenner.web.lab.kickoff_form import blank
from brenner.web.lab.letters import (
    MORE,
    TO,
    Checked,
    Letter,
    check_letter,
    ended,
    message_of,
    people,
    preview_document,
    recipients,
    send_letter,
    sent_done,
)
from brenner.web.lab.requests import takes
from brenner.web.page import Page
from brenner.web.visit import Visit

_RE = re.compile(r"(?:\s*+re\s*+:)++\s*+", re.IGNORECASE)
_ASKED = {"yes": True, "no": False}


def _form(visit: Visit, checked: Checked | None = None) -> Page:
    answered = _answered(visit)
    typed = bool(visit.form)
    chosen = recipients(visit) if typed else _first_recipients(visit, answered)
    offered = people(visit, chosen if not typed else _first_recipients(visit, answered))
    subject = visit.form.get("subject", "") if typed else _subject(answered)
    document = {
        "thread_id": visit.thread_id,
        "answered": _answered_document(answered) if answered else None,
        "offered": list(offered),
        "chosen": list(chosen),
        "fields": {
            "subject": subject,
            "body": visit.form.get("body", ""),
            "ack": visit.form.get("ack", ""),
            "more": ", ".join(name for name in chosen if name not in offered),
        },
        "owes_ack": answered is not None and _owes_ack(visit, answered),
        "acknowledge": not typed or visit.form.get("acknowledge") == "yes",
        "violations": list(checked.violations) if checked else [],
    }
    title = f"Reply to message {answered.id}" if answered else "Write to the session"
    status = HTTPStatus.UNPROCESSABLE_ENTITY if checked else HTTPStatus.OK
    return Page("lab/reply.html", title, document, status, is_live=False)


def _do(visit: Visit) -> Done | Page:
    answered = _to_answer(visit)
    checked = send_letter(visit, _letter(visit, answered))
    if checked.sent is None:
        return _form(visit, checked)
    done = sent_done(visit, checked, checked.sent)
    if answered is None or not _acknowledges(visit):
        return done
    return _also_acknowledged(visit, answered.id, done)


def _preview(visit: Visit) -> Page:
    letter = _letter(visit, _to_answer(visit))
    document = preview_document(letter, check_letter(visit, letter))
    return Page("lab/letter_preview.html", "Preview", document, is_live=False)


def _letter(visit: Visit, answered: Stored | None) -> Letter:
    form = visit.form
    message = Message(
        thread_id=visit.thread_id,
        sender=visit.site.desk.project.operator,
        recipients=recipients(visit),
        subject=form.get("subject", "").strip(),
        body=ended(form.get("body", "")),
        ack_required=_wants_ack(visit),
    )
    return Letter(message, answered.id if answered else None)


def _wants_ack(visit: Visit) -> bool | None:
    """As it was said; None leaves it to the type. A script's `false` is no field of a form."""
    said = visit.sent.get("ack") if isinstance(visit.sent, Mapping) else None
    return said if isinstance(said, bool) else _ASKED.get(visit.form.get("ack", ""))


def _also_acknowledged(visit: Visit, message_id: int, done: Done) -> Done:
    """The reply is sent, whatever becomes of the ACK: nobody is told that both are."""
    try:
        ack = lab_ack(visit, message_id).sent
    except BrennerError as error:
        found = error.diagnostic
        says = f"{done.says} But message {message_id} could not be acknowledged: {found.message}"
        document = {**done.document, "violations": [found.to_json()], "heading": "Done in part"}
        return done._replace(is_done=False, says=says, document=document)
    says = f"{done.says} Message {message_id} is acknowledged, by message {ack.stored.id}."
    return done._replace(says=says)


def _acknowledges(visit: Visit) -> bool:
    return visit.form.get("acknowledge") == "yes"


def _to_answer(visit: Visit) -> Stored | None:
    """The message that is answered. Where it is to be acknowledged, it must be one that can be."""
    answered = _answered(visit)
    if _acknowledges(visit) and answered is None:
        raise Refused(blank("message", "which one is acknowledged"))
    if _acknowledges(visit) and answered:
        check_recipient(answered, visit.site.desk.project.operator)
    return answered


def _answered(visit: Visit) -> Stored | None:
    """The message that is answered, if any is."""
    given = visit.form.get("message") or visit.asked.get("message") or ""
    return message_of(visit, given) if given else None


def _first_recipients(visit: Visit, answered: Stored | None) -> tuple[str, ...]:
    operator = visit.site.desk.project.operator
    return answered_to(answered, operator) if answered else ()


def _owes_ack(visit: Visit, answered: Stored) -> bool:
    operator = visit.site.desk.project.operator
    found = visit.site.desk.mailbox.deliveries(answered.id)
    return any(each.recipient == operator and each.owes_ack for each in found)


def _subject(answered: Stored | None) -> str:
    """A valid one: it tells something, and says to what."""
    if answered is None:
        return ""
    known = parse_subject(answered.message.subject)
    words = known.description if known else answered.message.subject
    return compose_subject("INFO", f"Re: {_RE.sub('', words, count=1)}")


def _answered_document(answered: Stored) -> dict[str, object]:
    message = answered.message
    return {
        "id": answered.id,
        "from": message.sender,
        "subject": message.subject,
        "type": answered.type,
        "at": answered.at.isoformat(),
        "body": message.body,
    }


_TAKES = takes(
    texts=("subject", "body", MORE),
    names=(TO,),
    numbers=("message",),
    answers=("ack",),
    flags=("acknowledge",),
)
ACTION = Action("reply", _form, _do, _preview, takes=_TAKES)
