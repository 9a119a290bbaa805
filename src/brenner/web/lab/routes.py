"""All actions of the lab."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from shlex import quote
from types import MappingProxyType
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.codes.serving import NO_SUCH_PAGE
from brenner.diagnostics.model import (
    AlteredError,
    BrennerError,
    Diagnostic,
    RequestError,
    UnavailableError,
)
from brenner.services.identity import SECRET_HEADER
from brenner.web import links
from brenner.web.auth import WaitError, seconds_to_wait, wait_header
from brenner.web.lab import compile as compile_forms
from brenner.web.lab import messages, start
from brenner.web.lab.actions import (
    DRY_RUN,
    Action,
    Done,
    IdempotencyKeys,
    is_dry_run,
    is_marked,
    request_faults,
    would_be_refused,
)
from brenner.web.lab.login import LabAuth
from brenner.web.request import (
    JSON,
    ONCE,
    Answer,
    Cookie,
    Document,
    Form,
    Page,
    Redirect,
    RequestContext,
    Site,
    content_of,
    read_form,
    read_json,
    visit_of,
)
from brenner.web.responses import diagnostic_page, refusal_page, respond, wants_json

ACTIONS = (
    *(start.ACTION, compile_forms.COMPILE, compile_forms.ACTION, messages.ACTION),
    *(
        messages.ACKNOWLEDGE_ACTION,
        messages.CRITIQUE_ACTION,
        start.NEXT_ROUND_ACTION,
        compile_forms.COMPLETE,
    ),
)


# From the form of an action to what came of it.
#
# GET shows the form. POST does it, once for each form, and leads to the page that says what came of
# it. Where nothing was done the form comes back with everything that was typed, and the words.


_MOST_OF_A_KEY = 200


def shown(action: Action, visit: RequestContext) -> Page:
    """The form of an action."""
    return render_form(action.form(visit), action, visit)


def submit(action: Action, visit: RequestContext) -> Done | Page:
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
        except AlteredError as altered:  # it is stored, and stays: to send it again would be wrong
            found = altered.diagnostic
            return Done(is_done=True, says=found.message, document=_faults(found))

    try:
        answer = once.act(key, f"{visit.path} {_content(visit)}", do)
    except (RequestError, UnavailableError) as error:
        return redisplay(action, visit, error)
    return render_form(answer, action, visit) if isinstance(answer, Page) else answer


def previewed(action: Action, visit: RequestContext, *, is_part: bool) -> Page:
    """What would be done: alone, for a script of ours on the page, or within the whole form."""
    if action.preview is None:
        raise RequestError(NO_SUCH_PAGE.at(path=visit.path))
    if is_part:
        part = action.preview(visit)
        return part._replace(document={"preview": part.document}, is_live=False)
    faults = _request_faults(action, visit)
    if faults:
        return _refused(action, visit, faults)
    try:
        document = action.preview(visit).document
    except (RequestError, UnavailableError) as error:
        return redisplay(action, visit, error)
    page = render_form(action.form(visit), action, visit)
    return page._replace(document={**page.document, "preview": document})


def redisplay(action: Action, visit: RequestContext, error: BrennerError) -> Page:
    """The form with everything that was typed, and why nothing was done, or that nobody knows."""
    status = (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(error, UnavailableError)
        else HTTPStatus.CONFLICT
    )
    try:
        page = action.form(visit)
    except BrennerError:  # not even the form can be shown as things stand
        page = kept_page(visit, can_send=True)
    return render_form(page, action, visit, error.diagnostic)._replace(status=status)


def kept_page(visit: RequestContext, *, can_send: bool) -> Page:
    """Only what was typed: nobody has to write it again."""
    typed = visit.form.typed if isinstance(visit.form, Form) else tuple(visit.form.items())
    fields = [{"name": name, "value": value} for name, value in typed]
    document = {"typed": fields, "can_send": can_send}
    return Page("lab/kept.html", "Nothing was lost", document, is_live=False)


def render_form(
    page: Page, action: Action, visit: RequestContext, fault: Diagnostic | None = None
) -> Page:
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


def _looks_anew(page: Page, action: Action, visit: RequestContext) -> bool:
    """Whether the form that comes back is of another state of the thread than the one sent."""
    seen = page.document.get("preview")
    if action.guard is None or not isinstance(seen, Mapping):
        return False
    shown = action.guard.of(seen)
    return shown is not None and visit.form.get(action.guard.field) != str(shown)


# Requests of scripts


def _request_faults(action: Action, visit: RequestContext) -> tuple[Diagnostic, ...]:
    if visit.sent is None or action.takes is None:
        return ()
    return request_faults(visit, action.takes)


def _refused(action: Action, visit: RequestContext, faults: tuple[Diagnostic, ...]) -> Page:
    """A request that says something that nobody reads: nothing was done."""
    page = kept_page(visit, can_send=False)
    document = {**page.document, "violations": [each.to_json() for each in faults], "valid": False}
    page = page._replace(document=document, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return render_form(page, action, visit, faults[0])


def _tried(action: Action, visit: RequestContext) -> Page:
    """What would be done, and whether anything is in the way."""
    foresee = action.tried or action.preview
    if foresee is None:
        raise RequestError(NO_SUCH_PAGE.at(path=visit.path))
    try:
        page = foresee(visit)
    except (RequestError, UnavailableError) as error:
        return redisplay(action, visit, error)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if would_be_refused(page.document) else page.status
    document = {**page.document, DRY_RUN: True, "done": False}
    return page._replace(document=document, status=status, is_live=False)


def _content(visit: RequestContext) -> str:
    if isinstance(visit.sent, Mapping):
        return content_of(visit.sent)
    return visit.form.content if isinstance(visit.form, Form) else ""


def with_key(visit: RequestContext, *, is_script: bool) -> RequestContext:
    """The visit of a form whose key is known. A script chooses its own, or has none."""
    form = visit.form if isinstance(visit.form, Form) else Form(visit.form.items())
    once, key = _once(visit), form.get(ONCE, "")
    if not is_script:
        return visit
    if len(key) > _MOST_OF_A_KEY:
        reason = f"its key is longer than {_MOST_OF_A_KEY} characters"
        raise RequestError(codes.FORM_UNREADABLE.at(reason=reason))
    if key:
        once.expect(key)
    return visit._replace(form=form.including(ONCE, key or once.key()))


def done_page(visit: RequestContext) -> Page:
    """What came of a form."""
    done = _once(visit).done(visit.named["key"])
    title = str(done.document.get("title") or ("Done" if done.is_done else "Not done"))
    return Page(done.template, title, done_json(done), is_live=False)


def done_redirect(visit: RequestContext) -> Redirect:
    """Where to see it: reloading that page does nothing again."""
    return Redirect(links.lab(f"done/{visit.form[ONCE]}"))


def done_json(done: Done) -> Document:
    """What scripts get."""
    to = [{"address": address, "words": words} for address, words in done.to]
    return {**done.document, "done": done.is_done, "says": done.says, "to": to}


def done_status(done: Done) -> int:
    """How a script is told at a glance."""
    return HTTPStatus.OK if done.is_done else HTTPStatus.CONFLICT


def _once(visit: RequestContext) -> IdempotencyKeys:
    if visit.login is None:
        raise RequestError(codes.NOT_LOGGED_IN.at(operator=visit.site.workspace.project.operator))
    return visit.login.once


def _faults(found: Diagnostic) -> Document:
    return {"violations": [found.to_json()]}


# The pages at the door of the lab: to log in, to log out, and what waits inside.


_MOST_OWED = 100


def login_page(visit: RequestContext, error: BrennerError | None = None) -> Page:
    """The form that asks for the secret. Nothing that was shown comes back."""
    door = door_of(visit)
    fault = error.diagnostic.to_json() if error else None
    document = {
        "operator": door.operator,
        "next": _next(visit),
        "fault": fault,
        "wait": seconds_to_wait(error),
        "logged_in": visit.login is not None,
        "command": f"brenner agent secret {quote(door.operator)}",
    }
    return Page("lab/login.html", "Log in to the lab", document, _status(error), is_live=False)


def log_in(visit: RequestContext, address: str) -> Page | Redirect:
    """Look at the secret. The right one ends the login that the browser had before; a wrong one
    ends nothing, so that nobody can log out the operator by it.
    """
    door = door_of(visit)
    try:
        cookie = door.enter(visit.form.get("secret", ""), address)
    except BrennerError as error:
        return login_page(visit, error)
    door.leave(visit.cookies)
    return Redirect(_next(visit), (_cookie(door, cookie),))


def log_out(visit: RequestContext) -> Redirect:
    """The login is over, here and in the browser."""
    door = door_of(visit)
    door.leave(visit.cookies)
    return Redirect(links.HOME, (_cookie(door, ""),))


def home_page(visit: RequestContext) -> Page:
    """What the operator owes, and what can be begun."""
    workspace = visit.site.workspace
    operator = workspace.project.operator
    owed = [each for each in workspace.pending() if each.debt.debtor == operator]
    document = {
        "operator": operator,
        "verified": is_marked(visit),
        "owed": [
            {
                "message_id": each.debt.first.id,
                "thread_id": each.debt.first.message.thread_id,
                "from": each.debt.first.message.sender,
                "subject": each.debt.first.message.subject,
                "type": each.debt.first.type,
                "since": each.debt.first.at.isoformat(),
                "is_overdue": each.is_overdue,
            }
            for each in owed[:_MOST_OWED]
        ],
        "owed_in_all": len(owed),
    }
    return Page("lab/home.html", "The lab", document, is_live=False)


def door_of(visit: RequestContext) -> LabAuth:
    """The door; these pages exist only where there is one."""
    if visit.site.door is None:
        raise RequestError(NO_SUCH_PAGE.at(path=visit.path))
    return visit.site.door


def _next(visit: RequestContext) -> str:
    given = visit.form.get("next") or visit.asked.get("next") or links.LAB
    return links.own_path(given)


def _cookie(door: LabAuth, value: str) -> Cookie:
    return Cookie(door.cookie, value, seconds=None, is_strict=True)


def _status(error: BrennerError | None) -> int:
    if error is None:
        return HTTPStatus.OK
    if isinstance(error, WaitError):
        return HTTPStatus.TOO_MANY_REQUESTS
    return (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(error, UnavailableError)
        else HTTPStatus.UNAUTHORIZED
    )


# The addresses of the lab. They exist only where the server was started with it.


_MOST_AT_ONCE = 8  # of its own: who waits for an action keeps nobody from reading
_LOGIN = links.lab("login")
_HTMX, _HTML = "hx-request", "text/html"
_STATUSES = MappingProxyType(
    {
        codes.NOT_LOGGED_IN.id: HTTPStatus.UNAUTHORIZED,
        codes.LOGIN_REFUSED.id: HTTPStatus.UNAUTHORIZED,
        codes.FORGED_FORM.id: HTTPStatus.FORBIDDEN,
        codes.FORM_UNKNOWN.id: HTTPStatus.CONFLICT,
        codes.FORM_CHANGED.id: HTTPStatus.CONFLICT,
        codes.TOO_MANY_ATTEMPTS.id: HTTPStatus.TOO_MANY_REQUESTS,
    }
)

_Work = Callable[[Request, RequestContext], Answer | Done]
_Endpoint = Callable[[Request], Awaitable[Response]]


def lab_routes(site: Site) -> list[BaseRoute]:
    """All of them."""
    lab = Lab(site)
    found: list[BaseRoute] = [
        Route(links.LAB, lab.get(home_page)),
        Route(_LOGIN, lab.endpoint(lab.login), methods=["GET", "POST"]),
        Route(links.lab("logout"), lab.endpoint(lab.logout), methods=["POST"]),
        Route(links.lab("done/{key}"), lab.get(done_page)),
    ]
    for action in ACTIONS:
        of_session = f"{links.LAB}/sessions/{{thread}}/{action.name}"
        path = of_session if action.is_of_session else f"{links.LAB}/{action.name}"
        found.append(Route(path, lab.get(partial(shown, action)), methods=["GET"]))
        found.append(Route(path, lab.endpoint(partial(lab.act, action)), methods=["POST"]))
        if action.preview is not None:
            work = partial(lab.preview, action)
            found.append(Route(f"{path}/preview", lab.endpoint(work), methods=["POST"]))
    return found


class Lab:
    """Answers at these addresses."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)

    def get(self, function: Callable[[RequestContext], Answer]) -> _Endpoint:
        """A page for who is logged in; others are asked to."""

        def work(request: Request, visit: RequestContext) -> Answer:
            if visit.login is None and wants_json(request):
                raise _nobody(visit)
            if visit.login is None:
                return Redirect(f"{_LOGIN}?{urlencode({'next': visit.path})}")
            return function(visit)

        return self.endpoint(work)

    def endpoint(self, work: _Work) -> _Endpoint:
        """Run it in a thread, with what was sent."""

        async def endpoint(request: Request) -> Response:
            body = await request.body()
            run = partial(self._answer, work, request, body)
            return await anyio.to_thread.run_sync(run, limiter=self._limiter)

        return endpoint

    def login(self, request: Request, visit: RequestContext) -> Answer:
        """Log in, or show how."""
        if request.method == "POST":
            return log_in(visit, _address(request))
        return login_page(visit)

    def logout(self, request: Request, visit: RequestContext) -> Answer:
        """Log out; no other page can do that to somebody."""
        _admit(request, visit)
        return log_out(visit)

    def act(self, action: Action, request: Request, visit: RequestContext) -> Answer | Done:
        """Do it once; a browser is led to what came of it."""
        try:
            _admit(request, visit)
        except UnavailableError as error:
            return redisplay(action, visit, error)
        visit = with_key(visit, is_script=_is_script(request))
        answer = submit(action, visit)
        if isinstance(answer, Page) and visit.sent is not None:
            return answer._replace(document={"done": False, **answer.document})
        if isinstance(answer, Page) or _is_script(request):
            return answer
        return done_redirect(visit)

    def preview(self, action: Action, request: Request, visit: RequestContext) -> Answer:
        """What would be done."""
        _admit(request, visit)
        visit = with_key(visit, is_script=_is_script(request))
        return previewed(action, visit, is_part=_HTMX in request.headers)

    def _answer(self, work: _Work, request: Request, body: bytes) -> Response:
        """Nothing of it is kept by anybody on the way, nor by the browser; but for a form that
        came back: the button Back could not show it again, and what was typed would be lost.
        """
        response = self._answered(work, request, body)
        kind = response.headers.get("content-type", "")
        is_form = request.method == "POST" and kind.startswith(_HTML)
        response.headers["Cache-Control"] = "private, no-cache" if is_form else "no-store"
        return response

    def _answered(self, work: _Work, request: Request, body: bytes) -> Response:
        visit = visit_of(self._site, request)
        try:
            visit = _known(request, _with_sent(request, visit, body))
            answer = work(request, visit)
        except BrennerError as error:
            return _turned_away(request, visit, error)
        if isinstance(answer, Done):
            return JSONResponse(done_json(answer), done_status(answer))
        if isinstance(answer, Page) and _is_script(request):
            return JSONResponse(answer.document, answer.status)
        response = respond(answer, request, visit)
        if isinstance(answer, Page):
            response.headers.update(wait_header(answer.document.get("wait")))
        return response


def _with_sent(request: Request, visit: RequestContext, body: bytes) -> RequestContext:
    """The visit with what came in the body."""
    if request.method != "POST":
        return visit
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON:
        form, sent = read_json(body)
        return visit._replace(form=form, sent=sent)
    return visit._replace(form=read_form(body))


def _known(request: Request, visit: RequestContext) -> RequestContext:
    """The visit with who is logged in, if anybody is."""
    door = door_of(visit)
    if _is_script(request):
        return visit._replace(login=door.script(request.headers[SECRET_HEADER], _address(request)))
    return visit._replace(login=door.login_to_read(visit.cookies))


def _admit(request: Request, visit: RequestContext) -> None:
    """Refuse who is not logged in, and a form that is not of this login."""
    if visit.login is None:
        raise _nobody(visit)
    if _is_script(request):
        return
    door = door_of(visit)
    door.check_form(visit.login, visit.form)
    if door.login(visit.cookies) is not visit.login:
        raise _nobody(visit)


def _turned_away(request: Request, visit: RequestContext, error: BrennerError) -> Response:
    """Why nothing was done. What somebody has typed is shown, so that she can keep it."""
    status = _STATUSES.get(error.diagnostic.id, 0)
    page = refusal_page(error) if not status else diagnostic_page(error.diagnostic, status)
    if request.method == "POST" and visit.form and not wants_json(request):
        fault = {"fault": error.diagnostic.to_json(), "to": visit.path}
        kept = kept_page(visit, can_send=False)
        page = kept._replace(document={**kept.document, **fault}, status=page.status)
    headers = wait_header(seconds_to_wait(error))
    if _is_script(request):
        return JSONResponse(page.document, page.status, headers)
    response = respond(page, request, visit)
    response.headers.update(headers)
    return response


def _is_script(request: Request) -> bool:
    return SECRET_HEADER in request.headers


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _nobody(visit: RequestContext) -> RequestError:
    return RequestError(codes.NOT_LOGGED_IN.at(operator=visit.site.workspace.project.operator))
