"""Messages that the operator writes in the lab: checked as `brenner mail send` checks them, shown
as they would be sent, and sent.
"""

from collections.abc import Iterable
from typing import NamedTuple

from brenner.diagnostics.codes.mail import UNKNOWN_MESSAGE
from brenner.diagnostics.codes.messages import INVALID_HEADER
from brenner.diagnostics.model import Diagnostic, Refused
from brenner.mail.model import Sent, Stored, stored_json
from brenner.protocol.message_types import wants_ack
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.validate import Report
from brenner.services.send import SUBJECT, SendOptions, examine_text, placed, send_text
from brenner.text import joined
from brenner.web import links
from brenner.web.forms import is_number, many
from brenner.web.lab.action import Done
from brenner.web.lab.desk import lab_desk, lab_key
from brenner.web.lab.kickoff_form import blank
from brenner.web.page import Document
from brenner.web.visit import Visit

MOST_OFFERED = 60  # names that a form offers; others can be written
TO, MORE = "to", "more"


class Letter(NamedTuple):
    """A message as it was put together, and which message it answers."""

    message: Message
    reply_to: int | None = None

    @property
    def text(self) -> str:
        """The text of its file."""
        return render_message_file(self.message)


class Checked(NamedTuple):
    """What there is to say of a letter, each with the part of the form that it is about."""

    violations: tuple[dict[str, object], ...]
    is_valid: bool
    corrected: str | None = None
    sent: Sent | None = None


def check_letter(visit: Visit, letter: Letter) -> Checked:
    """What `mail send` would say; nothing is stored."""
    broken = _broken(letter)
    if broken:
        return broken
    desk = lab_desk(visit)
    report = examine_text(desk.mailbox, letter.text, _options(visit, letter))
    return _checked(letter, report)


def send_letter(visit: Visit, letter: Letter) -> Checked:
    """Send it, unless something is wrong with it."""
    broken = _broken(letter)
    if broken:
        return broken
    report, sent = send_text(lab_desk(visit).mailbox, letter.text, _options(visit, letter))
    return _checked(letter, report)._replace(sent=sent)


def _options(visit: Visit, letter: Letter) -> SendOptions:
    project = visit.site.desk.project
    return SendOptions(
        actor=project.operator,
        reply_to=letter.reply_to,
        key=lab_key(visit),
        operator=project.operator,
        project=project,
    )


def _broken(letter: Letter) -> Checked | None:
    """A line feed in a header would begin another header, or the body. A letter without a text
    says nothing, and could settle what it answers all the same.
    """
    message = letter.message
    if not message.body.strip():
        found = blank("body", "what you want to say", "text")
        return Checked(({**found.to_json(), "at": "body"},), is_valid=False)
    for part, text in ((SUBJECT, message.subject), (TO, " ".join(message.recipients))):
        if len(text.splitlines()) > 1:
            found = INVALID_HEADER.at(line_text=text, reason="it has more than one line")
            return Checked(({**found.to_json(), "at": part},), is_valid=False)
    return None


def _checked(letter: Letter, report: Report) -> Checked:
    found = tuple(_at(letter.text, each) for each in report.violations)
    return Checked(found, report.valid, report.corrected)


def _at(text: str, found: Diagnostic) -> dict[str, object]:
    part, moved = placed(text, found)
    return {**moved.to_json(), "at": part}


# What forms show


def preview_document(letter: Letter, checked: Checked) -> Document:
    """The message as it would be sent, and what there is to say of it."""
    message = letter.message
    return {
        "thread_id": message.thread_id,
        "from": message.sender,
        "to": list(message.recipients),
        "subject": message.subject,
        "body": message.body,
        "ack_required": wants_ack(message),
        "valid": checked.is_valid,
        "violations": list(checked.violations),
        "corrected": checked.corrected,
    }


def people(visit: Visit, first: Iterable[str] = ()) -> tuple[str, ...]:
    """Whom a form offers as recipients: some first, then everybody in the session."""
    operator = visit.site.desk.project.operator
    try:
        there = [each.name for each in visit.session.status.participants]
    except Refused:  # a thread that is no session has none
        there = []
    names = dict.fromkeys((*first, *there))
    return tuple(name for name in names if name != operator)[:MOST_OFFERED]


def message_of(visit: Visit, given: str) -> Stored:
    """A message of the thread; one of another thread is none that can be named here."""
    stored = visit.site.desk.mailbox.message(int(given) if is_number(given) else 0)
    if stored.message.thread_id != visit.thread_id:
        raise Refused(UNKNOWN_MESSAGE.at(id=stored.id))
    return stored


def recipients(visit: Visit) -> tuple[str, ...]:
    """Those who were chosen, and those who were written."""
    written = ",".join((*many(visit, TO), visit.form.get(MORE, ""))).split(",")
    return tuple(dict.fromkeys(name.strip() for name in written if name.strip()))


def ended(text: str) -> str:
    """A text as a body: it ends as a line does."""
    return text if text.endswith("\n") or not text else f"{text}\n"


# What came of it


def sent_done(visit: Visit, checked: Checked, sent: Sent) -> Done:
    """What was sent, in one line; and what to do next."""
    stored = sent.stored
    message = stored.message
    what = f"Sent message {stored.id} to {joined(message.recipients)} in {message.thread_id}."
    if not sent.is_new:
        what = f"That was sent before, as message {stored.id}; nothing was sent now."
    waits = "Recipients owe an ACK for it." if sent.is_new and wants_ack(message) else ""
    document = {
        "sent": sent.is_new,
        "message": stored_json(stored),
        "violations": list(checked.violations),
    }
    to = (
        (links.message(stored.id), f"Message {stored.id}"),
        (links.session(visit.thread_id, "thread"), "The thread"),
        (links.session(visit.thread_id), "The session"),
    )
    says = " ".join(filter(None, (what, waits)))
    return Done(is_done=True, says=says, document=document, to=to)
