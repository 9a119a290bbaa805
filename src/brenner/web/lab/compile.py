"""Lab actions that publish a version (compile, complete) and persist it.

What is published is what was previewed. The form contains the number of messages in the thread. If
the next version differs by now, nothing is published and the form is shown again. Every preview
lists the messages that arrived since the form was opened.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from brenner.artifact.diff import describe_block, describe_outcome, summary
from brenner.artifact.state import BlockOutcome
from brenner.diagnostics.codes.publishing import ARTIFACT_FILE_EDITED, FILE_OVERTAKEN
from brenner.diagnostics.codes.sessions import NO_CONCLUSION
from brenner.diagnostics.model import BrennerError, Diagnostic, RequestError, worst_first
from brenner.persist.git import persistence_of
from brenner.protocol.messages import parse_message_file
from brenner.services.compile import (
    CompileOptions,
    CompileResult,
    CompileStatus,
    compile_result_json,
    compile_summary,
    compile_thread,
    persist_summary,
    refused_entries,
)
from brenner.services.complete import complete_session
from brenner.services.persist import NO_FILE, PersistOptions, file_digest
from brenner.services.publish import messages_after, preview_digest
from brenner.services.versions import PersistPreview, load_latest, persist_latest, preview_persist
from brenner.text import escape_control, joined, plural, short_commit
from brenner.web import links
from brenner.web.lab.actions import Action, ActionResult, is_dry_run, lab_workspace, request_schema
from brenner.web.layout import attention_document
from brenner.web.messages import NOT_REPEATED, repeated_blocks
from brenner.web.request import Page, RequestContext, form_number, is_checked
from brenner.web.views.versions import changed_items

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from brenner.persist.artifact_file import VersionText
    from brenner.session.versions import VersionHistory

# Documents of a compile, truncated for a page


MAX_ITEMS, MAX_BLOCKS, MAX_FINDINGS, MAX_ARRIVALS = 100, 200, 50, 50


def compiled_document(
    done: CompileResult, *, is_done: bool, notify: bool = False
) -> dict[str, object]:
    """Return the keys of `brenner compile --json` without the whole text, truncated for a page.

    `notify` is whether authors of refused blocks will be notified.
    """
    document = compile_result_json(done)
    refused = refused_entries(done)
    others = [entry for entry in done.ledger if entry.state is not BlockOutcome.REFUSED]
    shown = [*refused, *others][:MAX_BLOCKS]
    repeated = repeated_blocks(shown)
    del document["artifact_markdown"]
    return document | {
        "says": compile_summary(done),
        "would": _would_words(done, notify=notify),
        "can_act": _can_act(done, notify=notify),
        "summary_of_changes": summary(done.diff),
        "items": changed_items(done.diff.items[:MAX_ITEMS], done.ledger),
        "more_items": max(0, len(done.diff.items) - MAX_ITEMS),
        "ledger": [
            entry.to_json()
            | {"words": describe_block(entry), "outcome": describe_outcome(entry, is_read=is_done)}
            | repeated.get((entry.message_id, entry.block), NOT_REPEATED)
            for entry in shown
        ],
        "more_blocks": max(0, len(done.ledger) - MAX_BLOCKS),
        "blocks": len(done.ledger),
        "refused": len(refused),
        "lint": _lint_document(done),
        "conflicts": cast("list[object]", document["conflicts"])[:MAX_FINDINGS],
        "more_conflicts": max(0, len(done.conflicts) - MAX_FINDINGS),
        "not_contributed": _worst_findings(done.not_contributed),
        "warnings": _worst_findings(done.warnings),
        "violations": _worst_findings(map(_on_page, done.notes)),
        "unanswered": [
            each.to_json() | {"fact": each.fact, "link": links.item(done.thread_id, each.item)}
            for each in done.unanswered[:MAX_ITEMS]
        ],
        "conclusion": done.artifact.research_thread.text(_CONCLUSION),
        "status_of_artifact": done.artifact.metadata.status,
    }


def _would_words(done: CompileResult, *, notify: bool) -> str:
    if done.status is CompileStatus.REFUSED:
        return compile_summary(done).replace("--strict", "“Strict” is selected")
    if done.status is not CompileStatus.DRY_RUN:
        return compile_summary(done) + _persist_words(done) + (_NOTIFIES_AUTHORS if notify else "")
    closes = ", and closes the session" if done.artifact.metadata.status == "closed" else ""
    published = f"Publishes v{done.version} of {done.thread_id} in its thread{closes}."
    return f"{published}{_persist_words(done)}{_refused_words(done, notify=notify)}"


_NOTIFIES_AUTHORS = " Sends the errors to each author of a rejected block that is still open."


def _refused_words(done: CompileResult, *, notify: bool) -> str:
    """Return how many blocks will be rejected, and which authors will be notified."""
    refused = refused_entries(done)
    if not refused:
        return ""
    flags = f" {plural(len(refused), 'block')} will be rejected"
    names = joined(dict.fromkeys(entry.agent for entry in refused))
    return f"{flags}, and {names} will get the errors." if notify else f"{flags}."


def _can_act(done: CompileResult, *, notify: bool) -> bool:
    """Return whether the button does anything. It also finishes an interrupted persist."""
    if done.status is CompileStatus.NOTHING:
        return notify or (done.wish is not None and done.version is not None)
    return done.status is CompileStatus.DRY_RUN


def _persist_words(done: CompileResult) -> str:
    """Return what will be persisted, as checked in the form or configured in the project."""
    persist = done.wish
    is_kept = done.status is CompileStatus.NOTHING and done.persistence.status == "Persisted"
    if persist is None or (is_kept and not (persist.archive or persist.push)):
        return ""
    does = [f"writes v{done.version} to {done.persistence.path}"]
    if persist.archive:
        does.append("saves the messages next to it")
    if persist.commit:
        does.append("commits only that")
    if persist.push:
        does.append("pushes the branch")
    does.append("announces it in the thread with an INFO message")
    return f" Then it {joined(does)}."


def _lint_document(done: CompileResult) -> dict[str, object]:
    found = done.lint.violations
    return {
        "valid": done.lint.valid,
        "summary": done.lint.summary._asdict(),
        "violations": _worst_findings(found),
        "more": max(0, len(found) - MAX_FINDINGS),
    }


def _on_page(found: Diagnostic) -> Diagnostic:
    """Return a note as a page shows it: the form has a field for the conclusion."""
    if found.code is not NO_CONCLUSION:
        return found
    return found._replace(fix="Write it under “Conclusion” in the form “Complete session”.")


def _worst_findings(found: Iterable[Diagnostic]) -> list[dict[str, object]]:
    return [each.to_json() for each in sorted(found, key=worst_first)[:MAX_FINDINGS]]


# Manual edits of the artifact file, as a message


def edits_document(error: BrennerError) -> dict[str, object] | None:
    """Return the message with manual edits of the file, as fields of the reply form.

    Return None if no delta can express them.
    """
    letter = error.diagnostic.repaired if error.diagnostic.code is ARTIFACT_FILE_EDITED else None
    if not letter:
        return None
    message = parse_message_file(letter).message
    return {"to": list(message.recipients), "subject": message.subject, "body": message.body}


# Checkboxes for persisting: file, commit, push


PERSIST_FLAGS = ("commit", "push", "archive", "force")
PERSIST_REQUEST_FLAGS = ("persist", "commit", "push", "archive")
FILE_FIELD = "file"  # digest of the file that was seen


def persist_options(form: Mapping[str, str], *, is_meant: bool) -> PersistOptions:
    """Read the persist options of a form. A push implies a commit.

    A preview, which is not meant, applies to any state of the file.
    """
    flags = {name: is_checked(form, name) for name in PERSIST_FLAGS}
    seen = form.get(FILE_FIELD) or None if is_meant else None
    return PersistOptions(**flags | {"commit": flags["commit"] or flags["push"]}, seen=seen)


def requested_persist(form: Mapping[str, str], *, is_meant: bool) -> PersistOptions | None:
    """Return the persist options, or None if none is checked."""
    is_asked = any(is_checked(form, name) for name in PERSIST_REQUEST_FLAGS)
    return persist_options(form, is_meant=is_meant) if is_asked else None


_FLAGS = ("strict", "reopen", "notify", "persist", *PERSIST_FLAGS)
_POSITION, _SINCE, _DIGEST = "position", "since", "seen"
_ANYWAY, _CONCLUSION = "anyway", "conclusion"  # of a session that is completed


def publish_action(name: str, title: str, *, close: bool) -> Action:
    """Return the action that publishes the next version, or the last one, with `close`."""
    return Action(
        name,
        partial(publish_form, title=title, close=close),
        partial(publish, title=title, close=close),
        partial(publish_preview, title=title, close=close),
        schema=request_schema(
            numbers=(_POSITION,),
            texts=(_DIGEST, FILE_FIELD, *(_CONCLUSION,) * close),
            flags=(*_FLAGS, *(_ANYWAY,) * close),
        ),
        guard=(_POSITION, lambda seen: seen.get(_POSITION)),
    )


def publish_form(context: RequestContext, title: str, *, close: bool) -> Page:
    if not context.form:
        context = context._replace(form=_first_choices(context))
    document = {
        "thread_id": context.thread_id,
        "closes": close,
        "fields": {name: is_checked(context.form, name) for name in (*_FLAGS, _ANYWAY)}
        | {_CONCLUSION: context.form.get(_CONCLUSION, "")},
        "preview": _preview_document(context, close=close),
        "open": _left_open(context) if close else [],
    }
    return Page("lab/compile.html", title, document, is_live=False)


def _first_choices(context: RequestContext) -> Mapping[str, str]:
    """Return the boxes that are checked at first: to save as the latest version was saved."""
    try:
        session = context.session
    except RequestError:  # unknown; the preview reports it
        return {}
    chosen: dict[str, str] = {}
    if session.status.version is not None:
        saved = session.persistence.status
        chosen |= {"persist": "yes"} if saved in ("Pending", "Persisted") else {}
        chosen |= {"commit": "yes"} if saved == "Persisted" else {}
    if context.query.get("reopen") == "yes" and session.status.is_over:
        chosen["reopen"] = "yes"
    return chosen


def publish_preview(context: RequestContext, title: str, *, close: bool) -> Page:
    """Return what would be published with the options of the form."""
    return Page(
        "lab/compile_part.html", title, _preview_document(context, close=close), is_live=False
    )


def publish(context: RequestContext, title: str, *, close: bool) -> ActionResult | Page:
    """Publish the previewed version. A script may publish without a preview."""
    position = form_number(context.form, _POSITION)
    if position is None and context.sent is None:
        return publish_form(context, title, close=close)
    done = _compile(context, position, close=close)
    is_nothing = done.status is CompileStatus.NOTHING
    did_nothing = is_nothing and not (done.persisted or done.notified or done.failed)
    if done.status is CompileStatus.REFUSED or did_nothing:
        page = publish_form(context, title, close=close)
        return page._replace(
            document={**page.document, "is_undone": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    return _publish_result(done)


# What completing leaves open: the session's needs, without those that completing itself settles
_SETTLED_BY_COMPLETING = ("ready", "stopped", "late", "unanswered")


def _left_open(context: RequestContext) -> list[dict[str, object]]:
    """Return what stays open in a session that is completed now, each with its page."""
    try:
        found = attention_document(context.session, context)["attention"]
    except RequestError:
        return []
    listed = found if isinstance(found, list) else []
    return [each for each in listed if each["kind"] not in _SETTLED_BY_COMPLETING]


# The preview


def _preview_document(context: RequestContext, *, close: bool) -> dict[str, object]:
    """Return what would be published, or the error, with the guards for the form."""
    seen: dict[str, object] = {
        "fault": None,
        "details": [],
        "compiled": None,
        "position": None,
        "thread_id": context.thread_id,
        "closes": close,
        "can_act": False,
        "edits": None,
        "since": None,
        "news": [],
        _DIGEST: None,
        FILE_FIELD: None,
    }
    try:
        # Read the position first: what arrives after it must be refused, not published unseen.
        position = lab_workspace(context).mailbox.thread(context.thread_id, limit=1).position
        seen |= _arrivals(context, position)
        guard = form_number(context.form, _POSITION) if is_dry_run(context) else None
        done = _compile(context, guard, close=close, dry_run=True)
        notify, is_new = is_checked(context.form, "notify"), done.status is CompileStatus.DRY_RUN
        compiled = compiled_document(done, is_done=False, notify=notify)
        if done.unanswered and not is_checked(context.form, _ANYWAY):
            compiled |= {"can_act": False, "would": _unanswered_words(done)}
        seen |= {
            "position": position,
            "compiled": compiled,
            "can_act": compiled["can_act"],
            _DIGEST: preview_digest(done.artifact) if is_new else None,
            FILE_FIELD: file_digest(context.site.workspace.project, context.thread_id),
        }
    except BrennerError as error:
        seen |= {"fault": error.diagnostic.to_json(), "details": list(error.details)}
        seen["edits"] = edits_document(error)
    return seen


def _compile(
    context: RequestContext, position: int | None, *, close: bool, dry_run: bool = False
) -> CompileResult:
    workspace, form = lab_workspace(context), context.form
    options = CompileOptions(
        dry_run=dry_run,
        strict=is_checked(form, "strict"),
        reopen=is_checked(form, "reopen"),
        notify=is_checked(form, "notify"),
        close=close,
        persist=requested_persist(form, is_meant=not dry_run),
        position=position,
        seen=None if dry_run else form.get(_DIGEST) or None,
        # A preview shows everything, and lists what the form asks to confirm.
        anyway=dry_run or is_checked(form, _ANYWAY),
    )
    if close:
        return complete_session(workspace, context.thread_id, options, form.get(_CONCLUSION, ""))
    return compile_thread(workspace, context.thread_id, options)


def _unanswered_words(done: CompileResult) -> str:
    items = plural(len(done.unanswered), "item asks", "items ask")
    return f"Not completed yet: {items} for an answer. Confirm below that you leave them open."


def _arrivals(context: RequestContext, position: int) -> dict[str, object]:
    """Return the latest messages that arrived since the form was opened."""
    since = form_number(context.form, _SINCE)
    since = position if since is None else since
    arrived = messages_after(lab_workspace(context).mailbox, context.thread_id, since)
    news = [
        {
            "message_id": each.id,
            "type": each.type,
            "from": each.message.sender,
            "subject": each.message.subject,
            "at": each.at.isoformat(),
        }
        for each in arrived[-MAX_ARRIVALS:]
    ]
    return {"since": since, "news": news}


# Results


def _publish_result(done: CompileResult) -> ActionResult:
    says = [compile_summary(done)]
    if done.persisted:
        says.append(persist_summary(done.persisted))
    document = compiled_document(done, is_done=True)
    if done.failed:
        found = done.failed.diagnostic
        says.append(f"The steps after that failed: {escape_control(found.message)}")
        document |= {"heading": "Partly done", "violations": [found.to_json()]}
        document["details"] = list(done.failed.details)
    document["says_all"] = says
    return ActionResult(
        is_done=done.failed is None,
        says=" ".join(says),
        document=document,
        template="lab/compiled_done.html",
        to=tuple(_publish_links(done)),
    )


def _publish_links(done: CompileResult) -> list[tuple[str, str]]:
    thread_id, number = done.thread_id, done.version or 0
    to = [(links.session(thread_id, "artifact"), f"Open v{number}")]
    if done.status is CompileStatus.PUBLISHED:
        to.append((links.diff(thread_id, done.previous_version or 0, number), "Show changes"))
    if done.persistence.status != "Persisted":
        to.append((links.lab("persist", thread_id), "Persist Artifact"))
    if done.artifact.metadata.status != "closed":
        to.append((links.lab("round", thread_id), "Start next round"))
    return to


COMPILE_ACTION = publish_action("compile", "Compile", close=False)
COMPLETE_ACTION = publish_action("complete", "Complete session", close=True)


# Persist the latest version


_PERSIST_TITLE = "Persist"
_VERSION, _MESSAGE = "version", "message"
_MAX_DIFFERENCE = 40_000  # characters of a diff on a page


def _persist_form(context: RequestContext) -> Page:
    fields = {name: is_checked(context.form, name) for name in PERSIST_FLAGS}
    options = _trial_options(context)
    if not context.form:  # the first form has the commit checked
        fields["commit"] = True
        options = PersistOptions(commit=True)
    document = {
        "thread_id": context.thread_id,
        "fields": fields,
        "preview": _persist_document(context, options),
    }
    return Page("lab/persist.html", _PERSIST_TITLE, document, is_live=False)


def _persist_preview(context: RequestContext) -> Page:
    return Page(
        "lab/persist_part.html",
        _PERSIST_TITLE,
        _persist_document(context, _trial_options(context)),
        is_live=False,
    )


def _persist(context: RequestContext) -> ActionResult | Page:
    """Persist the previewed version. If an obstacle is known, write nothing."""
    workspace = lab_workspace(context)
    latest = _seen_version(context)
    options = persist_options(context.form, is_meant=True)
    obstacle = preview_persist(workspace, *latest, options).error
    if obstacle and obstacle.diagnostic.code is FILE_OVERTAKEN:
        raise obstacle  # the preview shows the file as it is now
    if obstacle:
        page = _persist_form(context)
        return page._replace(
            document={**page.document, "is_undone": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    try:
        done = persist_latest(workspace, *latest, options)
    except BrennerError as error:
        return _partial_result(context, latest, error)
    number = latest[1].number
    document = {
        "thread_id": context.thread_id,
        "version": number,
        "persistence": done.persistence._asdict(),
        "words": done.words,
        "commit": done.commit,
        "archive": done.archive,
        "new": done.is_new,
        "message_id": done.info.id if done.info else None,
        "violations": [each.to_json() for each in done.notes],
        "details": [],
    }
    says = persist_summary(done)
    return ActionResult(
        True, says, document, "lab/persisted_done.html", _persist_links(context, is_done=True)
    )


def _partial_result(
    context: RequestContext, latest: tuple[VersionHistory, VersionText], error: BrennerError
) -> ActionResult:
    """Return how far it came. What is written stays, and repeating the action does the rest."""
    workspace, version = lab_workspace(context), latest[1]
    now = persistence_of(workspace.project, version.thread_id, version.text)
    is_there = file_digest(workspace.project, version.thread_id) != NO_FILE
    how_far = {
        "Draft": f"{now.path} "
        + (f"does not contain v{version.number}" if is_there else "was not written"),
        "Pending": f"{now.path} contains v{version.number}, but it is not committed",
        "Persisted": f"{now.path} contains v{version.number}, and it is committed",
    }[now.status]
    found = error.diagnostic
    document = {
        "heading": "Not saved" if now.status == "Draft" and not is_there else "Partly done",
        "thread_id": context.thread_id,
        "version": version.number,
        "persistence": now._asdict(),
        "commit": now.commit,
        "violations": [found.to_json()],
        "details": list(error.details),
    }
    says = f"Not everything was done: {how_far}. {escape_control(found.message)}"
    return ActionResult(
        False, says, document, "lab/persisted_done.html", _persist_links(context, is_done=False)
    )


# The preview


def _trial_options(context: RequestContext) -> PersistOptions:
    return persist_options(context.form, is_meant=False)


def _seen_version(context: RequestContext) -> tuple[VersionHistory, VersionText]:
    """Return the previewed version: the same number and the same message."""
    number, message = (form_number(context.form, name) for name in (_VERSION, _MESSAGE))
    return load_latest(lab_workspace(context), context.thread_id, number, message)


def _persist_document(context: RequestContext, options: PersistOptions) -> dict[str, object]:
    """Return what would be written, committed and pushed, or the obstacle."""
    workspace = lab_workspace(context)
    try:
        latest = (
            _seen_version(context)
            if is_dry_run(context)
            else load_latest(workspace, context.thread_id)
        )
        history, version = latest
        seen = preview_persist(workspace, history, version, options)
    except BrennerError as error:
        return _persist_error(error)
    obstacle = seen.error
    return {
        "thread_id": context.thread_id,
        "version": seen.version.number,
        "message_id": seen.version.message_id,
        "path": seen.persistence.path,
        FILE_FIELD: file_digest(workspace.project, context.thread_id),
        "persistence": seen.persistence._asdict(),
        "difference": seen.difference[:_MAX_DIFFERENCE],
        "is_cut": len(seen.difference) > _MAX_DIFFERENCE,
        "commit": seen.commit,
        "destination": seen.destination,
        "archive": seen.archive,
        "unread": len(history.unread),
        "notes": [each.to_json() for each in seen.notes],
        "fault": obstacle.diagnostic.to_json() if obstacle else None,
        "details": list(obstacle.details) if obstacle else [],
        "edits": edits_document(obstacle) if obstacle else None,
        "would": _persist_would_words(seen),
        "can_act": obstacle is None,  # repeating the action finishes an interrupted one
    }


def _persist_error(error: BrennerError) -> dict[str, object]:
    return {
        "version": None,
        "fault": error.diagnostic.to_json(),
        "details": list(error.details),
        "edits": None,
        "would": "Cannot save: see the preview.",
        "can_act": False,
    }


def _persist_would_words(seen: PersistPreview) -> str:
    if seen.error:
        return "Cannot save: see the preview."
    number, path, commit = seen.version.number, seen.persistence.path, seen.persistence.commit
    parts = _persist_steps(seen)
    if not parts:
        has_it = f" and is committed in {short_commit(commit)}" if commit else ""
        return f"Nothing to do: {path} already contains v{number}{has_it}."
    done = ", ".join(parts)
    return f"{done[0].upper()}{done[1:]}. Announces it in the thread with an INFO message."


def _persist_steps(seen: PersistPreview) -> list[str]:
    if seen.error:
        return []
    number, path, commit = seen.version.number, seen.persistence.path, seen.persistence.commit
    lines = seen.difference.count("\n")
    parts = []
    if lines:
        parts.append(f"writes v{number} to {path} ({plural(lines, 'changed line')})")
    if seen.archive:
        parts.append(f"updates {seen.archive}")
    if seen.commit and not (commit and not parts):
        parts.append(f"commits only {'that' if parts else path}")
    if seen.destination:
        parts.append(f"pushes {seen.destination}")
    return parts


def _persist_links(context: RequestContext, *, is_done: bool) -> tuple[tuple[str, str], ...]:
    thread_id = context.thread_id
    session = (links.session(thread_id), "Open the session")
    if is_done:
        return (session, (links.lab("round", thread_id), "Start next round"))
    return (session, (links.lab("persist", thread_id), "Continue saving"))


PERSIST_ACTION = Action(
    "persist",
    _persist_form,
    _persist,
    _persist_preview,
    schema=request_schema(numbers=(_VERSION, _MESSAGE), texts=(FILE_FIELD,), flags=PERSIST_FLAGS),
    guard=(_VERSION, lambda seen: seen.get(_VERSION)),
)
