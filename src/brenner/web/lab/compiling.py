"""How a version is previewed and published in the lab: the next one, or the one that closes.

What is published is what was shown. The form bears how many messages the thread had; if the next
version is another one by now, nothing is published, and the form comes back. Whatever came in since
the form was opened is named by every preview of it.
"""

from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from brenner.diagnostics.model import BrennerError
from brenner.services.compile import (
    Compiled,
    CompileOptions,
    Status,
    compile_thread,
    persisted_words,
    what_happened,
)
from brenner.services.decisions import check_operator
from brenner.services.persist import file_digest
from brenner.services.publish import arrived_since, digest_of
from brenner.text import visible
from brenner.web import links
from brenner.web.forms import is_ticked, number_in
from brenner.web.lab.action import Action, Done, Guard
from brenner.web.lab.compile_document import compiled_document, news_document
from brenner.web.lab.desk import lab_desk
from brenner.web.lab.hand_edits import edits_document
from brenner.web.lab.persist_ticks import FILE, HOW, wanted
from brenner.web.lab.requests import is_dry_run, takes
from brenner.web.page import Page
from brenner.web.visit import Visit

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


def form(kind: Publishing, visit: Visit) -> Page:
    """The preview, and the boxes that say how."""
    document = {
        "thread_id": visit.thread_id,
        "closes": kind.close,
        "fields": {name: is_ticked(visit.form, name) for name in _TICKS},
        "preview": _seen(kind, visit),
    }
    return Page("lab/compile.html", kind.title, document, is_live=False)


def preview(kind: Publishing, visit: Visit) -> Page:
    """What would be published as the boxes are ticked."""
    return Page("lab/compile_part.html", kind.title, _seen(kind, visit), is_live=False)


def do(kind: Publishing, visit: Visit) -> Done | Page:
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


def _did_nothing(done: Compiled) -> bool:
    is_more = done.persisted or done.notified or done.failed
    return done.status is Status.NOTHING and not is_more


# The preview


def _seen(kind: Publishing, visit: Visit) -> dict[str, object]:
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
        seen |= {FILE: file_digest(visit.site.desk.project, visit.thread_id)}
    except BrennerError as error:
        seen |= {"fault": error.diagnostic.to_json(), "details": list(error.details)}
        seen["edits"] = edits_document(error)
    return seen


def _compiled(
    kind: Publishing, visit: Visit, position: int | None = None, *, dry_run: bool = False
) -> Compiled:
    desk, form = lab_desk(visit), visit.form
    if kind.close:
        check_operator(desk, "complete a session")
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
    return compile_thread(desk, visit.thread_id, options)


def _news(visit: Visit, position: int) -> dict[str, object]:
    """What came in since the form was opened; who opens it has seen all."""
    since = number_in(visit.form, _SINCE)
    since = position if since is None else since
    arrived = arrived_since(lab_desk(visit).mailbox, visit.thread_id, since)
    return {"since": since, "news": news_document(arrived)}


# What came of it


def _done(done: Compiled) -> Done:
    says = [what_happened(done)]
    if done.persisted:
        says.append(persisted_words(done.persisted))
    document = compiled_document(done, is_done=True)
    if done.failed:
        found = done.failed.diagnostic
        says.append(f"What was to come after that failed: {visible(found.message)}")
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


def _to(done: Compiled) -> list[tuple[str, str]]:
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
