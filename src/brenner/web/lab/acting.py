"""From the form of an action to what came of it.

GET shows the form. POST does it, once for each form, and leads to the page that says what came of
it. Where nothing was done the form comes back with everything that was typed, and the words.
"""

from brenner.diagnostics.codes import lab as codes
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.errors import Altered, BrennerError, Refused, Unavailable
from brenner.diagnostics.model import Diagnostic
from brenner.web import links
from brenner.web.lab.action import Action, Done
from brenner.web.lab.desk import is_marked
from brenner.web.lab.forms import ONCE, Form
from brenner.web.lab.once import Once
from brenner.web.page import Document, Page, Redirect
from brenner.web.visit import Visit

_MOST_OF_A_KEY = 200
_CONFLICT, _OK = 409, 200


def shown(action: Action, visit: Visit) -> Page:
    """The form of an action."""
    return dressed(action.form(visit), action, visit)


def acted(action: Action, visit: Visit) -> Done | Page:
    """Do what the form says, or say what it has done already."""
    once, key = _once(visit), visit.form[ONCE]

    def do() -> Done | Page:
        try:
            return action.do(visit)
        except Altered as altered:  # it is stored, and stays: to send it again would be wrong
            found = altered.diagnostic
            return Done(is_done=True, says=found.message, document=_faults(found))

    content = f"{visit.path} {visit.form.content}" if isinstance(visit.form, Form) else visit.path
    try:
        answer = once.act(key, content, do)
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
    try:
        document = action.preview(visit).document
    except (Refused, Unavailable) as error:
        return again(action, visit, error)
    page = dressed(action.form(visit), action, visit)
    return page._replace(document={**page.document, "preview": document})


def again(action: Action, visit: Visit, error: BrennerError) -> Page:
    """The form with everything that was typed, and why nothing was done, or that nobody knows."""
    status = 503 if isinstance(error, Unavailable) else _CONFLICT
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

    A form that comes back keeps its key, as long as it is good.
    """
    once, key = _once(visit), visit.form.get(ONCE, "")
    frame: Document = {
        "to": visit.path.partition("?")[0].removesuffix("/preview"),
        "once": key if once.is_open(key) else once.key(),
        "fault": fault.to_json() if fault else page.document.get("fault"),
        "verified": is_marked(visit),
        "has_preview": action.preview is not None,
        "preview": page.document.get("preview"),
    }
    return page._replace(document={**page.document, **frame}, is_live=False)


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
    return _OK if done.is_done else _CONFLICT


def _once(visit: Visit) -> Once:
    if visit.login is None:
        raise Refused(codes.NOT_LOGGED_IN.at(operator=visit.site.desk.project.operator))
    return visit.login.once


def _faults(found: Diagnostic) -> Document:
    return {"violations": [found.to_json()]}
