"""The lab action that cancels a session (R25)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brenner.mail.model import stored_json
from brenner.services.decisions import cancel_session, check_cancellable
from brenner.web import links
from brenner.web.lab.actions import Action, ActionResult, lab_workspace, request_schema
from brenner.web.request import Page

if TYPE_CHECKING:
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
