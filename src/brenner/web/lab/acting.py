"""From the form of an action to what came of it.

GET shows the form. POST does it, once for each form, and leads to the page that says what came of
it. Where nothing was done the form comes back with everything that was typed, and the words.
"""

from collections.abc import Mapping
from http import HTTPStatus

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import Altered, BrennerError, Diagnostic, Refused, Unavailable
from brenner.web import links
from brenner.web.forms import ONCE, Form, content_of
from brenner.web.lab.action import Action, Done
from brenner.web.lab.desk import is_marked
from brenner.web.lab.once import Once
from brenner.web.lab.requests import DRY_RUN, is_dry_run, request_faults, would_be_refused
from brenner.web.page import Document, Page, Redirect
from brenner.web.visit import Visit

_MOST_OF_A_KEY = 200


def shown(action: Action, visit: Visit) -> Page:
    """The form of an action."""
    return dressed(action.form(visit), action, visit)


def acted(action: Action, visit: Visit) -> Done | Page:
    """Do what the form says, or say what it has done already."""
    once, key = _once(visit), visit.form.get(ONCE, "")
    faults = _request_faults(action, visit)
    if faults:
        return _refused(action, visit, faults)
    if action.takes and is_dry_run(visit):
        return _tried(action, visit)

    def do() -> Done | Page:
        try:
            return action.do(visit)
        except Altered as altered:  # it is stored, and stays: to send it again would be wrong
            found = altered.diagnostic
            return Done(is_done=True, says=found.message, document=_faults(found))

    try:
        answer = once.act(key, f"{visit.path} {_content(visit)}", do)
    except (Refused, Unavailable) as error:
        return again(action, visit, error)
    return dressed(answer, action, visit) if isinstance(answer, Page) else answer


def previewed(action: Action, visit: Visit, *, is_part: bool) -> Page:
    """What would be done: alone, for a script of ours on the page, or within the whole form."""
    if action.preview is None:
        raise Refused(NO_SUCH_PAGE.at(path=visit.path))
    if is_part:
        part = action.preview(visit)
        return part._replace(document={"preview": part.document}, is_live=False)
    faults = _request_faults(action, visit)
    if faults:
        return _refused(action, visit, faults)
    try:
        document = action.preview(visit).document
    except (Refused, Unavailable) as error:
        return again(action, visit, error)
    page = dressed(action.form(visit), action, visit)
    return page._replace(document={**page.document, "preview": document})


def again(action: Action, visit: Visit, error: BrennerError) -> Page:
    """The form with everything that was typed, and why nothing was done, or that nobody knows."""
    status = (
        HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, Unavailable) else HTTPStatus.CONFLICT
    )
    try:
        page = action.form(visit)
    except BrennerError:  # not even the form can be shown as things stand
        page = kept_page(visit, can_send=True)
    return dressed(page, action, visit, error.diagnostic)._replace(status=status)


def kept_page(visit: Visit, *, can_send: bool) -> Page:
    """Only what was typed: nobody has to write it again."""
    typed = visit.form.typed if isinstance(visit.form, Form) else tuple(visit.form.items())
    fields = [{"name": name, "value": value} for name, value in typed]
    document = {"typed": fields, "can_send": can_send}
    return Page("lab/kept.html", "Nothing was lost", document, is_live=False)


def dressed(page: Page, action: Action, visit: Visit, fault: Diagnostic | None = None) -> Page:
    """The page of a form with what every form has: where it goes, its key, and what went wrong.

    A form that comes back keeps its key, as long as it is good. With another guard it is another
    form: under the old key only the same could be sent again, and that is not there any more. So
    is one whose words were changed after it was sent.
    """
    once, key = _once(visit), visit.form.get(ONCE, "")
    is_other = fault is not None and fault.code is codes.FORM_CHANGED
    is_same = once.is_open(key) and not is_other and not _looks_anew(page, action, visit)
    frame: Document = {
        "to": visit.path.partition("?")[0].removesuffix("/preview"),
        "once": key if is_same else once.key(),
        "fault": fault.to_json() if fault else page.document.get("fault"),
        "earlier": links.lab(f"done/{key}") if is_other and once.is_done(key) else None,
        "verified": is_marked(visit),
        "has_preview": action.preview is not None,
        "preview": page.document.get("preview"),
    }
    return page._replace(document={**page.document, **frame}, is_live=False)


def _looks_anew(page: Page, action: Action, visit: Visit) -> bool:
    """Whether the form that comes back is of another state of the thread than the one sent."""
    seen = page.document.get("preview")
    if action.guard is None or not isinstance(seen, Mapping):
        return False
    shown = action.guard.of(seen)
    return shown is not None and visit.form.get(action.guard.field) != str(shown)


# Requests of scripts


def _request_faults(action: Action, visit: Visit) -> tuple[Diagnostic, ...]:
    if visit.sent is None or action.takes is None:
        return ()
    return request_faults(visit, action.takes)


def _refused(action: Action, visit: Visit, faults: tuple[Diagnostic, ...]) -> Page:
    """A request that says something that nobody reads: nothing was done."""
    page = kept_page(visit, can_send=False)
    document = {**page.document, "violations": [each.to_json() for each in faults], "valid": False}
    page = page._replace(document=document, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return dressed(page, action, visit, faults[0])


def _tried(action: Action, visit: Visit) -> Page:
    """What would be done, and whether anything is in the way."""
    foresee = action.tried or action.preview
    if foresee is None:
        raise Refused(NO_SUCH_PAGE.at(path=visit.path))
    try:
        page = foresee(visit)
    except (Refused, Unavailable) as error:
        return again(action, visit, error)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if would_be_refused(page.document) else page.status
    document = {**page.document, DRY_RUN: True, "done": False}
    return page._replace(document=document, status=status, is_live=False)


def _content(visit: Visit) -> str:
    if isinstance(visit.sent, Mapping):
        return content_of(visit.sent)
    return visit.form.content if isinstance(visit.form, Form) else ""


def with_key(visit: Visit, *, is_script: bool) -> Visit:
    """The visit of a form whose key is known. A script chooses its own, or has none."""
    form = visit.form if isinstance(visit.form, Form) else Form(visit.form.items())
    once, key = _once(visit), form.get(ONCE, "")
    if not is_script:
        return visit
    if len(key) > _MOST_OF_A_KEY:
        reason = f"its key is longer than {_MOST_OF_A_KEY} characters"
        raise Refused(codes.FORM_UNREADABLE.at(reason=reason))
    if key:
        once.expect(key)
    return visit._replace(form=form.including(ONCE, key or once.key()))


def done_page(visit: Visit) -> Page:
    """What came of a form."""
    done = _once(visit).done(visit.named["key"])
    title = str(done.document.get("title") or ("Done" if done.is_done else "Not done"))
    return Page(done.template, title, done_json(done), is_live=False)


def done_redirect(visit: Visit) -> Redirect:
    """Where to see it: reloading that page does nothing again."""
    return Redirect(links.lab(f"done/{visit.form[ONCE]}"))


def done_json(done: Done) -> Document:
    """What scripts get."""
    to = [{"address": address, "words": words} for address, words in done.to]
    return {**done.document, "done": done.is_done, "says": done.says, "to": to}


def done_status(done: Done) -> int:
    """How a script is told at a glance."""
    return HTTPStatus.OK if done.is_done else HTTPStatus.CONFLICT


def _once(visit: Visit) -> Once:
    if visit.login is None:
        raise Refused(codes.NOT_LOGGED_IN.at(operator=visit.site.desk.project.operator))
    return visit.login.once


def _faults(found: Diagnostic) -> Document:
    return {"violations": [found.to_json()]}
