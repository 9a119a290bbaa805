"""Lab actions of the page “Decide”: dismiss what needs no answer, change an item, and send overdue
messages again.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from brenner.artifact.model import list_active
from brenner.diagnostics.codes.artifacts import NO_SUCH_ITEM
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, UnknownOutcomeError
from brenner.mail.model import stored_json
from brenner.protocol.delta.parse import render_delta
from brenner.protocol.delta.schema import (
    EDIT,
    KILL,
    LIST_KINDS,
    MAP_KINDS,
    Delta,
    Field,
    FieldKind,
    Section,
)
from brenner.protocol.message_types import DELTA
from brenner.protocol.messages import Message
from brenner.protocol.subjects import compose_subject
from brenner.services.acknowledge import pending_acks, resend
from brenner.services.decisions import dismiss, dismiss_question
from brenner.services.publish import recipients_of
from brenner.text import cut, joined, plural
from brenner.web import links
from brenner.web.decisions import (
    conflict_values,
    decisions_document,
    edit_text,
    open_conflicts,
)
from brenner.web.lab.actions import Action, ActionResult, lab_workspace, request_schema
from brenner.web.lab.kickoffs import empty_field
from brenner.web.lab.messages import CheckedDraft, check_draft, sent_result
from brenner.web.lab.messages import preview_page as message_preview
from brenner.web.request import Page, RequestContext, form_number, form_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from brenner.artifact.model import Item
    from brenner.protocol.messages import StoredMessage
    from brenner.services.acknowledge import DueAck
    from brenner.web.request import Document


def to_go_on(context: RequestContext) -> tuple[tuple[str, str], ...]:
    """Return the links after a decision."""
    thread_id = context.thread_id
    return (
        (links.session(thread_id, "decide"), "Decide the rest"),
        (links.session(thread_id), "Open the session"),
    )


# Dismiss rejected and misplaced blocks, and items that ask for an answer


_BLOCK, _ITEM, _REASON = "block", "item", "reason"
_CHOOSE = "at least one block or item"


def _chosen(context: RequestContext, name: str) -> tuple[str, ...]:
    """Return what was selected in the form, or by the link to it."""
    if context.form:
        return tuple(dict.fromkeys(form_values(context, name)))
    return (context.query[name],) if name in context.query else ()


def _dismiss_form(context: RequestContext, faults: Sequence[Diagnostic] = ()) -> Page:
    found = decisions_document(context.session, context)
    blocks = [*_listed(found, "refused"), *_listed(found, "misplaced")]
    items = _listed(found, "unanswered")
    chosen: list[object] = [*_chosen(context, _BLOCK), *_chosen(context, _ITEM)]
    if len(blocks) + len(items) == 1 and not context.form:
        chosen = [each["address"] for each in (*blocks, *items)]
    document = {
        "thread_id": context.thread_id,
        "blocks": blocks,
        "items": items,
        "chosen": chosen,
        "fields": {_REASON: context.form.get(_REASON, "")},
        "violations": [each.to_json() | {"at": each.field} for each in faults],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if faults else HTTPStatus.OK
    return Page("lab/dismiss.html", "Dismiss", document, status, is_live=False)


def _listed(found: Document, name: str) -> list[Document]:
    listed = found[name]
    return listed if isinstance(listed, list) else []


def _dismiss_faults(context: RequestContext) -> Iterator[Diagnostic]:
    if not _chosen(context, _BLOCK) and not _chosen(context, _ITEM):
        yield empty_field(_BLOCK, _CHOOSE, "selection")
    for address in _chosen(context, _BLOCK):
        if _block_numbers(address) is None:
            words = "a message and a block, such as 9.1"
            yield empty_field(_BLOCK, words, f"number in {cut(address, 20)!r}")
    if not context.form.get(_REASON, "").strip():
        yield empty_field(_REASON, "why no answer is needed; the agents read it")


def _block_numbers(address: str) -> tuple[int, int] | None:
    message, _, block = address.partition(".")
    is_valid = message.isdecimal() and block.isdecimal() and len(address) < _LONGEST_ADDRESS
    return (int(message), int(block)) if is_valid else None


_LONGEST_ADDRESS = 24


def _dismiss(context: RequestContext) -> ActionResult | Page:
    """Dismiss each block and item by a message of its own, as the command does."""
    faults = tuple(_dismiss_faults(context))
    if faults:
        return _dismiss_form(context, faults)
    done: list[tuple[str, StoredMessage]] = []
    wanted = len(_chosen(context, _BLOCK)) + len(_chosen(context, _ITEM))
    steps = _dismissals(context)
    while len(done) < wanted:
        try:
            done.append(next(steps))
        except BrennerError as error:
            if not done:
                raise
            return _dismiss_result(context, done, wanted, error)
    return _dismiss_result(context, done, wanted)


def _dismissals(context: RequestContext) -> Iterator[tuple[str, StoredMessage]]:
    """Dismiss one after the other; yield what it is and the message that dismisses it."""
    workspace, thread_id = lab_workspace(context), context.thread_id
    reason = context.form.get(_REASON, "").strip()
    for address in _chosen(context, _BLOCK):
        message, block = _block_numbers(address) or (0, 0)
        done = dismiss(workspace, thread_id, message, block, reason)
        yield f"block {address}", done.message
    for address in _chosen(context, _ITEM):
        yield address, dismiss_question(workspace, thread_id, address, reason).message


def _dismiss_result(
    context: RequestContext,
    done: list[tuple[str, StoredMessage]],
    wanted: int,
    error: BrennerError | None = None,
) -> ActionResult:
    says = f"Dismissed {joined(what for what, _ in done)}."
    if error:
        is_unknown = isinstance(error, UnknownOutcomeError)
        rest = "It is unknown whether the next one was" if is_unknown else "The others were not"
        says = f"Dismissed {len(done)} of {wanted}. {rest}: {error.diagnostic.message}"
    document = {
        "thread_id": context.thread_id,
        "dismissed": [
            {"address": what.removeprefix("block "), "message": stored_json(stored)}
            for what, stored in done
        ],
        "violations": [error.diagnostic.to_json()] if error else [],
    }
    return ActionResult(error is None, says, document, to=to_go_on(context))


def _dismiss_dry_run(context: RequestContext) -> Page:
    return _dismiss_form(context, tuple(_dismiss_faults(context)))


DISMISS_ACTION = Action(
    "dismiss",
    _dismiss_form,
    _dismiss,
    schema=request_schema(names=(_BLOCK, _ITEM), texts=(_REASON,)),
    dry_run=_dismiss_dry_run,
)


# Change an item by a DELTA of the operator: an EDIT of one field, or a KILL


_FIELD, _VALUE, _TAKE, _BASE, _OPERATION = "field", "value", "take", "base", "operation"
_RATIONALE = "rationale"
_NOT_EDITED = (FieldKind.REFERENCES, FieldKind.RESULTS)  # lists of objects
_TRUE = "true"


def _asked(context: RequestContext, name: str) -> str:
    return context.form.get(name) or context.query.get(name) or ""


def _item(context: RequestContext) -> tuple[Section, Item]:
    """Return the active item that the form is about. Raise RequestError if there is none."""
    wanted = _asked(context, _ITEM)
    artifact = context.session.history.state.artifact
    for section, item in artifact.all_items():
        if item.id == wanted and item.is_active:
            return section, item
    words = {"name": context.thread_id, "item": wanted, "or_field": "", "suggestion": ""}
    known = list_active(artifact, wanted)
    raise RequestError(NO_SUCH_ITEM.at(None, **words, known=known))


def _is_kill(context: RequestContext) -> bool:
    return _asked(context, _OPERATION).upper() == KILL.value


def editable_fields(section: Section, item: Item) -> Iterator[str]:
    """Yield the fields that the form can change: `claim`, `predictions.H1`."""
    for field in section.fields.values():
        if field.kind in MAP_KINDS:
            yield from (f"{field.name}.{key}" for key in item.mapped(field.name))
        elif field.kind not in _NOT_EDITED:
            yield field.name


def _field(context: RequestContext, section: Section, item: Item) -> str:
    """Return the field to change; without a valid one, the first."""
    known = list(editable_fields(section, item))
    wanted = _asked(context, _FIELD)
    name = wanted.partition(".")[0]
    is_new_key = (
        wanted != name and name in section.fields and (section.fields[name].kind in MAP_KINDS)
    )
    return wanted if wanted in known or is_new_key else known[0]


def _current_text(context: RequestContext, item: Item, field: str) -> str:
    """Return the value to start from: one of a conflict if the link names it, else the item's."""
    take = context.query_number(_TAKE)
    for each in open_conflicts(context.session) if take is not None else ():
        if (each.item_id, each.field) == (item.id, field):
            values = conflict_values(each)
            return edit_text(values[min(take or 0, len(values) - 1)])
    name, _, key = field.partition(".")
    return edit_text(item.mapped(name).get(key, "") if key else item.fields.get(name, ""))


def _change_form(context: RequestContext, checked: CheckedDraft | None = None) -> Page:
    section, item = _item(context)
    field, typed = _field(context, section, item), bool(context.form)
    kind = section.fields[field.partition(".")[0]]
    is_kill = _is_kill(context)
    document: dict[str, object] = {
        "thread_id": context.thread_id,
        "item": item.id,
        "name": cut(item.title, 200),
        "operation": KILL.value if is_kill else EDIT.value,
        "field": field,
        "holds": kind.holds,
        "is_list": kind.kind in LIST_KINDS,
        "choices": _choices(kind),
        "others": [each for each in editable_fields(section, item) if each != field],
        "base": form_number(context.form, _BASE) or context.session.history.number,
        "now": "" if is_kill else _now(item, field),
        "fields": {
            _VALUE: context.form.get(_VALUE, "")
            if typed
            else ("" if is_kill else _current_text(context, item, field)),
            _RATIONALE: context.form.get(_RATIONALE, context.query.get(_RATIONALE, "")),
        },
        "violations": list(checked.violations) if checked else [],
    }
    if not typed:
        document["preview"] = message_preview(_checked_change(context, send=False)).document
    status = HTTPStatus.UNPROCESSABLE_ENTITY if checked else HTTPStatus.OK
    title = f"{'Kill' if is_kill else 'Change'} {item.id}"
    return Page("lab/change.html", title, document, status, is_live=False)


def _now(item: Item, field: str) -> str:
    name, _, key = field.partition(".")
    return edit_text(item.mapped(name).get(key, "") if key else item.fields.get(name, ""))


def _choices(field: Field) -> list[str]:
    return [_TRUE, "false"] if field.kind is FieldKind.FLAG else list(field.choices)


def _payload(field: str, kind: FieldKind, text: str) -> dict[str, object]:
    name, _, key = field.partition(".")
    if kind in LIST_KINDS:
        listed = [line.strip() for line in text.splitlines() if line.strip()]
        return {name: listed, f"{name}_replace": True}
    if kind is FieldKind.SCORE:
        return {name: {key: int(text) if text.strip().isdecimal() else text}}
    if key:
        return {name: {key: text}}
    return {name: text == _TRUE} if kind is FieldKind.FLAG else {name: text}


def _delta(context: RequestContext, section: Section, item: Item) -> Delta:
    why = " ".join(context.form.get(_RATIONALE, "").split())
    if _is_kill(context):
        return Delta(KILL, section.id, item.id, {"reason": why}, why)
    field = _field(context, section, item)
    typed = context.form[_VALUE] if _VALUE in context.form else _current_text(context, item, field)
    payload = _payload(field, section.fields[field.partition(".")[0]].kind, typed.strip())
    return Delta(EDIT, section.id, item.id, payload, why or "The operator's decision")


def _change_fault(context: RequestContext) -> Diagnostic | None:
    if _is_kill(context) and not context.form.get(_RATIONALE, "").strip():
        return empty_field(_RATIONALE, "why it is killed")
    if not _is_kill(context) and _VALUE in context.form and not context.form[_VALUE].strip():
        return empty_field(_VALUE, "the new text")
    return None


def _checked_change(context: RequestContext, *, send: bool) -> CheckedDraft:
    """Compose the DELTA, check it as `mail send` does, and send it if that is wanted."""
    section, item = _item(context)
    session, workspace = context.session, lab_workspace(context)
    delta = _delta(context, section, item)
    what = "killed" if _is_kill(context) else _field(context, section, item)
    base = form_number(context.form, _BASE) or session.history.number
    body = f"# {DELTA.title}\n\n**Base Version**: v{base}\n\n## Deltas\n\n{render_delta(delta)}\n"
    to = recipients_of(workspace, session.history, session.history.state.artifact)
    subject = compose_subject(DELTA.name, f"{item.id} {what}", "human")
    message = Message(context.thread_id, workspace.actor, to, subject, body)
    fault = _change_fault(context)
    if fault:
        return CheckedDraft(message, ({**fault.to_json(), "at": fault.field},))
    return check_draft(context, message, send=send)


def _change(context: RequestContext) -> ActionResult | Page:
    checked = _checked_change(context, send=True)
    if checked.sent is None:
        return _change_form(context, checked)
    done = sent_result(context, checked, checked.sent)
    says = f"{done.says} The next version will contain it."
    return done._replace(says=says, to=(*to_go_on(context), *done.to[:1]))


def _change_preview(context: RequestContext) -> Page:
    return message_preview(_checked_change(context, send=False))


CHANGE_ACTION = Action(
    "change",
    _change_form,
    _change,
    _change_preview,
    schema=request_schema(texts=(_ITEM, _OPERATION, _FIELD, _VALUE, _RATIONALE), numbers=(_BASE,)),
)


# Send overdue messages again


_MESSAGE = "message"


def _overdue(context: RequestContext) -> list[DueAck]:
    workspace = lab_workspace(context)
    deadline = workspace.project.ack_deadline
    found = pending_acks(workspace.mailbox, context.now, deadline, thread_id=context.thread_id)
    return [e for e in found if e.is_overdue and e.pending.debtor != workspace.actor]


def _remind_form(context: RequestContext, fault: Diagnostic | None = None) -> Page:
    found = _overdue(context)
    chosen = _chosen(context, _MESSAGE) or (
        () if context.form else tuple(str(each.pending.last.id) for each in found)
    )
    document = {
        "thread_id": context.thread_id,
        "overdue": [
            {
                "message_id": each.pending.last.id,
                "subject": each.pending.last.message.subject,
                "debtor": each.pending.debtor,
                "last_sent": each.pending.last.at.isoformat(),
                "times_sent": each.pending.times_sent,
            }
            for each in found
        ],
        "chosen": list(chosen),
        "violations": [fault.to_json() | {"at": fault.field}] if fault else [],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if fault else HTTPStatus.OK
    return Page("lab/remind.html", "Send again", document, status, is_live=False)


def _remind(context: RequestContext) -> ActionResult | Page:
    wanted = set(form_values(context, _MESSAGE))
    found = [each for each in _overdue(context) if str(each.pending.last.id) in wanted]
    if not found:
        return _remind_form(context, empty_field(_MESSAGE, "at least one message", "selection"))
    sent = resend(lab_workspace(context).mailbox, found)
    names = joined(dict.fromkeys(name for each in sent for name in each.stored.message.recipients))
    says = f"Sent {plural(len(sent), 'message')} again to {names}."
    if not sent:
        says = "Nothing was sent: imported and sealed messages cannot be sent again."
    document = {
        "thread_id": context.thread_id,
        "resent": [stored_json(each.stored) for each in sent],
        "violations": [],
    }
    return ActionResult(bool(sent), says, document, to=to_go_on(context))


REMIND_ACTION = Action(
    "remind",
    _remind_form,
    _remind,
    schema=request_schema(messages=(_MESSAGE,)),
    dry_run=_remind_form,
)
