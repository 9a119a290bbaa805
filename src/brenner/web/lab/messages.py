"""Lab actions that send a message: reply, acknowledge and critique.

Messages are checked as `brenner mail send` checks them, and previewed as they would be sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

from brenner.diagnostics.codes.mail import EVERY_BLOCK_REFUSED, UNKNOWN_MESSAGE
from brenner.diagnostics.model import BrennerError, RequestError, UnknownOutcomeError
from brenner.lazy_pattern import lazy_pattern
from brenner.mail.model import SendResult, stored_json
from brenner.mail.rules import check_recipient
from brenner.named_tuple import NamedTuple
from brenner.protocol.message_types import (
    ACK_STATUSES,
    CRITIQUE,
    QUESTION,
    SEVERITIES,
    SectionRule,
    wants_ack,
)
from brenner.protocol.messages import (
    Message,
    StoredMessage,
    header_errors,
    render_message_file,
)
from brenner.protocol.subjects import compose_subject, parse_subject
from brenner.services.acknowledge import RECEIVED
from brenner.services.send import (
    SUBJECT_FIELD,
    SendOptions,
    examine_text,
    locate_in_draft,
    reply_recipients,
    send_text,
)
from brenner.text import escape_control, joined, plural
from brenner.web import links
from brenner.web.decisions import question_about
from brenner.web.lab.actions import (
    Action,
    ActionResult,
    lab_workspace,
    mailbox_key,
    request_schema,
    send_lab_ack,
)
from brenner.web.lab.kickoffs import empty_field, known_names
from brenner.web.request import Page, RequestContext, form_values, is_digits

MAX_OFFERED = 60  # names that a form offers; others can be typed
TO_FIELD, MORE_FIELD = "to", "more"


class CheckedDraft(NamedTuple):
    """A message from a form, its violations with their fields, and the result if it was sent."""

    message: Message
    violations: tuple[dict[str, object], ...] = ()
    is_valid: bool = False
    corrected: str | None = None
    sent: SendResult | None = None


def check_draft(
    context: RequestContext,
    message: Message,
    reply_to: int | None = None,
    *,
    send: bool,
    anyway: bool = False,
) -> CheckedDraft:
    """Check a message as `mail send` does. Send it if that is wanted and it is valid."""
    fault = _form_fault(message)
    if fault:
        return CheckedDraft(message, (fault,))
    project, mailbox = context.site.workspace.project, lab_workspace(context).mailbox
    options = SendOptions(
        actor=project.operator,
        reply_to=reply_to,
        key=mailbox_key(context),
        operator=project.operator,
        project=project,
        anyway=anyway,
    )
    text, sent = render_message_file(message), None
    if send:
        report, sent = send_text(mailbox, text, options)
    else:
        report = examine_text(mailbox, text, options)
    found = (locate_in_draft(text, each) for each in report.violations)
    violations = tuple({**moved.to_json(), "at": part} for part, moved in found)
    return CheckedDraft(message, violations, report.valid, report.corrected, sent)


def _form_fault(message: Message) -> dict[str, object] | None:
    """Return the fault of a message that has no body, or a header with control characters.

    A line feed in a header would begin another header, or the body. A message without a body says
    nothing, but could still settle an ACK.
    """
    if not message.body.strip():
        found = empty_field("body", "what you want to say", "message")
        return {**found.to_json(), "at": "body"}
    for found in header_errors(message):
        at = SUBJECT_FIELD if dict(found.parameters)["what"] == SUBJECT_FIELD else TO_FIELD
        return {**found.to_json(), "at": at}
    return None


# Documents and fields of the forms


def preview_page(checked: CheckedDraft) -> Page:
    """Return the message as it would be sent, with its violations."""
    message = checked.message
    document = {
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
    return Page("lab/letter_preview.html", "Preview", document, is_live=False)


def offered_recipients(context: RequestContext, first: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the recipients that a form offers: `first`, then participants, then known agents."""
    operator = context.site.workspace.project.operator
    try:
        there = [each.name for each in context.session.status.participants]
    except RequestError:  # a thread that is no session
        there = []
    names = dict.fromkeys((*first, *there, *known_names(context.site.workspace)))
    return tuple(name for name in names if name != operator)[:MAX_OFFERED]


def thread_message(context: RequestContext, given: str) -> StoredMessage:
    """Return a message of the thread. Raise RequestError if it is of another thread."""
    stored = context.site.workspace.mailbox.message(int(given) if is_digits(given) else 0)
    if stored.message.thread_id != context.thread_id:
        raise RequestError(UNKNOWN_MESSAGE.at(id=stored.id))
    return stored


def recipients(context: RequestContext) -> tuple[str, ...]:
    """Return the recipients that were checked or typed."""
    written = ",".join((*form_values(context, TO_FIELD), context.form.get(MORE_FIELD, ""))).split(
        ","
    )
    return tuple(dict.fromkeys(name.strip() for name in written if name.strip()))


def with_newline(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"


# Results


def sent_result(context: RequestContext, checked: CheckedDraft, sent: SendResult) -> ActionResult:
    """Return what was sent, in one line, and the links to go on with."""
    stored = sent.stored
    message = stored.message
    what = f"Sent message {stored.id} to {joined(message.recipients)} in {message.thread_id}."
    if not sent.is_new:
        what = f"This message was sent before, as message {stored.id}. Nothing was sent."
    waits = "Each recipient must acknowledge it." if sent.is_new and wants_ack(message) else ""
    document = {
        "thread_id": context.thread_id,
        "sent": sent.is_new,
        "message": stored_json(stored),
        "violations": list(checked.violations),
    }
    to = (
        (links.message(stored.id), f"Open message {stored.id}"),
        (links.session(context.thread_id, "thread"), "Open the thread"),
        (links.session(context.thread_id), "Open the session"),
    )
    says = " ".join(filter(None, (what, waits)))
    return ActionResult(is_done=True, says=says, document=document, to=to)


# Reply to a message, or write to a session


_REPLY_PREFIX = lazy_pattern(r"(?:\s*+re\s*+:)++\s*+", re.IGNORECASE)
_ACK_ANSWERS = {"yes": True, "no": False}


def _reply_form(context: RequestContext, checked: CheckedDraft | None = None) -> Page:
    original = _original(context)
    typed = bool(context.form)
    chosen = recipients(context) if typed else _default_recipients(context, original)
    offered = offered_recipients(
        context, chosen if not typed else _default_recipients(context, original)
    )
    subject = context.form.get("subject", "") if typed else _reply_subject(original)
    body, asked = context.form.get("body", ""), _question(context)
    if asked is not None and not typed:
        chosen, subject, body = asked
        offered = offered_recipients(context, chosen)
    document = {
        "thread_id": context.thread_id,
        "answered": _message_document(original) | {"body": original.message.body}
        if original
        else None,
        "offered": list(offered),
        "chosen": list(chosen),
        "fields": {
            "subject": subject,
            "body": body,
            "ack": context.form.get("ack", ""),
            "more": ", ".join(name for name in chosen if name not in offered),
        },
        "owes_ack": original is not None and _owes_ack(context, original),
        "acknowledge": not typed or context.form.get("acknowledge") == "yes",
        "offers_anyway": _offers_anyway(context, checked),
        "violations": list(checked.violations) if checked else [],
    }
    title = f"Reply to message {original.id}" if original else "Write a message"
    status = HTTPStatus.UNPROCESSABLE_ENTITY if checked else HTTPStatus.OK
    return Page("lab/reply.html", title, document, status, is_live=False)


def _question(context: RequestContext) -> tuple[tuple[str, ...], str, str] | None:
    """Return recipients, subject and text of the question that a link asks, about a conflict."""
    item, field = context.query.get("item"), context.query.get("field")
    found = question_about(context.session, item, field) if item and field else None
    if found is None:
        return None
    body = f"# {QUESTION.title}\n\n## Question\n{found[1]}\n\n## Urgency\nSoon\n"
    return found[0], compose_subject(QUESTION.name, f"{item} {field}, which value?"), body


def _offers_anyway(context: RequestContext, checked: CheckedDraft | None) -> bool:
    """Return whether the form asks to confirm a DELTA that would contribute nothing."""
    codes = {each["id"] for each in checked.violations} if checked else ()
    return EVERY_BLOCK_REFUSED.id in codes or _is_anyway(context)


def _is_anyway(context: RequestContext) -> bool:
    return context.form.get("anyway") == "yes"


def _reply(context: RequestContext) -> ActionResult | Page:
    original = _checked_original(context)
    checked = _checked_reply(context, original, send=True)
    if checked.sent is None:
        return _reply_form(context, checked)
    done = sent_result(context, checked, checked.sent)
    if original is None or not _acknowledges(context):
        return done
    return _with_ack(context, original.id, done)


def _reply_preview(context: RequestContext) -> Page:
    return preview_page(_checked_reply(context, _checked_original(context), send=False))


def _checked_reply(
    context: RequestContext, original: StoredMessage | None, *, send: bool
) -> CheckedDraft:
    form = context.form
    message = Message(
        thread_id=context.thread_id,
        sender=context.site.workspace.project.operator,
        recipients=recipients(context),
        subject=form.get("subject", "").strip(),
        body=with_newline(form.get("body", "")),
        ack_required=_wants_ack(context),
    )
    reply_to = original.id if original else None
    return check_draft(context, message, reply_to, send=send, anyway=_is_anyway(context))


def _wants_ack(context: RequestContext) -> bool | None:
    """Return whether an ACK is requested, None for the default of the type.

    A script's `false` is not among the form fields, so the JSON is read.
    """
    answer = context.sent.get("ack") if isinstance(context.sent, Mapping) else None
    return answer if isinstance(answer, bool) else _ACK_ANSWERS.get(context.form.get("ack", ""))


def _with_ack(context: RequestContext, message_id: int, done: ActionResult) -> ActionResult:
    """Acknowledge the original message after the reply. If that fails, the result says so."""
    try:
        ack, _ = send_lab_ack(context, message_id)
    except BrennerError as error:
        found = error.diagnostic
        says = f"{done.says} Message {message_id} was not acknowledged: {found.message}"
        document = {**done.document, "violations": [found.to_json()], "heading": "Partly done"}
        return done._replace(is_done=False, says=says, document=document)
    says = f"{done.says} Message {message_id} was acknowledged in message {ack.stored.id}."
    return done._replace(says=says)


def _acknowledges(context: RequestContext) -> bool:
    return context.form.get("acknowledge") == "yes"


def _checked_original(context: RequestContext) -> StoredMessage | None:
    """Return the message that is replied to. If it is to be acknowledged, check that it can be."""
    original = _original(context)
    if _acknowledges(context) and original is None:
        raise RequestError(empty_field("message", "the number of the message to acknowledge"))
    if _acknowledges(context) and original:
        check_recipient(original, context.site.workspace.project.operator)
    return original


def _original(context: RequestContext) -> StoredMessage | None:
    given = context.form.get("message") or context.query.get("message") or ""
    return thread_message(context, given) if given else None


def _default_recipients(context: RequestContext, original: StoredMessage | None) -> tuple[str, ...]:
    operator = context.site.workspace.project.operator
    return reply_recipients(original, operator) if original else ()


def _owes_ack(context: RequestContext, original: StoredMessage) -> bool:
    operator = context.site.workspace.project.operator
    found = context.site.workspace.mailbox.deliveries(original.id)
    return any(each.recipient == operator and each.owes_ack for each in found)


def _reply_subject(original: StoredMessage | None) -> str:
    """Return a valid subject that refers to the original one."""
    if original is None:
        return ""
    known = parse_subject(original.message.subject)
    words = known.description if known else original.message.subject
    return compose_subject("INFO", f"Re: {_REPLY_PREFIX.sub('', words, count=1)}")


def _message_document(stored: StoredMessage) -> dict[str, object]:
    return {
        "id": stored.id,
        "from": stored.message.sender,
        "subject": stored.message.subject,
        "type": stored.type,
        "at": stored.at.isoformat(),
    }


_REPLY_SCHEMA = request_schema(
    texts=("subject", "body", MORE_FIELD),
    names=(TO_FIELD,),
    numbers=("message",),
    answers=("ack",),
    flags=("acknowledge", "anyway"),
)
REPLY_ACTION = Action("reply", _reply_form, _reply, _reply_preview, schema=_REPLY_SCHEMA)


# Acknowledge messages


_MAX_SHOWN = 200
_NOTHING_CHOSEN = "Select at least one message."


def _acknowledge_form(context: RequestContext, problem: str = "") -> Page:
    workspace = context.site.workspace
    pending = workspace.mailbox.debts(workspace.project.operator, context.thread_id)
    requested = context.query.get("message", "")
    chosen = (
        form_values(context, "message")
        if context.form
        # By default the last copy of each message: its ACK settles the earlier copies, too
        else ((requested,) if requested else tuple(str(each.last.id) for each in pending))
    )
    shown = [
        _message_document(each.last)
        | {"at": each.first.at.isoformat(), "times_sent": each.times_sent, "is_owed": True}
        for each in pending[:_MAX_SHOWN]
    ]
    owed = {str(each["id"]) for each in shown}
    others = [
        _message_document(thread_message(context, each)) | {"times_sent": 1, "is_owed": False}
        for each in chosen
        if each not in owed
    ]
    document = {
        "thread_id": context.thread_id,
        "messages": [*others, *shown],
        "chosen": list(chosen),
        "owed_in_all": len(pending),
        "statuses": list(ACK_STATUSES),
        "fields": {
            "status": context.form.get("status", RECEIVED),
            "notes": context.form.get("notes", ""),
        },
        "problem": problem,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return Page("lab/acknowledge.html", "Acknowledge", document, status, is_live=False)


def _acknowledge(context: RequestContext) -> ActionResult | Page:
    """Acknowledge each message by an ACK of its own, after checking all of them."""
    ids = _chosen_messages(context)
    problem = _problem(context, ids)
    if problem:
        return _acknowledge_form(context, problem)
    status, notes = context.form.get("status") or RECEIVED, context.form.get("notes", "").strip()
    sent: list[tuple[int, SendResult, BrennerError | None]] = []
    for each in ids:
        try:
            sent.append((each, *send_lab_ack(context, each, status, notes)))
        except BrennerError as error:
            if not sent:
                raise
            return _acknowledge_result(context, sent, len(ids), error)
    return _acknowledge_result(context, sent, len(ids))


def _acknowledge_dry_run(context: RequestContext) -> Page:
    return _acknowledge_form(context, _problem(context, _chosen_messages(context)))


def _problem(context: RequestContext, ids: Sequence[int]) -> str:
    """Return what is wrong with the form, empty if nothing is."""
    status = context.form.get("status") or RECEIVED
    if status not in ACK_STATUSES:
        return (
            f"“{escape_control(status)}” is not a status of an ACK. "
            f"Choose one: {', '.join(ACK_STATUSES)}."
        )
    return "" if ids else _NOTHING_CHOSEN


def _chosen_messages(context: RequestContext) -> list[int]:
    """Return the chosen messages. Raise RequestError if one cannot be acknowledged."""
    messages = [
        thread_message(context, each) for each in dict.fromkeys(form_values(context, "message"))
    ]
    for stored in messages:
        check_recipient(stored, context.site.workspace.project.operator)
    return [stored.id for stored in messages]


def _acknowledge_result(
    context: RequestContext,
    sent: list[tuple[int, SendResult, BrennerError | None]],
    wanted: int,
    error: BrennerError | None = None,
) -> ActionResult:
    """Return what was sent, and where it stopped if not all was."""
    new = [each for each, ack, _ in sent if ack.is_new]
    says = f"Acknowledged {plural(len(new), 'message')}: {', '.join(map(str, new))}."
    if not new:
        says = "These messages were acknowledged before. Nothing was sent."
    if error:
        rest = (
            "It is unknown whether the next one was"
            if isinstance(error, UnknownOutcomeError)
            else "The others were not"
        )
        says = f"Acknowledged {len(sent)} of {wanted} messages. {rest}: {error.diagnostic.message}"
    unmarked = [unmarked for _, _, unmarked in sent if unmarked]
    found = [*([error] if error else []), *unmarked]
    document = {
        "thread_id": context.thread_id,
        "acknowledged": [
            {"id": each, "sent": ack.is_new, "ack": stored_json(ack.stored)}
            for each, ack, _ in sent
        ],
        "violations": [each.diagnostic.to_json() for each in found],
    }
    to = (
        *(
            [(links.lab("acknowledge", context.thread_id), "Acknowledge the others")]
            if error
            else []
        ),
        (links.session(context.thread_id, "thread"), "Open the thread"),
        (links.session(context.thread_id), "Open the session"),
        (links.LAB, "All messages that wait for you"),
    )
    return ActionResult(is_done=error is None, says=says, document=document, to=to)


_ACKNOWLEDGE_SCHEMA = request_schema(messages=("message",), texts=("status", "notes"))
ACKNOWLEDGE_ACTION = Action(
    "acknowledge",
    _acknowledge_form,
    _acknowledge,
    schema=_ACKNOWLEDGE_SCHEMA,
    dry_run=_acknowledge_dry_run,
)


# Send a critique


_MAX_ITEMS, _MAX_TITLE = 300, 120
_OTHER = "other"
_CHOOSE_ITEM = "Choose an item, or write one into “Something else”."
TARGET_SECTION, SEVERITY_SECTION = "Target", "Severity"
# Sections that are typed; target and severity are chosen
_WRITTEN_SECTIONS = tuple(
    rule for rule in CRITIQUE.sections if rule.name not in (TARGET_SECTION, SEVERITY_SECTION)
)


def _critique_form(context: RequestContext, checked: CheckedDraft | None = None) -> Page:
    typed = bool(context.form)
    offered = offered_recipients(context)
    chosen = recipients(context) if typed else offered
    items = _items(context)
    target = context.form.get("target", "") if typed else context.query.get("item", "")
    is_listed = any(target == each["id"] for each in items)
    document = {
        "thread_id": context.thread_id,
        "version": _version(context),
        "items": items[:_MAX_ITEMS],
        "items_in_all": len(items),
        "severities": list(SEVERITIES),
        "sections": [_section_document(rule, context) for rule in _WRITTEN_SECTIONS],
        "offered": list(offered),
        "chosen": list(chosen),
        "fields": {
            "title": context.form.get("title", ""),
            "target": target if is_listed or not target else _OTHER,
            _OTHER: context.form.get(_OTHER, "" if is_listed else target),
            "severity": context.form.get("severity", "Major"),
            "more": ", ".join(name for name in chosen if name not in offered),
        },
        "violations": list(checked.violations) if checked else [],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if checked else HTTPStatus.OK
    return Page("lab/critique.html", "Send a critique", document, status, is_live=False)


def _in_form_words(context: RequestContext, checked: CheckedDraft) -> CheckedDraft:
    """Return the violations beside their fields, in the words of the form.

    Without a target there is no subject either; only the target is reported then.
    """
    fields = {rule.missing.id: rule.name for rule in CRITIQUE.sections if rule.missing}
    found: list[dict[str, object]] = []
    for each in checked.violations:
        name = fields.get(str(each["id"]))
        if name:
            fix = _CHOOSE_ITEM if name == TARGET_SECTION else f"Fill in “{name}”."
            message = str(each["message"]).partition(":")[0] + "."
            found.append({**each, "message": message, "at": name.lower(), "line": None, "fix": fix})
        elif _target(context) or each["at"] != SUBJECT_FIELD:
            found.append(each)
    return checked._replace(violations=tuple(found))


def _send_critique(context: RequestContext) -> ActionResult | Page:
    checked = _checked_critique(context, send=True)
    if checked.sent is None:
        return _critique_form(context, checked)
    return sent_result(context, checked, checked.sent)


def _critique_preview(context: RequestContext) -> Page:
    return preview_page(_checked_critique(context, send=False))


def _checked_critique(context: RequestContext, *, send: bool) -> CheckedDraft:
    target = _target(context)
    title = " ".join(context.form.get("title", "").split()) or target
    message = Message(
        thread_id=context.thread_id,
        sender=context.site.workspace.project.operator,
        recipients=recipients(context),
        subject=compose_subject(CRITIQUE.name, title),
        body=_critique_body(context, title, target),
    )
    return _in_form_words(context, check_draft(context, message, send=send))


def _critique_body(context: RequestContext, title: str, target: str) -> str:
    """Return the filled sections, and the version that the critique is about."""
    version = _version(context)
    base = f"**{CRITIQUE.version_field}**: v{version}\n\n" if version else ""
    severity = context.form.get("severity", "")
    values = {TARGET_SECTION: target, SEVERITY_SECTION: severity if severity in SEVERITIES else ""}
    values |= {rule.name: context.form.get(_field(rule), "").strip() for rule in _WRITTEN_SECTIONS}
    parts = [
        f"## {rule.name}\n{with_newline(values[rule.name])}"
        for rule in CRITIQUE.sections
        if values[rule.name]
    ]
    return f"# Critique: {title}\n\n{base}" + "\n".join(parts)


def _target(context: RequestContext) -> str:
    """Return the target item with its title, for readers without the artifact."""
    given = context.form.get("target", "")
    if given in ("", _OTHER):
        return " ".join(context.form.get(_OTHER, "").split())
    titles = {str(each["id"]): str(each["title"]) for each in _items(context)}
    return f"{given}: {titles[given]}" if given in titles else given


def _items(context: RequestContext) -> list[dict[str, object]]:
    """Return the items of the latest version that are not killed."""
    latest = context.session.latest
    if latest is None:
        return []
    return [
        {"id": item.id, "title": " ".join(item.title.split())[:_MAX_TITLE], "section": section.id}
        for section, item in latest.artifact.all_items()
        if item.is_active and (item.fields or item.id != latest.artifact.research_thread.id)
    ]


def _version(context: RequestContext) -> int | None:
    latest = context.session.latest
    return latest.artifact.metadata.version if latest else None


def _section_document(rule: SectionRule, context: RequestContext) -> dict[str, object]:
    name = _field(rule)
    return {
        "name": name,
        "label": rule.name,
        "asks": rule.asks,
        "value": context.form.get(name, ""),
    }


def _field(rule: SectionRule) -> str:
    return rule.name.lower().replace(" ", "_")


_CRITIQUE_TEXTS = (
    "title",
    "target",
    _OTHER,
    "severity",
    *map(_field, _WRITTEN_SECTIONS),
    MORE_FIELD,
)
CRITIQUE_ACTION = Action(
    "critique",
    _critique_form,
    _send_critique,
    _critique_preview,
    schema=request_schema(texts=_CRITIQUE_TEXTS, names=(TO_FIELD,)),
)
