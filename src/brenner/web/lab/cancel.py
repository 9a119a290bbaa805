"""Lab actions that cancel a session, and reopen a cancelled one (R25)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from brenner.mail.model import stored_json
from brenner.protocol.message_types import KICKOFF
from brenner.services.decisions import cancel_session, check_cancellable
from brenner.text import joined, plural
from brenner.web import links
from brenner.web.lab.actions import Action, ActionResult, lab_workspace, request_schema
from brenner.web.request import Page

if TYPE_CHECKING:
    from brenner.protocol.messages import StoredMessage
    from brenner.web.request import RequestContext


def _form(context: RequestContext) -> Page:
    document = {
        "thread_id": context.thread_id,
        "cancelled": context.session.status.cancelled is not None,
        "fields": {"reason": context.form.get("reason", "")},
    }
    return Page("lab/cancel.html", "Cancel session", document, is_live=False)


def _cancel(context: RequestContext) -> ActionResult:
    reason = context.form.get("reason", "")
    done = cancel_session(lab_workspace(context), context.thread_id, reason)
    number = done.message.id
    says = f"The session is cancelled. Message {number} reports the reason to the thread."
    if not done.is_new:
        says = f"Message {number} had already cancelled the session. Nothing was sent."
    document = {
        "thread_id": context.thread_id,
        "phase": "cancelled",
        "reason": done.reason,
        "new": done.is_new,
        "message": stored_json(done.message),
    }
    to = (
        (links.session(context.thread_id), "Open the session"),
        (links.home(), "All sessions"),
    )
    return ActionResult(is_done=True, says=says, document=document, to=to)


def _dry_run(context: RequestContext) -> Page:
    check_cancellable(context.session.status, context.form.get("reason", ""))
    return _form(context)


CANCEL_ACTION = Action(
    "cancel", _form, _cancel, schema=request_schema(texts=("reason",)), dry_run=_dry_run
)


# Reopen a cancelled session: its kickoffs are sent again. Without any, a new round reopens it.


def _cancelled_kickoffs(context: RequestContext) -> list[StoredMessage]:
    """Return the kickoffs that the cancellation ended, the latest to each agent."""
    if context.session.status.cancelled is None:
        return []
    found = [each for each in context.session.history.unread if each.type == KICKOFF.name]
    latest = {each.message.recipients: each for each in found}
    return list(latest.values())


def _reopen_form(context: RequestContext) -> Page:
    status = context.session.status
    document = {
        "thread_id": context.thread_id,
        "cancelled": status.cancelled is not None,
        "has_version": status.version is not None,
        "kickoffs": [
            {
                "message_id": each.id,
                "to": list(each.message.recipients),
                "subject": each.message.subject,
            }
            for each in _cancelled_kickoffs(context)
        ],
    }
    return Page("lab/reopen.html", "Reopen session", document, is_live=False)


def _reopen(context: RequestContext) -> ActionResult | Page:
    """Send the kickoffs again. Each has a key, so that it is sent once for this cancellation."""
    mailbox, cancelled = lab_workspace(context).mailbox, context.session.status.cancelled
    kickoffs = _cancelled_kickoffs(context)
    if cancelled is None or not kickoffs:
        return _reopen_form(context)._replace(status=HTTPStatus.CONFLICT)
    sent = [
        mailbox.send(each.message, key=f"reopen after {cancelled.message_id}: {each.id}").stored
        for each in kickoffs
    ]
    names = joined(dict.fromkeys(name for each in sent for name in each.message.recipients))
    says = f"The session is open again. Sent {plural(len(sent), 'kickoff')} to {names}."
    document = {
        "thread_id": context.thread_id,
        "kickoffs": [stored_json(each) for each in sent],
        "violations": [],
    }
    to = ((links.session(context.thread_id), "Open the session"), (links.home(), "All sessions"))
    return ActionResult(is_done=True, says=says, document=document, to=to)


REOPEN_ACTION = Action(
    "reopen", _reopen_form, _reopen, schema=request_schema(), dry_run=_reopen_form
)
