"""How a version is previewed and published in the lab: the next one, or the one that closes.

What is published is what was shown. The form bears how many messages the thread had; if the next
version is another one by now, nothing is published, and the form comes back. Whatever came in since
the form was opened is named by every preview of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import NamedTuple, cast

from brenner.artifact.diff import block_words, outcome_words, summary
from brenner.artifact.state import Entry, Outcome
from brenner.diagnostics.codes.publishing import FILE_OVERTAKEN
from brenner.diagnostics.model import BrennerError, Diagnostic, worst_first
from brenner.mail.model import StoredMessage
from brenner.protocol.messages import parse_message_file
from brenner.services.compile import (
    CompileOptions,
    CompileResult,
    Status,
    compile_thread,
    compiled_json,
    persisted_words,
    refused_in,
    what_happened,
)
from brenner.services.decisions import check_operator
from brenner.services.persist import (
    NO_FILE,
    EditedByHand,
    PersistOptions,
    file_digest,
    persistence_of,
)
from brenner.services.publish import arrived_since, digest_of
from brenner.services.versions import Foreseen, Latest, foresee, latest_of, persist_latest
from brenner.text import counted, escape_control, joined
from brenner.web import links
from brenner.web.lab.actions import Action, Done, Guard, is_dry_run, lab_desk, takes
from brenner.web.request import Page, RequestContext, is_ticked, number_in
from brenner.web.views.versions import changed_items

# What a compile would do, or has done, for a page: bounded, however large the session is.


MOST_ITEMS, MOST_BLOCKS, MOST_FOUND, MOST_NEWS = 100, 200, 50, 50


def compiled_document(
    done: CompileResult, *, is_done: bool, notify: bool = False
) -> dict[str, object]:
    """The keys of `brenner compile --json` without the whole text, and what stands beside them.

    `notify` is whether authors of refused blocks will be told.
    """
    whole = compiled_json(done)
    refused = refused_in(done)
    others = [entry for entry in done.ledger if entry.state is not Outcome.REFUSED]
    shown = [*refused, *others][:MOST_BLOCKS]
    del whole["artifact_markdown"]
    return whole | {
        "says": what_happened(done),
        "would": _would(done, notify=notify),
        "can_act": _can_act(done, notify=notify),
        "summary_of_changes": summary(done.diff),
        "items": changed_items(done.diff.items[:MOST_ITEMS], done.ledger),
        "more_items": max(0, len(done.diff.items) - MOST_ITEMS),
        "ledger": [_block(entry, is_done=is_done) for entry in shown],
        "more_blocks": max(0, len(done.ledger) - MOST_BLOCKS),
        "blocks": len(done.ledger),
        "refused": len(refused),
        "lint": _lint(done),
        "conflicts": cast("list[object]", whole["conflicts"])[:MOST_FOUND],
        "more_conflicts": max(0, len(done.conflicts) - MOST_FOUND),
        "not_contributed": _some(done.not_contributed),
        "warnings": _some(done.warnings),
        "violations": _some(done.notes),
        "status_of_artifact": done.artifact.metadata.status,
    }


def _would(done: CompileResult, *, notify: bool) -> str:
    """Everything that the button will do."""
    if done.status is Status.REFUSED:
        return what_happened(done).replace("(--strict)", "(“Strict” is ticked)")
    if done.status is not Status.DRY_RUN:
        return what_happened(done) + _keeps(done) + (_TELLS_OTHERS if notify else "")
    closes = ", and closes the session" if done.artifact.metadata.status == "closed" else ""
    published = f"Publishes v{done.version} of {done.thread_id} in its thread{closes}."
    return f"{published}{_keeps(done)}{_refuses(done, notify=notify)}"


_TELLS_OTHERS = " Authors of blocks that are still refused are told what is wrong, each once."


def _refuses(done: CompileResult, *, notify: bool) -> str:
    """How many blocks will be refused, and who will be told."""
    refused = refused_in(done)
    if not refused:
        return ""
    said = f" {counted(len(refused), 'block')} will be refused"
    names = joined(dict.fromkeys(entry.agent for entry in refused))
    return f"{said}; a message tells {names} what is wrong." if notify else f"{said}."


def _can_act(done: CompileResult, *, notify: bool) -> bool:
    """Whether the button does anything. Keeping that was interrupted is finished by it."""
    if done.status is Status.NOTHING:
        return notify or (done.wish is not None and done.version is not None)
    return done.status is Status.DRY_RUN


def _keeps(done: CompileResult) -> str:
    """What becomes of the version after that: as it is ticked, or as the project has it."""
    wish = done.wish
    is_kept = done.status is Status.NOTHING and done.persistence.status == "Persisted"
    if wish is None or (is_kept and not (wish.archive or wish.push)):
        return ""
    does = [f"writes v{done.version} to {done.persistence.path}"]
    if wish.archive:
        does.append("puts the mail beside it")
    if wish.commit:
        does.append("commits that alone")
    if wish.push:
        does.append("pushes the branch")
    does.append("says so in the thread, in an INFO message")
    return f" Then it {joined(does)}."


def _block(entry: Entry, *, is_done: bool) -> dict[str, object]:
    words = {"words": block_words(entry), "outcome": outcome_words(entry, is_read=is_done)}
    return entry.to_json() | words


def _lint(done: CompileResult) -> dict[str, object]:
    found = done.lint.violations
    return {
        "valid": done.lint.valid,
        "summary": done.lint.summary._asdict(),
        "violations": [each.to_json() for each in sorted(found, key=worst_first)[:MOST_FOUND]],
        "more": max(0, len(found) - MOST_FOUND),
    }


def _some(found: Iterable[Diagnostic]) -> list[dict[str, object]]:
    return [each.to_json() for each in sorted(found, key=worst_first)[:MOST_FOUND]]


def news_document(arrived: Sequence[StoredMessage]) -> list[dict[str, object]]:
    """What came in since somebody looked; the latest, where there is more."""
    return [
        {
            "message_id": each.id,
            "type": each.type,
            "from": each.message.sender,
            "subject": each.message.subject,
            "at": each.at.isoformat(),
        }
        for each in arrived[-MOST_NEWS:]
    ]


# Edits that somebody made in the file of a version by hand, as a letter that brings them in.


def edits_document(error: BrennerError) -> dict[str, object] | None:
    """The fields of the letter, for the form of a reply; nothing where no delta can make them."""
    letter = error.diagnostic.repaired if isinstance(error, EditedByHand) else None
    if not letter:
        return None
    message = parse_message_file(letter).message
    return {
        "to": list(message.recipients),
        "subject": message.subject,
        "body": message.body,
    }


# The boxes of a form that say how far a version is to be kept: a file, a commit, a push.


HOW = ("commit", "push", "archive", "force")
ASKED = ("persist", "commit", "push", "archive")
FILE = "file"  # the field that says which file was seen


def persist_options(form: Mapping[str, str], *, is_meant: bool) -> PersistOptions:
    """How far to go; a push means a commit. A preview, which is not meant, is of any file."""
    said = {name: is_ticked(form, name) for name in HOW}
    seen = form.get(FILE) or None if is_meant else None
    return PersistOptions(**said | {"commit": said["commit"] or said["push"]}, seen=seen)


def wanted(form: Mapping[str, str], *, is_meant: bool) -> PersistOptions | None:
    """The same where it is asked for at all."""
    is_asked = any(is_ticked(form, name) for name in ASKED)
    return persist_options(form, is_meant=is_meant) if is_asked else None


_TICKS = ("strict", "reopen", "notify", "persist", *HOW)
_POSITION, _SINCE, _SEEN = "position", "since", "seen"


class Publishing(NamedTuple):
    """Which version: the next one, or the last."""

    title: str
    close: bool


def publishing(name: str, kind: Publishing) -> Action:
    """The action that publishes it."""
    return Action(
        name,
        partial(form, kind),
        partial(do, kind),
        partial(preview, kind),
        takes=takes(numbers=(_POSITION,), texts=(_SEEN, FILE), flags=_TICKS),
        guard=Guard(_POSITION, lambda seen: seen.get(_POSITION)),
    )


def form(kind: Publishing, visit: RequestContext) -> Page:
    """The preview, and the boxes that say how."""
    document = {
        "thread_id": visit.thread_id,
        "closes": kind.close,
        "fields": {name: is_ticked(visit.form, name) for name in _TICKS},
        "preview": _seen(kind, visit),
    }
    return Page("lab/compile.html", kind.title, document, is_live=False)


def preview(kind: Publishing, visit: RequestContext) -> Page:
    """What would be published as the boxes are ticked."""
    return Page("lab/compile_part.html", kind.title, _seen(kind, visit), is_live=False)


def do(kind: Publishing, visit: RequestContext) -> Done | Page:
    """Publish what was shown. A script may do without looking."""
    position = number_in(visit.form, _POSITION)
    if position is None and visit.sent is None:
        return form(kind, visit)
    done = _compiled(kind, visit, position=position)
    if done.status is Status.REFUSED or _did_nothing(done):
        page = form(kind, visit)
        return page._replace(
            document={**page.document, "is_undone": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    return _done(done)


def _did_nothing(done: CompileResult) -> bool:
    is_more = done.persisted or done.notified or done.failed
    return done.status is Status.NOTHING and not is_more


# The preview


def _seen(kind: Publishing, visit: RequestContext) -> dict[str, object]:
    """What would be published, as far as it can be said, and of which thread."""
    seen: dict[str, object] = {"fault": None, "details": [], "compiled": None, "position": None}
    seen |= {"thread_id": visit.thread_id, "closes": kind.close, "can_act": False, "edits": None}
    seen |= {"since": None, "news": [], _SEEN: None, FILE: None}
    try:
        # First the position: what comes in after it is refused, not published unseen.
        position = lab_desk(visit).mailbox.thread(visit.thread_id, limit=1).position
        seen |= _news(visit, position)
        guard = number_in(visit.form, _POSITION) if is_dry_run(visit) else None
        done = _compiled(kind, visit, guard, dry_run=True)
        notify = is_ticked(visit.form, "notify")
        compiled = compiled_document(done, is_done=False, notify=notify)
        seen |= {"position": position, "compiled": compiled, "can_act": compiled["can_act"]}
        seen |= {_SEEN: digest_of(done.artifact) if done.status is Status.DRY_RUN else None}
        seen |= {FILE: file_digest(visit.site.workspace.project, visit.thread_id)}
    except BrennerError as error:
        seen |= {"fault": error.diagnostic.to_json(), "details": list(error.details)}
        seen["edits"] = edits_document(error)
    return seen


def _compiled(
    kind: Publishing, visit: RequestContext, position: int | None = None, *, dry_run: bool = False
) -> CompileResult:
    workspace, form = lab_desk(visit), visit.form
    if kind.close:
        check_operator(workspace, "complete a session")
    options = CompileOptions(
        dry_run=dry_run,
        strict=is_ticked(form, "strict"),
        reopen=is_ticked(form, "reopen"),
        notify=is_ticked(form, "notify"),
        close=kind.close,
        persist=wanted(form, is_meant=not dry_run),
        position=position,
        seen=None if dry_run else form.get(_SEEN) or None,
    )
    return compile_thread(workspace, visit.thread_id, options)


def _news(visit: RequestContext, position: int) -> dict[str, object]:
    """What came in since the form was opened; who opens it has seen all."""
    since = number_in(visit.form, _SINCE)
    since = position if since is None else since
    arrived = arrived_since(lab_desk(visit).mailbox, visit.thread_id, since)
    return {"since": since, "news": news_document(arrived)}


# What came of it


def _done(done: CompileResult) -> Done:
    says = [what_happened(done)]
    if done.persisted:
        says.append(persisted_words(done.persisted))
    document = compiled_document(done, is_done=True)
    if done.failed:
        found = done.failed.diagnostic
        says.append(f"What was to come after that failed: {escape_control(found.message)}")
        document |= {"heading": "Done in part", "violations": [found.to_json()]}
        document["details"] = list(done.failed.details)
    document["says_all"] = says
    return Done(
        is_done=done.failed is None,
        says=" ".join(says),
        document=document,
        template="lab/compiled_done.html",
        to=tuple(_to(done)),
    )


def _to(done: CompileResult) -> list[tuple[str, str]]:
    thread_id, number = done.thread_id, done.version or 0
    to = [(links.session(thread_id), f"See v{number}")]
    if done.status is Status.PUBLISHED:
        to.append((links.diff(thread_id, done.previous_version or 0, number), "What changed"))
    if done.persistence.status != "Persisted":
        to.append((links.lab("persist", thread_id), "Persist it"))
    if done.artifact.metadata.status != "closed":
        to.append((links.lab("round", thread_id), "Start the next round"))
    return to


COMPILE = publishing("compile", Publishing("Compile", close=False))
COMPLETE = publishing("complete", Publishing("Complete the session", close=True))


# Persist the latest version in the lab: what will be written where, seen before it is.


_TITLE = "Persist"
_VERSION, _MESSAGE = "version", "message"
_MOST_CHARACTERS = 40_000  # of a difference on a page


def _form(visit: RequestContext) -> Page:
    fields = {name: is_ticked(visit.form, name) for name in HOW}
    options = _tried(visit)
    if not visit.form:  # a commit is offered
        fields["commit"] = True
        options = PersistOptions(commit=True)
    document = {
        "thread_id": visit.thread_id,
        "fields": fields,
        "preview": _persisting_seen(visit, options),
    }
    return Page("lab/persist.html", _TITLE, document, is_live=False)


def _preview(visit: RequestContext) -> Page:
    return Page(
        "lab/persist_part.html", _TITLE, _persisting_seen(visit, _tried(visit)), is_live=False
    )


def _do(visit: RequestContext) -> Done | Page:
    """Persist what was shown; where something is known to fail, nothing is written."""
    workspace = lab_desk(visit)
    latest = _latest(visit)
    options = persist_options(visit.form, is_meant=True)
    obstacle = foresee(workspace, latest, options).obstacle
    if obstacle and obstacle.diagnostic.code is FILE_OVERTAKEN:
        raise obstacle  # the preview that comes back is of the file as it is now
    if obstacle:
        page = _form(visit)
        return page._replace(
            document={**page.document, "is_undone": True}, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    try:
        done = persist_latest(workspace, latest, options)
    except BrennerError as error:
        return _broken_off(visit, latest, error)
    number = latest.version.number
    document = {
        "thread_id": visit.thread_id,
        "version": number,
        "persistence": done.persistence._asdict(),
        "words": done.words,
        "commit": done.commit,
        "archive": done.archive,
        "message_id": done.info.id if done.info else None,
        "violations": [each.to_json() for each in done.notes],
        "details": [],
    }
    says = persisted_words(done)
    return Done(
        True, says, document, "lab/persisted_done.html", _persisting_to(visit, is_done=True)
    )


def _broken_off(visit: RequestContext, latest: Latest, error: BrennerError) -> Done:
    """How far it came: what is written stays, and the same again does what is missing."""
    workspace, version = lab_desk(visit), latest.version
    now = persistence_of(workspace.project, version.thread_id, version.text)
    is_there = file_digest(workspace.project, version.thread_id) != NO_FILE
    how_far = {
        "Draft": f"{now.path} "
        + (f"does not hold v{version.number} as it is" if is_there else "was not written"),
        "Pending": f"{now.path} holds v{version.number}, but no commit has it",
        "Persisted": f"{now.path} holds v{version.number}, and a commit has it",
    }[now.status]
    found = error.diagnostic
    document = {
        "heading": "Not done" if now.status == "Draft" and not is_there else "Done in part",
        "thread_id": visit.thread_id,
        "version": version.number,
        "persistence": now._asdict(),
        "commit": now.commit,
        "violations": [found.to_json()],
        "details": list(error.details),
    }
    says = f"Not everything was done: {how_far}. {escape_control(found.message)}"
    return Done(
        False, says, document, "lab/persisted_done.html", _persisting_to(visit, is_done=False)
    )


# The preview


def _tried(visit: RequestContext) -> PersistOptions:
    return persist_options(visit.form, is_meant=False)


def _latest(visit: RequestContext) -> Latest:
    """The version that was shown: of that number, and that very message."""
    number, message = (number_in(visit.form, name) for name in (_VERSION, _MESSAGE))
    return latest_of(lab_desk(visit), visit.thread_id, number, message)


def _persisting_seen(visit: RequestContext, options: PersistOptions) -> dict[str, object]:
    """What would be written, committed, pushed; or why nothing would."""
    workspace = lab_desk(visit)
    try:
        latest = _latest(visit) if is_dry_run(visit) else latest_of(workspace, visit.thread_id)
        seen = foresee(workspace, latest, options)
    except BrennerError as error:
        return _nothing(error)
    obstacle = seen.obstacle
    return {
        "thread_id": visit.thread_id,
        "version": seen.version.number,
        "message_id": seen.version.message_id,
        "path": seen.persistence.path,
        FILE: file_digest(workspace.project, visit.thread_id),
        "persistence": seen.persistence._asdict(),
        "difference": seen.difference[:_MOST_CHARACTERS],
        "is_cut": len(seen.difference) > _MOST_CHARACTERS,
        "commit": seen.commit,
        "destination": seen.destination,
        "archive": seen.archive,
        "unread": len(latest.history.unread),
        "notes": [each.to_json() for each in seen.notes],
        "fault": obstacle.diagnostic.to_json() if obstacle else None,
        "details": list(obstacle.details) if obstacle else [],
        "edits": edits_document(obstacle) if obstacle else None,
        "would": _persisting_would(seen),
        "can_act": obstacle is None,  # what was interrupted is finished by doing it again
    }


def _nothing(error: BrennerError) -> dict[str, object]:
    return {
        "version": None,
        "fault": error.diagnostic.to_json(),
        "details": list(error.details),
        "edits": None,
        "would": "Nothing can be written.",
        "can_act": False,
    }


def _persisting_would(seen: Foreseen) -> str:
    """What the button will do."""
    if seen.obstacle:
        return "Nothing will be written: something is in the way."
    number, path, commit = seen.version.number, seen.persistence.path, seen.persistence.commit
    parts = _steps(seen)
    if not parts:
        has_it = f", and commit {commit[:10]} has it" if commit else ""
        return f"{path} holds v{number} already{has_it}: nothing is left to do."
    done = ", ".join(parts)
    return f"{done[0].upper()}{done[1:]}; an INFO message says so in the thread."


def _steps(seen: Foreseen) -> list[str]:
    """What is left to do, in words."""
    if seen.obstacle:
        return []
    number, path, commit = seen.version.number, seen.persistence.path, seen.persistence.commit
    lines = seen.difference.count("\n")
    parts = []
    if lines:
        parts.append(f"writes v{number} to {path} ({counted(lines, 'line')} of difference)")
    if seen.archive:
        parts.append(f"brings {seen.archive} up to date")
    if seen.commit and not (commit and not parts):
        parts.append(f"commits {'that' if parts else path} and nothing else")
    if seen.destination:
        parts.append(f"pushes {seen.destination}")
    return parts


def _persisting_to(visit: RequestContext, *, is_done: bool) -> tuple[tuple[str, str], ...]:
    thread_id = visit.thread_id
    session = (links.session(thread_id), "See the session")
    if is_done:
        return (session, (links.lab("round", thread_id), "Start the next round"))
    return (session, (links.lab("persist", thread_id), "Do what is missing"))


ACTION = Action(
    "persist",
    _form,
    _do,
    _preview,
    takes=takes(numbers=(_VERSION, _MESSAGE), texts=(FILE,), flags=HOW),
    guard=Guard(_VERSION, lambda seen: seen.get(_VERSION)),
)
