"""Routes of the lab: login, the forms of all actions, their previews and their results.

They exist only if the server was started with the lab.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING
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
from brenner.program_settings import SECRET_HEADER
from brenner.web import links
from brenner.web.auth import retry_after, retry_after_header
from brenner.web.lab import decide, messages, start
from brenner.web.lab.actions import (
    DRY_RUN,
    Action,
    ActionResult,
    IdempotencyKeys,
    is_dry_run,
    marks_verified,
    request_faults,
    would_be_refused,
)
from brenner.web.lab.cancel import CANCEL_ACTION, REOPEN_ACTION
from brenner.web.lab.compile import COMPILE_ACTION, COMPLETE_ACTION, PERSIST_ACTION
from brenner.web.layout import session_document, session_or_none
from brenner.web.request import (
    JSON_TYPE,
    KEY_FIELD,
    Cookie,
    Document,
    Form,
    Page,
    PageResult,
    Redirect,
    RequestContext,
    Site,
    as_operator,
    json_digest,
    make_context,
    parse_form,
    parse_json,
)
from brenner.web.responses import diagnostic_page, error_page, to_response, wants_json

if TYPE_CHECKING:
    from brenner.web.lab.login import LabAuth

ACTIONS = (
    *(start.START_ACTION, COMPILE_ACTION, PERSIST_ACTION, messages.REPLY_ACTION),
    *(
        messages.ACKNOWLEDGE_ACTION,
        messages.CRITIQUE_ACTION,
        start.NEXT_ROUND_ACTION,
        COMPLETE_ACTION,
        CANCEL_ACTION,
        REOPEN_ACTION,
    ),
    *(decide.DISMISS_ACTION, decide.CHANGE_ACTION, decide.REMIND_ACTION),
)


# Forms of actions.
#
# GET shows the form. POST runs the action, once per form, and redirects to its result. If nothing
# was done, the form is shown again with everything that was typed, and the error.


_MAX_KEY_LENGTH = 200


def form_page(action: Action, context: RequestContext) -> Page:
    return render_form(action.form(context), action, context)


def submit(action: Action, context: RequestContext) -> ActionResult | Page:
    """Run the action of a form, or return its earlier result."""
    keys, key = _keys(context), context.form.get(KEY_FIELD, "")
    faults = _request_faults(action, context)
    if faults:
        return _invalid_request(action, context, faults)
    if action.schema and is_dry_run(context):
        return _dry_run(action, context)

    def do() -> ActionResult | Page:
        try:
            return action.do(context)
        except AlteredError as altered:  # it is stored, so it must not be sent again
            found = altered.diagnostic
            return ActionResult(
                is_done=True, says=found.message, document={"violations": [found.to_json()]}
            )

    try:
        result = keys.act(key, f"{context.path} {_content_digest(context)}", do)
    except (RequestError, UnavailableError) as error:
        return redisplay(action, context, error)
    return render_form(result, action, context) if isinstance(result, Page) else result


def preview_page(action: Action, context: RequestContext, *, is_part: bool) -> Page:
    """Return what would be done: alone (`is_part`) for the page's script, or in the whole form."""
    if action.preview is None:
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    if is_part:
        part = action.preview(context)
        return part._replace(document={"preview": part.document}, is_live=False)
    faults = _request_faults(action, context)
    if faults:
        return _invalid_request(action, context, faults)
    try:
        document = action.preview(context).document
    except (RequestError, UnavailableError) as error:
        return redisplay(action, context, error)
    page = render_form(action.form(context), action, context)
    return page._replace(document={**page.document, "preview": document})


def redisplay(action: Action, context: RequestContext, error: BrennerError) -> Page:
    """Return the form with everything that was typed, and the error."""
    status = (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(error, UnavailableError)
        else HTTPStatus.CONFLICT
    )
    try:
        page = action.form(context)
    except BrennerError:  # the form itself cannot be shown
        page = typed_fields_page(context, can_send=True)
    return render_form(page, action, context, error.diagnostic)._replace(status=status)


def typed_fields_page(context: RequestContext, *, can_send: bool) -> Page:
    """Return a page with only what was typed, so that it is not lost."""
    typed = context.form.typed if isinstance(context.form, Form) else tuple(context.form.items())
    fields = [{"name": name, "value": value} for name, value in typed]
    document = {"typed": fields, "can_send": can_send}
    return Page("lab/kept.html", "Your text", document, is_live=False)


def render_form(
    page: Page, action: Action, context: RequestContext, fault: Diagnostic | None = None
) -> Page:
    """Add to the page of a form what every form has: its address, key and error.

    A form that is shown again keeps its key while it is open. It gets a new key if its guard
    changed or its content was changed after it was sent, because the old key accepts only the same
    content.
    """
    keys, key = _keys(context), context.form.get(KEY_FIELD, "")
    is_other = fault is not None and fault.code is codes.FORM_CHANGED
    is_same = keys.is_open(key) and not is_other and not _guard_changed(page, action, context)
    form_fields: Document = {
        "to": context.path.partition("?")[0].removesuffix("/preview"),
        "once": key if is_same else keys.key(),
        "fault": fault.to_json() if fault else page.document.get("fault"),
        "earlier": links.lab(f"done/{key}") if is_other and keys.is_done(key) else None,
        "verified": marks_verified(context),
        "has_preview": action.preview is not None,
        "preview": page.document.get("preview"),
    }
    return page._replace(document={**page.document, **form_fields}, is_live=False)


def _guard_changed(page: Page, action: Action, context: RequestContext) -> bool:
    """Return whether the form now shows another state of the thread than the one that was sent."""
    seen = page.document.get("preview")
    if action.guard is None or not isinstance(seen, Mapping):
        return False
    field, state_of = action.guard
    shown = state_of(seen)
    return shown is not None and context.form.get(field) != str(shown)


# JSON requests of scripts


def _request_faults(action: Action, context: RequestContext) -> tuple[Diagnostic, ...]:
    if context.sent is None or action.schema is None:
        return ()
    return request_faults(context, action.schema)


def _invalid_request(
    action: Action, context: RequestContext, faults: tuple[Diagnostic, ...]
) -> Page:
    """Return the page for a JSON request that violates the schema. Nothing was done."""
    page = typed_fields_page(context, can_send=False)
    document = {**page.document, "violations": [each.to_json() for each in faults], "valid": False}
    page = page._replace(document=document, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return render_form(page, action, context, faults[0])


def _dry_run(action: Action, context: RequestContext) -> Page:
    """Return what would be done, and whether it would be refused."""
    preview = action.dry_run or action.preview
    if preview is None:
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    try:
        page = preview(context)
    except (RequestError, UnavailableError) as error:
        return redisplay(action, context, error)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if would_be_refused(page.document) else page.status
    document = {**page.document, DRY_RUN: True, "done": False}
    return page._replace(document=document, status=status, is_live=False)


def _content_digest(context: RequestContext) -> str:
    if isinstance(context.sent, Mapping):
        return json_digest(context.sent)
    return context.form.content if isinstance(context.form, Form) else ""


def with_key(context: RequestContext, *, is_script: bool) -> RequestContext:
    """Return the context with an idempotency key: for a script its own or a new one."""
    form = context.form if isinstance(context.form, Form) else Form(context.form.items())
    keys, key = _keys(context), form.get(KEY_FIELD, "")
    if not is_script:
        return context
    if len(key) > _MAX_KEY_LENGTH:
        reason = f"its key is longer than {_MAX_KEY_LENGTH} characters"
        raise RequestError(codes.FORM_UNREADABLE.at(reason=reason))
    if key:
        keys.expect(key)
    return context._replace(form=form.with_field(KEY_FIELD, key or keys.key()))


def result_page(context: RequestContext) -> Page:
    done = _keys(context).done(context.parameters["key"])
    title = str(done.document.get("title") or ("Done" if done.is_done else "No changes were made"))
    return Page(done.template, title, result_document(done), is_live=False)


def in_session(page: Page, context: RequestContext) -> Page:
    """Return the page with the head and the tabs of its session, if it has one."""
    thread_id = context.parameters.get("thread") or page.document.get("thread_id")
    if not isinstance(thread_id, str) or context.login is None or "session" in page.document:
        return page
    there = context._replace(parameters={**context.parameters, "thread": thread_id})
    try:
        if session_or_none(there) is None:  # only a file: nothing can be done with it
            return page
        session = session_document(there)
    except BrennerError:  # unknown, or the store is away; the form still has the text
        return page
    return page._replace(document={**page.document, "session": session})


def result_redirect(context: RequestContext) -> Redirect:
    """Redirect to the result, so that reloading does nothing again."""
    return Redirect(links.lab(f"done/{context.form[KEY_FIELD]}"))


def result_document(done: ActionResult) -> Document:
    to = [{"address": address, "words": words} for address, words in done.to]
    return {**done.document, "done": done.is_done, "says": done.says, "to": to}


def result_status(done: ActionResult) -> int:
    return HTTPStatus.OK if done.is_done else HTTPStatus.CONFLICT


def _keys(context: RequestContext) -> IdempotencyKeys:
    if context.login is None:
        raise RequestError(codes.NOT_LOGGED_IN.at(operator=context.site.workspace.project.operator))
    return context.login.once


# Login, logout and the home page of the lab


_MAX_OWED = 100


def login_page(context: RequestContext, error: BrennerError | None = None) -> Page:
    """Return the form that asks for the secret. It never contains a secret that was typed."""
    auth = lab_auth(context)
    fault = error.diagnostic.to_json() if error else None
    document = {
        "operator": auth.operator,
        "next": _next_path(context),
        "fault": fault,
        "wait": retry_after(error),
        "logged_in": context.login is not None,
        "command": f"brenner agent secret {quote(auth.operator)}",
    }
    return Page(
        "lab/login.html", "Log in to the lab", document, _login_status(error), is_live=False
    )


def log_in(context: RequestContext, address: str) -> Page | Redirect:
    """Check the secret and log in.

    The right secret ends the previous login of the browser. A wrong one ends nothing, so that it
    cannot log out the operator.
    """
    auth = lab_auth(context)
    try:
        cookie = auth.enter(context.form.get("secret", ""), address)
    except BrennerError as error:
        return login_page(context, error)
    auth.leave(context.cookies)
    return Redirect(_next_path(context), (_login_cookie(auth, cookie),))


def log_out(context: RequestContext) -> Redirect:
    """End the login and delete the cookie."""
    auth = lab_auth(context)
    auth.leave(context.cookies)
    return Redirect(links.HOME, (_login_cookie(auth, ""),))


def home_page(context: RequestContext) -> Page:
    """Return the open ACKs of the operator, and the actions without a session."""
    workspace = context.site.workspace
    operator = workspace.project.operator
    owed = [each for each in workspace.pending() if each.pending.debtor == operator]
    document = {
        "operator": operator,
        "verified": marks_verified(context),
        "owed": [
            {
                "message_id": each.pending.first.id,
                "thread_id": each.pending.first.message.thread_id,
                "from": each.pending.first.message.sender,
                "subject": each.pending.first.message.subject,
                "type": each.pending.first.type,
                "since": each.pending.first.at.isoformat(),
                "is_overdue": each.is_overdue,
            }
            for each in owed[:_MAX_OWED]
        ],
        "owed_in_all": len(owed),
    }
    return Page("lab/home.html", "Lab", document, is_live=False)


def lab_auth(context: RequestContext) -> LabAuth:
    """Return the authentication of the lab. Raise RequestError if there is no lab."""
    if context.site.lab_auth is None:
        raise RequestError(NO_SUCH_PAGE.at(path=context.path))
    return context.site.lab_auth


def _next_path(context: RequestContext) -> str:
    given = context.form.get("next") or context.query.get("next") or links.LAB
    return links.own_path(given)


def _login_cookie(auth: LabAuth, value: str) -> Cookie:
    return Cookie(auth.cookie, value, seconds=None, is_strict=True)


def _login_status(error: BrennerError | None) -> int:
    if error is None:
        return HTTPStatus.OK
    if retry_after(error):
        return HTTPStatus.TOO_MANY_REQUESTS
    return (
        HTTPStatus.SERVICE_UNAVAILABLE
        if isinstance(error, UnavailableError)
        else HTTPStatus.UNAUTHORIZED
    )


# Routes and endpoints


_MAX_THREADS = 8  # separate, so that slow actions do not block readers
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

_Handler = Callable[[Request, RequestContext], PageResult | ActionResult]
_Endpoint = Callable[[Request], Awaitable[Response]]


def lab_routes(site: Site) -> list[BaseRoute]:
    lab = LabEndpoints(site)
    found: list[BaseRoute] = [
        Route(links.LAB, lab.get(home_page)),
        Route(_LOGIN, lab.endpoint(lab.login), methods=["GET", "POST"]),
        Route(links.lab("logout"), lab.endpoint(lab.logout), methods=["POST"]),
        Route(links.lab("done/{key}"), lab.get(result_page)),
    ]
    for action in ACTIONS:
        of_session = f"{links.LAB}/sessions/{{thread}}/{action.name}"
        path = of_session if action.is_of_session else f"{links.LAB}/{action.name}"
        found.append(Route(path, lab.get(partial(form_page, action)), methods=["GET"]))
        found.append(Route(path, lab.endpoint(partial(lab.act, action)), methods=["POST"]))
        if action.preview is not None:
            work = partial(lab.preview, action)
            found.append(Route(f"{path}/preview", lab.endpoint(work), methods=["POST"]))
    return found


class LabEndpoints:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._limiter = anyio.CapacityLimiter(_MAX_THREADS)

    def get(self, function: Callable[[RequestContext], PageResult]) -> _Endpoint:
        """Return the endpoint of a page that needs a login. Others are sent to the login page."""

        def work(request: Request, context: RequestContext) -> PageResult:
            if context.login is None and wants_json(request):
                raise _not_logged_in(context)
            if context.login is None:
                return Redirect(f"{_LOGIN}?{urlencode({'next': context.path})}")
            return function(context)

        return self.endpoint(work)

    def endpoint(self, work: _Handler) -> _Endpoint:
        """Return an endpoint that runs the handler in a thread."""

        async def endpoint(request: Request) -> Response:
            body = await request.body()
            run = partial(self._respond, work, request, body)
            return await anyio.to_thread.run_sync(run, limiter=self._limiter)

        return endpoint

    def login(self, request: Request, context: RequestContext) -> PageResult:
        """Show the login form, or log in."""
        if request.method == "POST":
            return log_in(context, _address(request))
        return login_page(context)

    def logout(self, request: Request, context: RequestContext) -> PageResult:
        """Log out. The CSRF token prevents that another site does it."""
        _check_login(request, context)
        return log_out(context)

    def act(
        self, action: Action, request: Request, context: RequestContext
    ) -> PageResult | ActionResult:
        """Run the action once. A browser is redirected to the result."""
        try:
            _check_login(request, context)
        except UnavailableError as error:
            return redisplay(action, context, error)
        context = with_key(context, is_script=_is_script(request))
        result = submit(action, context)
        if isinstance(result, Page) and context.sent is not None:
            return result._replace(document={"done": False, **result.document})
        if isinstance(result, Page) or _is_script(request):
            return result
        return result_redirect(context)

    def preview(self, action: Action, request: Request, context: RequestContext) -> PageResult:
        """Return what would be done."""
        _check_login(request, context)
        context = with_key(context, is_script=_is_script(request))
        return preview_page(action, context, is_part=_HTMX in request.headers)

    def _respond(self, work: _Handler, request: Request, body: bytes) -> Response:
        """Return the response with its `Cache-Control` header.

        Nothing is cached except a form that is shown again: without that, the Back button would
        lose what was typed.
        """
        response = self._handle(work, request, body)
        kind = response.headers.get("content-type", "")
        is_form = request.method == "POST" and kind.startswith(_HTML)
        response.headers["Cache-Control"] = "private, no-cache" if is_form else "no-store"
        return response

    def _handle(self, work: _Handler, request: Request, body: bytes) -> Response:
        context = make_context(self._site, request)
        try:
            context = _with_login(request, _with_body(request, context, body))
            result = work(request, context)
        except BrennerError as error:
            return _error_response(request, context, error)
        if isinstance(result, ActionResult):
            return JSONResponse(result_document(result), result_status(result))
        if isinstance(result, Page) and _is_script(request):
            return JSONResponse(result.document, result.status)
        if isinstance(result, Page) and _HTMX not in request.headers and not wants_json(request):
            result = in_session(result, context)
        response = to_response(result, request, context)
        if isinstance(result, Page):
            response.headers.update(retry_after_header(result.document.get("wait")))
        return response


def _with_body(request: Request, context: RequestContext, body: bytes) -> RequestContext:
    if request.method != "POST":
        return context
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == JSON_TYPE:
        form, sent = parse_json(body)
        return context._replace(form=form, sent=sent)
    return context._replace(form=parse_form(body))


def _with_login(request: Request, context: RequestContext) -> RequestContext:
    auth = lab_auth(context)
    if _is_script(request):
        return as_operator(context, auth.script(request.headers[SECRET_HEADER], _address(request)))
    return as_operator(context, auth.login_to_read(context.cookies))


def _check_login(request: Request, context: RequestContext) -> None:
    """Raise RequestError if the client is not logged in, or the form is not of this login."""
    if context.login is None:
        raise _not_logged_in(context)
    if _is_script(request):
        return
    auth = lab_auth(context)
    auth.check_form(context.login, context.form)
    if auth.login(context.cookies) is not context.login:
        raise _not_logged_in(context)


def _error_response(request: Request, context: RequestContext, error: BrennerError) -> Response:
    """Return why nothing was done. It shows what was typed, so that it can be copied."""
    status = _STATUSES.get(error.diagnostic.id, 0)
    page = error_page(error) if not status else diagnostic_page(error.diagnostic, status)
    if request.method == "POST" and context.form and not wants_json(request):
        fault = {"fault": error.diagnostic.to_json(), "to": context.path}
        typed = typed_fields_page(context, can_send=False)
        page = typed._replace(document={**typed.document, **fault}, status=page.status)
    headers = retry_after_header(retry_after(error))
    if _is_script(request):
        return JSONResponse(page.document, page.status, headers)
    response = to_response(page, request, context)
    response.headers.update(headers)
    return response


def _is_script(request: Request) -> bool:
    return SECRET_HEADER in request.headers


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _not_logged_in(context: RequestContext) -> RequestError:
    return RequestError(codes.NOT_LOGGED_IN.at(operator=context.site.workspace.project.operator))
