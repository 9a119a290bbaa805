"""From a request to an answer: a page function is run in a thread, and its page is written there.

Every page is also there as JSON: with `?format=json`, or for who asks for `application/json`.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from types import MappingProxyType

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from brenner.diagnostics.errors import BrennerError
from brenner.web.page import Answer, Cookie, Download, PageFunction, Redirect
from brenner.web.refused import refusal_page
from brenner.web.rendering import html
from brenner.web.site import Site
from brenner.web.visit import Visit

_MOST_AT_ONCE = 8
_JSON = "application/json"
_OK, _SEE_OTHER = 200, 303
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-cache",
        "Vary": "Accept, Cookie",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
)


class Answering:
    """Answers requests for pages of one site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._limiter = anyio.CapacityLimiter(_MOST_AT_ONCE)

    def get(self, function: PageFunction) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of a page that is only read."""

        async def endpoint(request: Request) -> Response:
            work = partial(self._answer, function, request, self._visit(request))
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)

        return endpoint

    def _visit(self, request: Request) -> Visit:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return Visit(
            self._site,
            path,
            datetime.now(UTC),
            MappingProxyType(dict(request.path_params)),
            MappingProxyType(dict(request.query_params)),
            MappingProxyType(dict(request.cookies)),
        )

    def _answer(self, function: PageFunction, request: Request, visit: Visit) -> Response:
        try:
            answer = function(visit)
        except BrennerError as error:
            answer = refusal_page(error)
        return respond(answer, request, visit)


def respond(answer: Answer, request: Request, visit: Visit) -> Response:
    """The answer as it goes over the line."""
    if isinstance(answer, Redirect):
        response: Response = RedirectResponse(answer.to, _SEE_OTHER, _HEADERS)
    elif isinstance(answer, Download):
        response = _download(answer)
    elif wants_json(request):
        text = json.dumps(answer.document, ensure_ascii=False, indent=1) + "\n"
        response = _tagged(text, _JSON, answer.status, request)
    else:
        response = _tagged(html(answer, visit), "text/html; charset=utf-8", answer.status, request)
    for cookie in () if isinstance(answer, Download) else answer.cookies:
        set_cookie(response, cookie, is_secure=request.url.scheme == "https")
    return response


def wants_json(request: Request) -> bool:
    """Whether a script asks; a browser names `text/html` first."""
    accepted = request.headers.get("accept", "")
    return request.query_params.get("format") == "json" or accepted.startswith(_JSON)


def set_cookie(response: Response, cookie: Cookie, *, is_secure: bool) -> None:
    """Give the browser something to keep, or take it away."""
    response.set_cookie(
        cookie.name,
        cookie.value,
        max_age=cookie.seconds if cookie.value else 0,
        path=cookie.path,
        secure=is_secure,
        httponly=True,
        samesite="strict" if cookie.is_strict else "lax",
    )


def _tagged(text: str, media_type: str, status: int, request: Request) -> Response:
    """Who has the same already gets no more than that."""
    body = text.encode(errors="replace")
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {**_HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag and status == _OK:
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, media_type=media_type)


def _download(answer: Download) -> Response:
    headers = dict(_HEADERS) | {"Content-Security-Policy": answer.policy or POLICY}
    if answer.file_name:
        headers["Content-Disposition"] = f'attachment; filename="{answer.file_name}"'
    return Response(answer.text.encode(errors="replace"), 200, headers, answer.media_type)
