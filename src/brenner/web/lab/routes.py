"""The addresses of the lab. They exist only where the server was started with it."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from brenner.diagnostics.codes import web as codes
from brenner.diagnostics.model import BrennerError, Refused, Unavailable
from brenner.services.identity import SECRET_HEADER
from brenner.web import links
from brenner.web.forms import JSON, read_form, read_json
from brenner.web.lab import acting, entering
from brenner.web.lab.action import Action, Done
from brenner.web.lab.actions import ACTIONS
from brenner.web.page import Answer, Page, Redirect
from brenner.web.refused import diagnostic_page, refusal_page
from brenner.web.responding import respond, wants_json
from brenner.web.site import Site
from brenner.web.tries import seconds_to_wait, wait_header
from brenner.web.visit import Visit
from brenner.web.visiting import visit_of

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

_Work = Callable[[Request, Visit], Answer | Done]
_Endpoint = Callable[[Request], Awaitable[Response]]


def lab_routes(site: Site) -> list[BaseRoute]:
    """All of them."""
    lab = Lab(site)
    found: list[BaseRoute] = [
        Route(links.LAB, lab.get(entering.home_page)),
        Route(_LOGIN, lab.endpoint(lab.login), methods=["GET", "POST"]),
        Route(links.lab("logout"), lab.endpoint(lab.logout), methods=["POST"]),
        Route(links.lab("done/{key}"), lab.get(acting.done_page)),
    ]
    for action in ACTIONS:
        of_session = f"{links.LAB}/sessions/{{thread}}/{action.name}"
        path = of_session if action.is_of_session else f"{links.LAB}/{action.name}"
        found.append(Route(path, lab.get(partial(acting.shown, action)), methods=["GET"]))
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

    def get(self, function: Callable[[Visit], Answer]) -> _Endpoint:
        """A page for who is logged in; others are asked to."""

        def work(request: Request, visit: Visit) -> Answer:
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

    def login(self, request: Request, visit: Visit) -> Answer:
        """Log in, or show how."""
        if request.method == "POST":
            return entering.log_in(visit, _address(request))
        return entering.login_page(visit)

    def logout(self, request: Request, visit: Visit) -> Answer:
        """Log out; no other page can do that to somebody."""
        _admit(request, visit)
        return entering.log_out(visit)

    def act(self, action: Action, request: Request, visit: Visit) -> Answer | Done:
        """Do it once; a browser is led to what came of it."""
        try:
            _admit(request, visit)
        except Unavailable as error:
            return acting.again(action, visit, error)
        visit = acting.with_key(visit, is_script=_is_script(request))
        answer = acting.acted(action, visit)
        if isinstance(answer, Page) and visit.sent is not None:
            return answer._replace(document={"done": False, **answer.document})
        if isinstance(answer, Page) or _is_script(request):
            return answer
        return acting.done_redirect(visit)

    def preview(self, action: Action, request: Request, visit: Visit) -> Answer:
        """What would be done."""
        _admit(request, visit)
        visit = acting.with_key(visit, is_script=_is_script(request))
        return acting.previewed(action, visit, is_part=_HTMX in request.headers)

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
            return JSONResponse(acting.done_json(answer), acting.done_status(answer))
        if isinstance(answer, Page) and _is_script(request):
            return JSONResponse(answer.document, answer.status)
        response = respond(answer, request, visit)
        if isinstance(answer, Page):
            response.headers.update(wait_header(answer.document.get("wait")))
        return response


def _with_sent(request: Request, visit: Visit, body: bytes) -> Visit:
    """The visit with what came in the body."""
    if request.method != "POST":
        return visit
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON:
        form, sent = read_json(body)
        return visit._replace(form=form, sent=sent)
    return visit._replace(form=read_form(body))


def _known(request: Request, visit: Visit) -> Visit:
    """The visit with who is logged in, if anybody is."""
    door = entering.door_of(visit)
    if _is_script(request):
        return visit._replace(login=door.script(request.headers[SECRET_HEADER], _address(request)))
    return visit._replace(login=door.login_to_read(visit.cookies))


def _admit(request: Request, visit: Visit) -> None:
    """Refuse who is not logged in, and a form that is not of this login."""
    if visit.login is None:
        raise _nobody(visit)
    if _is_script(request):
        return
    door = entering.door_of(visit)
    door.check_form(visit.login, visit.form)
    if door.login(visit.cookies) is not visit.login:
        raise _nobody(visit)


def _turned_away(request: Request, visit: Visit, error: BrennerError) -> Response:
    """Why nothing was done. What somebody has typed is shown, so that she can keep it."""
    status = _STATUSES.get(error.diagnostic.id, 0)
    page = refusal_page(error) if not status else diagnostic_page(error.diagnostic, status)
    if request.method == "POST" and visit.form and not wants_json(request):
        fault = {"fault": error.diagnostic.to_json(), "to": visit.path}
        kept = acting.kept_page(visit, can_send=False)
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


def _nobody(visit: Visit) -> Refused:
    return Refused(codes.NOT_LOGGED_IN.at(operator=visit.site.desk.project.operator))
