"""Messages that the operator writes in the lab: checked as `brenner mail send` checks them, shown
as they would be sent, and sent.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from brenner.diagnostics.codes.mail import UNKNOWN_MESSAGE
from brenner.diagnostics.codes.messages import INVALID_HEADER
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnknownOutcomeError
from brenner.mail.model import PendingAck, Sent, StoredMessage, stored_json
from brenner.mail.rules import check_recipient
from brenner.protocol.message_types import (
    ACK_STATUSES,
    CRITIQUE,
    SEVERITIES,
    SectionRule,
    wants_ack,
)
from brenner.protocol.messages import Message, render_message_file
from brenner.protocol.subjects import compose_subject, parse_subject
from brenner.protocol.validate import Report
from brenner.services.acknowledge import RECEIVED, Acknowledged
from brenner.services.send import SUBJECT, SendOptions, answered_to, examine_text, placed, send_text
from brenner.text import counted, escape_control, joined
from brenner.web import links
from brenner.web.lab.actions import Action, Done, lab_ack, lab_desk, lab_key, takes
from brenner.web.lab.kickoffs import blank
from brenner.web.request import Document, Page, RequestContext, is_number, many

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


def check_letter(visit: RequestContext, letter: Letter) -> Checked:
    """What `mail send` would say; nothing is stored."""
    broken = _broken(letter)
    if broken:
        return broken
    workspace = lab_desk(visit)
    report = examine_text(workspace.mailbox, letter.text, _options(visit, letter))
    return _checked(letter, report)


def send_letter(visit: RequestContext, letter: Letter) -> Checked:
    """Send it, unless something is wrong with it."""
    broken = _broken(letter)
    if broken:
        return broken
    report, sent = send_text(lab_desk(visit).mailbox, letter.text, _options(visit, letter))
    return _checked(letter, report)._replace(sent=sent)


def _options(visit: RequestContext, letter: Letter) -> SendOptions:
    project = visit.site.workspace.project
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


def people(visit: RequestContext, first: Iterable[str] = ()) -> tuple[str, ...]:
    """Whom a form offers as recipients: some first, then everybody in the session."""
    operator = visit.site.workspace.project.operator
    try:
        there = [each.name for each in visit.session.status.participants]
    except RequestError:  # a thread that is no session has none
        there = []
    names = dict.fromkeys((*first, *there))
    return tuple(name for name in names if name != operator)[:MOST_OFFERED]


def message_of(visit: RequestContext, given: str) -> StoredMessage:
    """A message of the thread; one of another thread is none that can be named here."""
    stored = visit.site.workspace.mailbox.message(int(given) if is_number(given) else 0)
    if stored.message.thread_id != visit.thread_id:
        raise RequestError(UNKNOWN_MESSAGE.at(id=stored.id))
    return stored


def recipients(visit: RequestContext) -> tuple[str, ...]:
    """Those who were chosen, and those who were written."""
    written = ",".join((*many(visit, TO), visit.form.get(MORE, ""))).split(",")
    return tuple(dict.fromkeys(name.strip() for name in written if name.strip()))


def ended(text: str) -> str:
    """A text as a body: it ends as a line does."""
    return text if text.endswith("\n") or not text else f"{text}\n"


# What came of it


def sent_done(visit: RequestContext, checked: Checked, sent: Sent) -> Done:
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


# To answer a message, or to write to a session.


_RE = re.compile(r"(?:\s*+re\s*+:)++\s*+", re.IGNORECASE)
_ASKED = {"yes": True, "no": False}


def _form(visit: RequestContext, checked: Checked | None = None) -> Page:
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


def _do(visit: RequestContext) -> Done | Page:
    answered = _to_answer(visit)
    checked = send_letter(visit, _letter(visit, answered))
    if checked.sent is None:
        return _form(visit, checked)
    done = sent_done(visit, checked, checked.sent)
    if answered is None or not _acknowledges(visit):
        return done
    return _also_acknowledged(visit, answered.id, done)


def _preview(visit: RequestContext) -> Page:
    letter = _letter(visit, _to_answer(visit))
    document = preview_document(letter, check_letter(visit, letter))
    return Page("lab/letter_preview.html", "Preview", document, is_live=False)


def _letter(visit: RequestContext, answered: StoredMessage | None) -> Letter:
    form = visit.form
    message = Message(
        thread_id=visit.thread_id,
        sender=visit.site.workspace.project.operator,
        recipients=recipients(visit),
        subject=form.get("subject", "").strip(),
        body=ended(form.get("body", "")),
        ack_required=_wants_ack(visit),
    )
    return Letter(message, answered.id if answered else None)


def _wants_ack(visit: RequestContext) -> bool | None:
    """As it was said; None leaves it to the type. A script's `false` is no field of a form."""
    said = visit.sent.get("ack") if isinstance(visit.sent, Mapping) else None
    return said if isinstance(said, bool) else _ASKED.get(visit.form.get("ack", ""))


def _also_acknowledged(visit: RequestContext, message_id: int, done: Done) -> Done:
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


def _acknowledges(visit: RequestContext) -> bool:
    return visit.form.get("acknowledge") == "yes"


def _to_answer(visit: RequestContext) -> StoredMessage | None:
    """The message that is answered. Where it is to be acknowledged, it must be one that can be."""
    answered = _answered(visit)
    if _acknowledges(visit) and answered is None:
        raise RequestError(blank("message", "which one is acknowledged"))
    if _acknowledges(visit) and answered:
        check_recipient(answered, visit.site.workspace.project.operator)
    return answered


def _answered(visit: RequestContext) -> StoredMessage | None:
    """The message that is answered, if any is."""
    given = visit.form.get("message") or visit.asked.get("message") or ""
    return message_of(visit, given) if given else None


def _first_recipients(visit: RequestContext, answered: StoredMessage | None) -> tuple[str, ...]:
    operator = visit.site.workspace.project.operator
    return answered_to(answered, operator) if answered else ()


def _owes_ack(visit: RequestContext, answered: StoredMessage) -> bool:
    operator = visit.site.workspace.project.operator
    found = visit.site.workspace.mailbox.deliveries(answered.id)
    return any(each.recipient == operator and each.owes_ack for each in found)


def _subject(answered: StoredMessage | None) -> str:
    """A valid one: it tells something, and says to what."""
    if answered is None:
        return ""
    known = parse_subject(answered.message.subject)
    words = known.description if known else answered.message.subject
    return compose_subject("INFO", f"Re: {_RE.sub('', words, count=1)}")


def _answered_document(answered: StoredMessage) -> dict[str, object]:
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


# To acknowledge a message, or all that is owed in a session.


_MOST_SHOWN = 200
_NOTHING_CHOSEN = "Choose at least one message."


def _acknowledge_form(visit: RequestContext, problem: str = "") -> Page:
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


def _acknowledge_do(visit: RequestContext) -> Done | Page:
    """Each by an ACK of its own. All are looked at before the first one is sent."""
    ids = _acknowledge_checked(visit)
    problem = _problem(visit, ids)
    if problem:
        return _acknowledge_form(visit, problem)
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


def _tried(visit: RequestContext) -> Page:
    """What a dry run says: the same faults, and nothing is sent."""
    return _acknowledge_form(visit, _problem(visit, _acknowledge_checked(visit)))


def _problem(visit: RequestContext, ids: Sequence[int]) -> str:
    """What is wrong with the form; nothing is sent then."""
    status = visit.form.get("status") or RECEIVED
    if status not in ACK_STATUSES:
        return f"“{escape_control(status)}” is no status of an ACK. Choose one: {', '.join(ACK_STATUSES)}."
    return "" if ids else _NOTHING_CHOSEN


def _acknowledge_checked(visit: RequestContext) -> list[int]:
    """The messages that were chosen; one that cannot be acknowledged is refused."""
    messages = [message_of(visit, each) for each in dict.fromkeys(many(visit, "message"))]
    for stored in messages:
        check_recipient(stored, visit.site.workspace.project.operator)
    return [stored.id for stored in messages]


def _done(
    visit: RequestContext,
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
        rest = (
            "Of the next one nobody knows"
            if isinstance(error, UnknownOutcomeError)
            else "No more were"
        )
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


def _debts(visit: RequestContext) -> tuple[PendingAck, ...]:
    workspace = visit.site.workspace
    return workspace.mailbox.debts(workspace.project.operator, visit.thread_id)


def _ids(debts: tuple[PendingAck, ...]) -> tuple[str, ...]:
    """The last copy of each: to acknowledge it settles the earlier ones, too."""
    return tuple(str(debt.last.id) for debt in debts)


def _debt_document(debt: PendingAck) -> dict[str, object]:
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


def _message_document(visit: RequestContext, given: str) -> dict[str, object]:
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


_ACKNOWLEDGE_TAKES = takes(messages=("message",), texts=("status", "notes"))
ACKNOWLEDGE_ACTION = Action(
    "acknowledge", _acknowledge_form, _acknowledge_do, takes=_ACKNOWLEDGE_TAKES, tried=_tried
)


# To send a critique: which item, what is wrong with it, how bad that is.


_MOST_ITEMS, _MOST_TITLE = 300, 120
_OTHER = "other"
_CHOOSE = "Choose the item, or write it into “Something else”."
TARGET, SEVERITY = "Target", "Severity"
# What is written; the target and how bad it is are chosen
_WRITTEN = tuple(rule for rule in CRITIQUE.sections if rule.name not in (TARGET, SEVERITY))


def _critique_form(visit: RequestContext, checked: Checked | None = None) -> Page:
    typed = bool(visit.form)
    offered = people(visit)
    chosen = recipients(visit) if typed else offered
    items = _items(visit)
    target = visit.form.get("target", "") if typed else visit.asked.get("item", "")
    is_listed = any(target == each["id"] for each in items)
    document = {
        "thread_id": visit.thread_id,
        "version": _version(visit),
        "items": items[:_MOST_ITEMS],
        "items_in_all": len(items),
        "severities": list(SEVERITIES),
        "sections": [_section(rule, visit) for rule in _WRITTEN],
        "offered": list(offered),
        "chosen": list(chosen),
        "fields": {
            "title": visit.form.get("title", ""),
            "target": target if is_listed or not target else _OTHER,
            _OTHER: visit.form.get(_OTHER, "" if is_listed else target),
            "severity": visit.form.get("severity", "Major"),
            "more": ", ".join(name for name in chosen if name not in offered),
        },
        "violations": list(checked.violations) if checked else [],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if checked else HTTPStatus.OK
    return Page("lab/critique.html", "Send a critique", document, status, is_live=False)


def _in_form(visit: RequestContext, checked: Checked) -> Checked:
    """What is wrong, beside the field that is meant, and in the words of a form. Without a target
    there is no subject either: that is said once.
    """
    fields = {rule.missing.id: rule.name for rule in CRITIQUE.sections if rule.missing}
    found: list[dict[str, object]] = []
    for each in checked.violations:
        name = fields.get(str(each["id"]))
        if name:
            fix = _CHOOSE if name == TARGET else f"Fill in “{name}”."
            message = str(each["message"]).partition(":")[0] + "."
            found.append({**each, "message": message, "at": name.lower(), "line": None, "fix": fix})
        elif _target(visit) or each["at"] != SUBJECT:
            found.append(each)
    return checked._replace(violations=tuple(found))


def _critique_do(visit: RequestContext) -> Done | Page:
    checked = _in_form(visit, send_letter(visit, _critique_letter(visit)))
    return (
        sent_done(visit, checked, checked.sent) if checked.sent else _critique_form(visit, checked)
    )


def _critique_preview(visit: RequestContext) -> Page:
    letter = _critique_letter(visit)
    document = preview_document(letter, _in_form(visit, check_letter(visit, letter)))
    return Page("lab/letter_preview.html", "Preview", document, is_live=False)


def _critique_letter(visit: RequestContext) -> Letter:
    title = " ".join(visit.form.get("title", "").split())
    target = _target(visit)
    return Letter(
        Message(
            thread_id=visit.thread_id,
            sender=visit.site.workspace.project.operator,
            recipients=recipients(visit),
            subject=compose_subject(CRITIQUE.name, title or target),
            body=_body(visit, title or target, target),
        )
    )


def _body(visit: RequestContext, title: str, target: str) -> str:
    """The sections of the type that say something, and the version that is spoken of."""
    version = _version(visit)
    base = f"**{CRITIQUE.version_field}**: v{version}\n\n" if version else ""
    severity = visit.form.get("severity", "")
    values = {TARGET: target, SEVERITY: severity if severity in SEVERITIES else ""}
    values |= {rule.name: visit.form.get(_field(rule), "").strip() for rule in _WRITTEN}
    parts = [
        f"## {rule.name}\n{ended(values[rule.name])}"
        for rule in CRITIQUE.sections
        if values[rule.name]
    ]
    return f"# Critique: {title}\n\n{base}" + "\n".join(parts)


def _target(visit: RequestContext) -> str:
    """An item with its title, for those who do not have the artifact before them."""
    given = visit.form.get("target", "")
    if given in ("", _OTHER):
        return " ".join(visit.form.get(_OTHER, "").split())
    titles = {str(each["id"]): str(each["title"]) for each in _items(visit)}
    return f"{given}: {titles[given]}" if given in titles else given


def _items(visit: RequestContext) -> list[dict[str, object]]:
    """What of the latest version can be attacked: everything that was not killed."""
    latest = visit.session.latest
    if latest is None:
        return []
    return [
        {"id": item.id, "title": " ".join(item.title.split())[:_MOST_TITLE], "section": section.id}
        for section, item in latest.artifact.all_items()
        if item.is_active and (item.fields or item.id != latest.artifact.research_thread.id)
    ]


def _version(visit: RequestContext) -> int | None:
    latest = visit.session.latest
    return latest.artifact.metadata.version if latest else None


def _section(rule: SectionRule, visit: RequestContext) -> dict[str, object]:
    name = _field(rule)
    return {
        "name": name,
        "label": rule.name,
        "asks": rule.asks,
        "value": visit.form.get(name, ""),
    }


def _field(rule: SectionRule) -> str:
    """The name of a section in the form."""
    return rule.name.lower().replace(" ", "_")


_TEXTS = ("title", "target", _OTHER, "severity", *map(_field, _WRITTEN), MORE)
CRITIQUE_ACTION = Action(
    "critique",
    _critique_form,
    _critique_do,
    _critique_preview,
    takes=takes(texts=_TEXTS, names=(TO,)),
)
